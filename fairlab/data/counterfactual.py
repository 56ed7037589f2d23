"""LightningDataModule of counterfactual groups, with an optional augmentation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.applying import groups_of_augmentation
from fairlab.data.batch import Batch
from fairlab.data.batch_stream import Streamed
from fairlab.data.groups import groups_alike, groups_sha256, read_groups
from fairlab.protocols import GroupAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import Count, FairlabError, Group, NotNegative

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class GroupBatch(Batch):
    """Batch of B counterfactual groups, each with its neutral version followed by A attribute versions.

    Attributes:
        input_ids: Token ids (B * (1 + A), T), padded, group by group.
        attention_mask: Mask (B * (1 + A), T), 0 at padding.
        positions: Position of each group in its split, (B,).
        ids: Id of each group.
    """

    input_ids: Tensor
    attention_mask: Tensor
    positions: Tensor
    ids: list[str]


class CounterfactualData(Streamed):
    """Counterfactual groups split into training and validation, in length-bucketed batches.

    All versions of a group are in the same batch. A group with the key ``split`` (``train``, ``validation`` or
    ``test``) belongs to that split. In a file without splits, the last ``validation`` groups are held out, and the
    others are used for training.

    Args:
        path: ``embedded/NAME``, a file of groups, a saved dataset, a name on the hub, or an output of
            ``fairlab.augment``; see :func:`fairlab.data.groups.read_groups`.
        validation: Number of groups, or their fraction if below 1, that are held out from a file without splits.
        test: Number of groups, or their fraction if below 1, that are reserved for evaluation in a file without splits.
            They are used neither for training nor for model selection. None uses ``validation`` if the groups were made
            from ``input``, and 0 otherwise.
        batch_size: Number of groups in a training batch, over all processes.
        encoder: Backbone whose tokenizer and maximum length are used.
        epochs: Number of passes over the training groups.
        seed: Seed of the order of the batches.
        augmentation: Augmentation of the training and validation groups; None leaves them unchanged.
        limit: Maximum number of training groups, taken from the start; None for all.
        more: Paths of further training groups, such as short sentences in addition to passages. Groups of other splits,
            and groups that share a version with a held-out group, are left out.
        input: Source texts of the groups at ``path``, for the record; None if the groups have no source texts.

    Attributes:
        groups: Groups of each split, after the augmentation.
        held_out: Groups reserved by ``test``, without augmentation; empty if the file has splits.
        dropped: Number of groups that the augmentation left out of each split.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file, line or key.
    """

    applies = (GroupAugmentation,)
    made_key = "path"

    def __init__(
        self,
        *,
        path: str,
        validation: float,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        test: NotNegative | None = None,
        more: Sequence[str] = (),
        input: str | None = None,
        augmentation: GroupAugmentation | None = None,
    ) -> None:
        super().__init__()
        if augmentation is not None and not isinstance(augmentation, GroupAugmentation):
            raise FairlabError(
                "this augmentation works on plain text, not on counterfactual groups; choose augmentation=none or cda"
            )
        self.path = path
        self.input = input
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        kept, self.held_out = hold_out(read_groups(path), test, validation if input else 0, path)
        splits = split_groups(kept, validation, path)
        splits["train"] = splits["train"][:limit]
        self.more = list(more)
        kept_out = [group for name, groups in splits.items() if name != "train" for group in groups]
        for place in self.more:
            found = groups_alike(splits["train"], place, "data.more")
            splits["train"] = [*splits["train"], *without([*kept_out, *self.held_out], found)]
        self.groups = {
            name: groups_of_augmentation(augmentation, groups) if augmentation else groups
            for name, groups in splits.items()
        }
        self.dropped = {name: len(groups) - len(self.groups[name]) for name, groups in splits.items()}
        for name, groups in self.groups.items():
            if not groups:
                raise FairlabError(f"{path} has no groups left for {name}; lower data.validation or give more groups")
        self.token_ids = {name: _tokenize_groups(groups, encoder) for name, groups in self.groups.items()}
        if self.num_alike() == len(self.groups["train"]):
            raise FairlabError(
                f"the versions of every group in {path} are identical up to backbone.max_length={encoder.max_length}, "
                "so training on them has no effect; raise it, or give shorter texts"
            )

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """Return ``data.input``, the source of the texts from which an augmentation makes the groups, or None."""
        return settings["input"]

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the data file, or of all files of an augmentation's output."""
        return groups_sha256(self.path)

    def num_truncated(self) -> int:
        """Return the number of training texts that reach the maximum length and so may be truncated."""
        return sum(len(ids) >= self.encoder.max_length for rows in self.token_ids["train"] for ids in rows)

    def num_alike(self) -> int:
        """Return the number of training groups whose versions differ only beyond the maximum length."""
        longest = self.encoder.max_length
        return sum(
            len(versions[0]) >= longest and all(ids == versions[0] for ids in versions)
            for versions in self.token_ids["train"]
        )

    def facts(self) -> dict[str, object]:
        """Return the facts for the record: file hash, sizes, and numbers of dropped groups and truncated texts."""
        return {
            "path": self.path,
            **({"made_of": self.input} if self.input else {}),
            "sha256": self.hash,
            **({"more": {place: groups_sha256(place) for place in self.more}} if self.more else {}),
            "trained_on": f"{len(self.groups['train'])} counterfactual groups",
            **{f"{split}_groups": len(groups) for split, groups in self.groups.items()},
            **({"test_groups": len(self.held_out)} if self.held_out else {}),
            **{f"{split}_groups_dropped": count for split, count in self.dropped.items()},
            "texts_at_max_length": self.num_truncated(),
            **({"groups_alike_up_to_max_length": alike} if (alike := self.num_alike()) else {}),
        }

    def fingerprints(self) -> Fingerprints:
        """Return fingerprints of every version of the training groups."""
        return Fingerprints.from_texts(text for group in self.groups["train"] for text in group.texts)

    def axes(self) -> frozenset[str]:
        """Return the axes of the training groups."""
        return frozenset(group.axis for group in self.groups["train"])

    def sizes(self) -> dict[str, int]:
        """Return the number of groups and tokens in one pass over the training groups, excluding padding."""
        tokens = sum(len(ids) for versions in self.token_ids["train"] for ids in versions)
        return {"groups": len(self.groups["train"]), "tokens": tokens}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of each group's longest version."""
        return [max(map(len, versions)) for versions in self.token_ids[split]]

    def collate(self, split: str, positions: list[int]) -> GroupBatch:
        """Return all versions of the groups at ``positions`` as a padded batch."""
        rows = [ids for position in positions for ids in self.token_ids[split][position]]
        ids = [self.groups[split][position].id for position in positions]
        return GroupBatch(*pad(rows, self.encoder.padding_id), positions=torch.tensor(positions), ids=ids)


