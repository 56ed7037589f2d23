"""Base classes of data modules: training batches of all epochs as one stream, from which a run can be resumed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import lightning
import torch
from torch.utils.data import DataLoader

from fairlab.data.batching import BucketedBatches
from fairlab.distributed import own_items
from fairlab.protocols import TrainingData


def batches_done(trainer: lightning.Trainer | None) -> int:
    """Return the number of training batches used, including those before an interruption; 0 without a trainer."""
    return int(trainer.fit_loop.epoch_loop.batch_progress.current.ready) if trainer else 0


def loader(
    items: Any, batches: Iterable[list[int]], collate: Callable[[list[Any]], Any], workers: int = 0
) -> DataLoader[Any]:
    """Return a loader of batches of items, by position; each process of a run gets its share of every batch.

    Args:
        items: sequence of items; a range if the positions themselves are collated.
        batches: the positions of the items in each batch.
        collate: function from the items of a batch to the batch.
        workers: number of processes that prepare batches; 0 uses this process. The batches are the same.
    """

    def shared(chosen: list[Any]) -> Any:
        return own_items(
            collate(chosen), len(chosen)
        )  # cut after padding, so that results do not depend on the number of processes

    # A separate generator keeps the loader from using the global one, which a resumed run could not repeat.
    return DataLoader(
        items,
        batch_sampler=batches,
        collate_fn=shared,
        generator=torch.Generator(),
        num_workers=workers,
        multiprocessing_context="fork" if workers else None,  # collated items need not be picklable
    )


class Loading(lightning.LightningDataModule, TrainingData):
    """Training data with batches from :func:`loader`.

    Attributes:
        num_workers: number of processes that prepare batches; 0 uses the training process.
    """

    num_workers: int = 0


class Streamed(Loading):
    """Training and validation batches with items of similar length.

    Attributes:
        batch_size: number of items in a batch, over all processes of a run.
        epochs: number of passes over the training items.
        seed: seed of the order of the batches.
    """

    batch_size: int
    epochs: int
    seed: int

    @abstractmethod
    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every item of a split, used for batching."""

    @abstractmethod
    def collate(self, split: str, positions: list[int]) -> Any:
        """Return the batch of the items at these positions of a split."""

    @property
    def total_batches(self) -> int:
        """Return the number of training batches over all epochs."""
        return len(self._batches("train", self.epochs))

    def train_dataloader(self) -> DataLoader[int]:
        """Return batches of all epochs as one stream; a resumed run skips those it has used."""
        return self._loader("train", self._batches("train", self.epochs, skip=batches_done(self.trainer)))

    def val_dataloader(self) -> DataLoader[int]:
        """Return batches of the held-out items, always in the same order."""
        return self._loader("validation", self._batches("validation", epochs=1))

    def _batches(self, split: str, epochs: int, skip: int = 0) -> BucketedBatches:
        return BucketedBatches(self.lengths(split), self.batch_size, epochs=epochs, seed=self.seed, skip=skip)

    def _loader(self, split: str, batches: BucketedBatches) -> DataLoader[int]:
        return loader(range(len(batches.lengths)), batches, partial(self.collate, split), self.num_workers)
