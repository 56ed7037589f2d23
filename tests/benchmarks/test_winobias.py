import numpy as np
import pytest
from transformers import BertConfig, BertForMaskedLM

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks import winobias
from fairlab.benchmarks.winobias import WinoBias, winobias_quantities
from fairlab.types import DataUnavailable
from tests.tiny_models import SMALL

# Per type: dev then test, each with two pairs about the same occupations; stereotypical version, other version.
SCORES = np.array([(-1, -2), (-3, -3), (-2, -6), (-2, -1), (-4, -1), (-5, -4), (-2, -3), (-3, -1)], dtype=float)


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setattr(winobias, "pronoun_log_likelihoods", lambda *given, **options: SCORES.reshape(-1))
    folder = tmp_path / "winobias"
    folder.mkdir()
    for kind in ("type1", "type2"):
        for split in ("dev", "test"):
            for side, (first, second) in {"pro": ("he", "she"), "anti": ("she", "he")}.items():
                lines = (
                    f"1 [The cook] saw the nurse since [{first}] left.\n2 The cook saw [the nurse] and [{second}] left."
                )
                (folder / f"{side}_stereotyped_{kind}.txt.{split}").write_text(lines)
    return folder


def readings_of(outcome):
    return {(reading.subset, reading.quantity): reading for reading in outcome.readings}


def test_readings_by_hand(published):
    outcome = WinoBias().measure(None)
    readings = readings_of(outcome)
    values = {place: reading.value for place, reading in readings.items()}
    assert values == {
        ("type1", "pro_preferred"): pytest.approx(100 * (1 + 0.5 + 1 + 0) / 4),
        ("type1", "margin"): pytest.approx((1 + 0 + 4 - 1) / 4),
        ("type2", "pro_preferred"): pytest.approx(100 / 4),
        ("type2", "margin"): pytest.approx((-3 - 1 + 1 - 2) / 4),
        ("all", "pro_preferred"): pytest.approx(100 * 3.5 / 8),
        ("all", "margin"): pytest.approx(-1 / 8),
    }
    assert [place for place, reading in readings.items() if reading.headline] == [("all", "pro_preferred")]
    assert outcome.notes[0].text.startswith("8 of the 1,584 published pairs; 0 are left out")
    again = WinoBias().measure(None, outcome.items)
    assert len(again.comparisons) == 6
    assert all(entry.difference == entry.low == entry.high == 0 for entry in again.comparisons)


def test_intervals_resample_twins():
    # The twins of each cluster cancel out, so that no resample of clusters can move the value.
    scores = np.array([(0.0, 1.0), (1.0, 0.0)] * 10)
    clusters = [str(k // 2) for k in range(20)]
    found = winobias_quantities({"type1": clusters, "type2": clusters}, {"type1": scores, "type2": scores})
    assert {float(draw) for draw in found[0].draws} == {50.0}


def test_ties_everywhere_are_noted(published, monkeypatch):
    monkeypatch.setattr(winobias, "pronoun_log_likelihoods", lambda *given, **options: np.ones(16))
    outcome = WinoBias().measure(None)
    assert readings_of(outcome)["all", "pro_preferred"].value == 50
    assert "equally likely" in outcome.notes[-1].text


def test_all_files_are_needed(published, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (published / "anti_stereotyped_type2.txt.test").unlink()
    with pytest.raises(DataUnavailable, match=r"anti_stereotyped_type2\.txt\.test"):
        WinoBias().measure(None)


@pytest.mark.data
def test_the_published_set(tokenizer):
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(**SMALL, **size)).eval()
    outcome = WinoBias().measure(Backbone(model, tokenizer, pooling="mean", max_length=64, normalize=False))
    assert {subset: reading.n for (subset, _), reading in readings_of(outcome).items()} == {
        "type1": 785,
        "type2": 780,
        "all": 1565,
    }
    assert "19 are left out" in outcome.notes[0].text
