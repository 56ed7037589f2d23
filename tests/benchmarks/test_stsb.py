import numpy as np
import pytest
from scipy import stats

from fairlab.benchmarks.stsb import STSB
from tests.conftest import MINILM

ROWS = [
    ("a river", "a river", 5.0),
    ("the old clock", "a ladder", 0.5),
    ("they saw the bridge", "they saw a bridge", 4.2),
    ("a violin", "the market", 1.0),
    ("a garden", "the garden", 4.0),
]


def write_sts(path):
    lines = ["sentence1\tsentence2\tscore", *("\t".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines))
    return str(path)


def test_equals_scipy_on_cosines_of_single_embeddings(tiny, tmp_path):
    outcome = STSB(write_sts(tmp_path / "dev.tsv")).measure(tiny)
    cosines = []
    for first, second, _ in ROWS:
        a, b = tiny.embed([first])[0].numpy(), tiny.embed([second])[0].numpy()
        cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    expected = 100 * stats.spearmanr(np.round(cosines, 6), [row[2] for row in ROWS]).statistic
    assert outcome.readings[0].value == pytest.approx(expected, abs=1e-6)
    assert outcome.readings[0].n == 5


def test_the_change_is_paired(tiny, tmp_path):
    path = tmp_path / "dev.tsv"
    rows = [f"{first} {k}\t{second}\t{score + k / 100}" for k in range(20) for first, second, score in ROWS]
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    benchmark = STSB(str(path))
    before = benchmark.measure(tiny)
    (change,) = benchmark.measure(tiny, before.items).comparisons
    assert (change.subset, change.quantity, change.headline) == ("dev", "spearman", True)
    assert change.difference == change.low == change.high == 0
    assert change.p == 1
    worse = benchmark.measure(tiny, {"cosines": -before.items["cosines"]}).comparisons[0]
    assert worse.difference == pytest.approx(2 * before.readings[0].value)


def test_missing_data_is_listed(tiny, tmp_path):
    outcome = STSB(str(tmp_path / "none.tsv")).measure(tiny)
    assert not outcome.readings
    assert outcome.not_run[0].benchmark == "stsb"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_minilm_reaches_what_is_known_of_it():
    from fairlab.backbones.loading import load_backbone

    encoder = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True)
    reading = STSB().measure(encoder).readings[0]
    assert reading.n == 1500
    assert reading.value == pytest.approx(86.72, abs=0.05)
    assert reading.low < 86 < reading.high < 90
