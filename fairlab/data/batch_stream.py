"""Base classes of data modules that yield the training batches of all epochs as one resumable stream."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import lightning
import torch
from torch.utils.data import DataLoader, Dataset

from fairlab.data.batching import BucketedBatches
from fairlab.distributed import own_share, without_items
from fairlab.protocols import TrainingData

AHEAD = 2  # number of batches that the background thread prefetches


def batches_done(trainer: lightning.Trainer | None) -> int:
    """Return the number of training batches used so far, also before an interruption; 0 without a trainer."""
    return int(trainer.fit_loop.epoch_loop.batch_progress.current.ready) if trainer else 0


class Numbered:
    """Sampler that yields batches of positions with their numbers in the uninterrupted stream.

    Args:
        batches: Positions of the items in each batch. If the object has an attribute ``skip``, it leaves out that many
            batches, and numbering starts at ``skip``.
    """

    def __init__(self, batches: Iterable[list[int]]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        """Return the number of batches, including skipped ones."""
        return len(self.batches)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the number and the positions of each batch."""
        return enumerate(self.batches, start=getattr(self.batches, "skip", 0))


class BatchMaker(Dataset[Any]):
    """Dataset whose items are whole batches, each made from its number and positions."""

    def __init__(self, make: Callable[[int, list[int]], Any]) -> None:
        self.make = make

    def __getitem__(self, key: tuple[int, list[int]]) -> Any:
        """Return the batch with the given number and positions."""
        return self.make(*key)


class Loader(DataLoader[Any]):
    """Loader whose batches are prefetched by a background thread, or by ``num_workers`` processes."""

    def __iter__(self) -> Any:
        """Yield the batches in order."""
        batches = super().__iter__()
        return batches if self.num_workers else prefetch(batches)


def prefetch(batches: Iterator[Any]) -> Iterator[Any]:
    """Prefetch up to ``AHEAD`` batches in a background thread, and yield them.

    Errors in the thread are raised in the consumer.
    """
    end = object()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, batches, end) for _ in range(AHEAD))
        while (batch := waiting.popleft().result()) is not end:
            waiting.append(thread.submit(next, batches, end))
            yield batch


class Loading(lightning.LightningDataModule, TrainingData):
    """Training data with batches from a :class:`Loader`.

    Attributes:
        num_workers: Number of processes that prepare batches; 0 uses a thread of the training process.
        transform: Function that a method applies to each batch in the thread or process that makes it. The arguments
            are the batch, its split and its number; None leaves batches unchanged.
    """

    num_workers: int = 0
    transform: Callable[[Any, str, int], Any] | None = None

    def make_loader(
        self, split: str, batches: Iterable[list[int]], share: Callable[[list[int]], Any]
    ) -> DataLoader[Any]:
        """Return a loader that yields this process's share of each batch.

        Args:
            split: Split of the items.
            batches: Positions of the items in each whole batch.
            share: Function that makes this process's share of a batch, given the positions of the batch's items.
        """

        def make(number: int, positions: list[int]) -> Any:
            batch = share(positions)
            return batch if self.transform is None else self.transform(batch, split, number)

        on_gpu = self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"
        # A separate generator keeps the loader from using the global one, which a resumed run could not repeat.
        return Loader(
            BatchMaker(make),
            batch_size=None,
            sampler=Numbered(batches),
            collate_fn=unchanged,
            generator=torch.Generator(),
            num_workers=self.num_workers,
            # the code that makes batches need not be picklable
            multiprocessing_context="fork" if self.num_workers else None,
            pin_memory=on_gpu,
        )


def unchanged(batch: Any) -> Any:
    """Return a batch unchanged."""
    return batch


class Streamed(Loading):
    """Base class of data whose batches contain items of similar length.

    Attributes:
        batch_size: Number of items in a batch, over all processes of a run.
        epochs: Number of passes over the training items.
        seed: Seed of the order of the batches.
    """

    batch_size: int
    epochs: int
    seed: int

    @abstractmethod
    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of every item of a split, used for batching."""

    @abstractmethod
    def collate(self, split: str, positions: list[int]) -> Any:
        """Return the batch of the items at ``positions`` in a split."""

    def share(self, split: str, positions: list[int]) -> Any:
        """Return this process's share of the batch of the items at ``positions``. No other items are collated."""
        own = list(own_share(positions))
        return self.collate(split, own) if own else without_items(self.collate(split, positions[:1]))

    @property
    def total_batches(self) -> int:
        """Return the number of training batches over all epochs."""
        return len(self._batches("train", self.epochs))

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of all epochs as one stream. A resumed run skips the batches it has already used."""
        return self._loader("train", self._batches("train", self.epochs, skip=batches_done(self.trainer)))

    def val_dataloader(self) -> DataLoader[Any]:
        """Return the batches of the held-out items, always in the same order."""
        return self._loader("validation", self._batches("validation", epochs=1))

    def _batches(self, split: str, epochs: int, skip: int = 0) -> BucketedBatches:
        return BucketedBatches(self.lengths(split), self.batch_size, epochs=epochs, seed=self.seed, skip=skip)

    def _loader(self, split: str, batches: BucketedBatches) -> DataLoader[Any]:
        return self.make_loader(split, batches, partial(self.share, split))
