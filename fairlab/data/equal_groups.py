"""Check whether counterfactual groups differ: training on equal groups lowers a loss without learning."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.types import Group

MOST = 0.5  # share of the groups


def equal_groups(groups: Sequence[Group]) -> str:
    """Return a message about groups that are mostly equal, or an empty string.

    Args:
        groups: groups to train on. Texts that differ only in case and blanks are equal.
    """
    texts = [[" ".join(text.lower().split()) for text in group.versions.values()] for group in groups]
    alike = sum(len(set(versions)) == 1 for versions in texts)
    if alike > MOST * len(groups):
        return f"in {alike} of {len(groups)} training groups all versions are the same text, so no learning is possible"
    distinct = len({tuple(versions) for versions in texts})
    if len(groups) > 1 and distinct <= (1 - MOST) * len(groups):
        return f"the {len(groups)} training groups are {distinct} in truth, repeated"
    return ""
