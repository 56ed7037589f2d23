import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.data.batch_stream import Numbered
from fairlab.data.batching import BucketedBatches

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=200)


@given(LENGTHS, st.integers(1, 9), st.integers(1, 3), st.integers(0, 5))
def test_every_item_once_an_epoch(lengths, batch_size, epochs, seed):
    batches = list(BucketedBatches(lengths, batch_size, epochs=epochs, seed=seed))
    per_epoch = -(-len(lengths) // batch_size)
    assert len(batches) == epochs * per_epoch == len(BucketedBatches(lengths, batch_size, epochs=epochs, seed=seed))
    for epoch in range(epochs):
        items = [item for batch in batches[epoch * per_epoch : (epoch + 1) * per_epoch] for item in batch]
        assert sorted(items) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 9), st.integers(0, 60))
def test_skipping_continues_the_same_stream(lengths, batch_size, skip):
    whole = list(BucketedBatches(lengths, batch_size, epochs=2, seed=3))
    assert list(BucketedBatches(lengths, batch_size, epochs=2, seed=3, skip=skip)) == whole[skip:]


@pytest.mark.parametrize(("items", "one_pool"), [(100, True), (200, False)])
def test_a_pool_of_fifty_batches_is_sorted(items, one_pool):
    batches = BucketedBatches(range(items), 2, epochs=1, seed=0)
    assert all(abs(first - second) == 1 for first, second in batches) == one_pool


def test_batches_are_numbered_from_the_first_that_is_not_skipped():
    batches = BucketedBatches([5] * 6, 2, epochs=1, seed=0, skip=1)
    assert list(Numbered(batches)) == list(enumerate(batches, start=1))
    assert list(Numbered([[3], [4]])) == [(0, [3]), (1, [4])]


def test_batches_hold_similar_lengths_and_epochs_differ():
    lengths = [k % 97 for k in range(640)]
    batches = list(BucketedBatches(lengths, 32, epochs=2, seed=0))
    spread = [max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in batches]
    assert sum(spread) / len(spread) < 8
    assert batches[:20] != batches[20:]
    assert batches != list(BucketedBatches(lengths, 32, epochs=2, seed=1))
