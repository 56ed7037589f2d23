"""Functions that apply an augmentation to training data and check the return values of external classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlab.protocols import GroupAugmentation, TextAugmentation
from fairlab.types import FairlabError, Group


def groups_of_augmentation(augmentation: GroupAugmentation, groups: Sequence[Group]) -> list[Group]:
    """Return the groups that an augmentation makes from the given groups.

    Raises:
        FairlabError: The augmentation does not return a list of groups.
    """
    return _list_of(Group, augmentation.groups(groups), augmentation, "groups")


def texts_of_augmentation(augmentation: TextAugmentation, text: str) -> list[str]:
    """Return the texts with which an augmentation replaces a text.

    Raises:
        FairlabError: The augmentation does not return a list of texts.
    """
    return _list_of(str, augmentation.texts(text), augmentation, "texts")


def _list_of(kind: type[Any], made: Any, augmentation: Any, method: str) -> list[Any]:
    if not isinstance(made, list):
        returned, wrong = "an object", made
    elif others := [one for one in made if not isinstance(one, kind)]:
        returned, wrong = "a list with an object", others[0]
    else:
        return made
    raise FairlabError(
        f"the method {method} of the augmentation {type(augmentation).__name__} returned {returned} of type "
        f"{type(wrong).__name__}; let it return a list of {kind.__name__}"
    )
