"""Check for counterfactual groups with equal texts, on which the loss falls although the model learns nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlab.types import NEUTRAL, Group

MOST = 0.5  # fraction of equal or repeated groups that causes a warning if exceeded
WORD = re.compile(r"\w+")


def equal_groups(groups: Sequence[Group]) -> str:
    """Return a warning if most groups have equal versions or are repetitions, otherwise an empty string.

    Args:
        groups: Training groups. Texts that differ only in case, white space and punctuation are considered equal.
    """
    words = [{name: tuple(WORD.findall(text.casefold())) for name, text in one.versions.items()} for one in groups]
    alike = sum(map(_are_alike, words))
    if alike > MOST * len(groups):
        return (
            f"in {alike} of {len(groups)} training groups all attributes have the same text, so no learning is possible"
        )
    distinct = len({tuple(versions.values()) for versions in words})
    if groups and distinct <= (1 - MOST) * len(groups):
        return f"the {len(groups)} training groups are only {distinct} distinct groups, repeated"
    return ""


def _are_alike(versions: dict[str, tuple[str, ...]]) -> bool:
    """Return whether all attributes have the same words. A single attribute is compared with the neutral version."""
    of_people = {words for name, words in versions.items() if name != NEUTRAL}
    return len(of_people) == 1 and (len(versions) > 2 or len(set(versions.values())) == 1)
