"""The order of blocks: every block once an epoch, from any batch on, the same in all versions."""

import numpy as np
import pytest

from fairlab.data.block_order import BlockBatches, _mix_bits, permuted


@pytest.mark.parametrize("count", [1, 2, 5, 64, 1000])
def test_every_block_comes_once_an_epoch_and_a_batch_is_found_without_those_before(count):
    order = BlockBatches(count, 8, epochs=2, seed=3)
    batches = list(order)
    half = len(batches) // 2
    for part in (batches[:half], batches[half:]):
        assert sorted(number for batch in part for number in batch) == list(range(count))
    assert batches[3:] == list(BlockBatches(count, 8, epochs=2, seed=3, skip=3))
    if count > 5:
        assert batches[:half] != batches[half:]
        assert batches != list(BlockBatches(count, 8, epochs=2, seed=4))


def test_the_order_of_a_seed_is_that_of_earlier_versions():
    """Runs on two computers, and before and after an update, read the same blocks; 64 is a power of four."""
    for count, order in ((5, [1, 4, 3, 0, 2]), (64, [62, 26, 10, 48, 61]), (65, [47, 52, 57, 41, 17])):
        assert BlockBatches(count, 5, epochs=1, seed=0).batch(0) == order


def test_an_order_is_about_as_even_as_chance():
    places = permuted(np.arange(10_000, dtype=np.uint64), 10_000, "0").astype(float)
    assert abs(np.corrcoef(np.arange(10_000), places)[0, 1]) < 0.04  # four standard errors
    assert 4800 < places[:1000].mean() < 5200


def test_bits_are_mixed_as_splitmix64_does():
    """Its first outputs from the seed 0, as its authors' code prints them."""
    states = np.array([1, 2], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(value) for value in _mix_bits(states)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]