def _tokenize_groups(groups: Sequence[Group], encoder: Backbone) -> list[list[list[int]]]:
    """Tokenize all versions of all groups in one call, which is faster than a call per group."""
    token_ids = iter(encoder.tokenize_to_embed([text for group in groups for text in group.texts]))
    return [[next(token_ids) for _ in group.texts] for group in groups]


def without(kept_out: Sequence[Group], groups: Sequence[Group]) -> list[Group]:
    """Return the groups that share no version with the groups kept for validation or evaluation."""
    texts = {text for group in kept_out for text in group.texts}
    return [one for one in groups if texts.isdisjoint(one.texts)]


def groups_of(data: object) -> dict[str, list[Group]]:
    """Return the groups of a data module by split.

    Raises:
        FairlabError: The data module holds no groups.
    """
    if not isinstance(data, CounterfactualData):
        raise FairlabError("this method needs counterfactual groups; choose data=groups")
    return data.groups


def hold_out(groups: list[Group], test: float | None, usual: float, path: str) -> tuple[list[Group], list[Group]]:
    """Divide groups into training groups and groups held out for evaluation, both in the order of the file.

    Held-out groups are chosen by a hash of their text. Groups that share any version stay together.

    Args:
        groups: All groups.
        test: Number of groups to hold out, or a fraction below 1; None uses ``usual``.
        usual: Number or fraction to use for a file without splits if ``test`` is None.
        path: Path of the groups, for error messages.

    Raises:
        FairlabError: All groups or none would be held out, or ``test`` is set although the file has splits.
    """
    splits = any("split" in group.extra for group in groups)
    if test and splits:
        raise FairlabError(f"{path} has splits, which define the held-out groups; leave data.test out")
    share = usual if test is None else test
    if not share or splits:
        return groups, []
    ranks = [hashlib.sha256(text.encode()).digest() for text in _first_texts(groups)]
    count = int(share) if share >= 1 else round(share * len(groups))
    ranked = sorted(ranks)
    if not 0 < count < len(groups) or ranked[count - 1] == ranked[-1]:
        raise FairlabError(
            f"data.test={share:g} takes {count} of the {len(groups)} groups in {path}, which leaves none to "
            f"{'train' if count else 'measure'} on; {'give a smaller number or' if count else 'give'} more groups"
        )
    out = set(ranked[:count])
    sides: tuple[list[Group], list[Group]] = [], []
    for group, rank in zip(groups, ranks, strict=True):
        sides[rank in out].append(group)
    return sides


def _first_texts(groups: Sequence[Group]) -> list[str]:
    """Return, for every group, the alphabetically first text of all groups connected to it.

    Two groups are connected if they share a version, directly or through other groups.
    """
    first: dict[str, str] = {}

    def found(text: str) -> str:
        while first.setdefault(text, text) != text:
            text = first[text]
        return text

    for group in groups:
        ends = {found(text) for text in group.texts}
        first |= dict.fromkeys(ends, min(ends))
    return [found(group.texts[0]) for group in groups]


def split_groups(groups: list[Group], validation: float, path: str) -> dict[str, list[Group]]:
    """Split groups by their ``split`` keys, or by position if no group is marked for validation."""
    marked = [group for group in groups if "split" in group.extra]
    if marked:
        for group in marked:
            if group.extra["split"] not in SPLITS:
                raise FairlabError(
                    f"{path}: group '{group.id}' has the split '{group.extra['split']}'; use {', '.join(SPLITS)}"
                )
        if len(marked) < len(groups):
            raise FairlabError(f"{path}: {len(groups) - len(marked)} groups have no 'split' though others have; add it")
        splits = {name: [group for group in groups if group.extra["split"] == name] for name in ("train", "validation")}
        if splits["validation"] or not splits["train"]:
            return splits
        groups = splits["train"]  # hold out some of the training groups
    if validation <= 0:
        raise FairlabError(f"data.validation must be above 0, not {validation}")
    held_out = int(validation) if validation >= 1 else round(validation * len(groups))
    if not 0 < held_out < len(groups):
        raise FairlabError(
            f"data.validation={validation} takes {held_out} of the {len(groups)} groups in {path}; "
            f"{'give more groups' if validation < 1 else 'give a smaller number or a fraction such as 0.1'}"
        )
    return {"train": groups[:-held_out], "validation": groups[-held_out:]}
