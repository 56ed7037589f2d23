"""What a run says of the machine before it trains."""

from types import SimpleNamespace

import pytest

from fairlab.run.trainer import slow_precision


def trainer(precision, device="cpu"):
    return SimpleNamespace(precision=precision, strategy=SimpleNamespace(root_device=SimpleNamespace(type=device)))


@pytest.mark.parametrize(
    ("precision", "device", "times", "said"),
    [
        ("bf16-mixed", "cpu", 1.86, True),
        ("bf16-mixed", "cpu", 1.1, False),
        ("bf16-mixed", "cpu", 0.5, False),
        ("32-true", "cpu", 1.86, False),
        ("bf16-mixed", "cuda", 1.86, False),
    ],
)
def test_mixed_precision_that_costs_time_is_said(monkeypatch, precision, device, times, said):
    monkeypatch.setattr("fairlab.run.trainer.slower_bfloat16", lambda: times)
    found = slow_precision(trainer(precision, device))
    assert len(found) == said
    for sentence in found:
        assert sentence.startswith("matrix products take 1.9 times as long in bfloat16")
        assert "trainer.precision=32-true" in sentence
