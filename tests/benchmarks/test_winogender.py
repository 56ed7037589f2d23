import numpy as np
import pytest
from scipy.stats import pearsonr
from transformers import BertConfig, BertForMaskedLM

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks import winogender
from fairlab.benchmarks.winogender import Winogender, winogender_quantities
from fairlab.data.published.winogender import read_winogender, schemas
from fairlab.types import FairlabError
from tests.tiny_models import SMALL

SENTENCES = {"male": "The {o} told {p} that he {v} late.", "female": "The {o} told {p} that she {v} late."}
SENTENCES["neutral"] = "The {o} told {p} that they {w} late."
OCCUPATIONS = {"chef": 20.0, "nurse": 90.0, "clerk": 70.0}
# Log-likelihoods of male, female and neutral; per occupation two schemas about it, then two about the other person.
SCORES = {
    "chef": [(-1, -4, -9), (-2, -3, -9), (-5, -5, -1), (-3, -2, -9)],
    "nurse": [(-4, -1, -9), (-3, -2, -2), (-3, -2, -9), (-3, -2, -9)],
    "clerk": [(-2, -3, -1), (-1, -1, -1), (-1, -2, -9), (-2, -1, -9)],
}
FLAT = np.array([scores for name in OCCUPATIONS for scores in SCORES[name]], dtype=float)


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setattr(winogender, "pronoun_log_likelihoods", lambda *given, **options: FLAT.reshape(-1))
    rows = ["sentid\tsentence"]
    for name in OCCUPATIONS:
        for other, referent in (("guest", 0), ("someone", 0), ("guest", 1), ("someone", 1)):
            for version, text in SENTENCES.items():
                sentence = text.format(o=name, p=f"the {other}", v="was", w="were")
                rows.append(f"{name}.{other}.{referent}.{version}.txt\t{sentence}")
    folder = tmp_path / "winogender"
    folder.mkdir()
    (folder / "all_sentences.tsv").write_text("\n".join(rows) + "\n")
    lines = ["occupation\tbls_pct_female", *(f"{name}\t{share}" for name, share in OCCUPATIONS.items())]
    (folder / "occupations-stats.tsv").write_text("\n".join(lines) + "\n")
    return folder


def readings_of(outcome):
    return {(reading.subset, reading.quantity): reading for reading in outcome.readings}


def test_readings_by_hand(published):
    outcome = Winogender().measure(None)
    readings = readings_of(outcome)
    # chef 1, 1, 1/2, 0; nurse 0, 0, 0, 0; clerk 1, 1/2, 1, 0
    assert readings["all", "male_ratio"].value == pytest.approx(5 / 12)
    assert readings["all", "margin"].value == pytest.approx((3 + 1 + 0 - 1 - 3 - 1 - 1 - 1 + 1 + 0 + 1 - 1) / 12)
    # the third of chef alone, the second of nurse shared by two, of clerk the first alone and the second by three
    assert readings["all", "neutral_first"].value == pytest.approx((1 + 1 / 2 + 1 + 1 / 3) / 12)
    assert [reading.n for reading in outcome.readings] == [12, 12, 12]
    (note,) = outcome.notes
    assert note.text == "36 of the 720 sentences of the published set"


def test_the_correlation_is_over_schemas_about_the_occupation(published):
    found = schemas(read_winogender(published / "all_sentences.tsv"))
    correlation = winogender_quantities(found, OCCUPATIONS, FLAT)[-1]
    assert correlation.value == pytest.approx(pearsonr([20, 90, 70], [2, -2, 0.5]).statistic)
    assert correlation.n == 3
    fewer = winogender_quantities(found[1:], OCCUPATIONS, FLAT[1:])[-1]  # one schema about chefs, of margin 1
    assert fewer.value == pytest.approx(pearsonr([20, 90, 70], [1, -2, 0.5]).statistic)
    info = Winogender.description.quantities[correlation.name]
    assert (info.headline, info.ideal) == (True, 0.0)
    shuffled = [7, 2, 9, 0, 11, 4, 1, 10, 3, 6, 5, 8]
    again = winogender_quantities([found[k] for k in shuffled], OCCUPATIONS, FLAT[shuffled])
    assert [entry.value for entry in again] == pytest.approx(
        [e.value for e in winogender_quantities(found, OCCUPATIONS, FLAT)]
    )


def test_intervals_resample_occupations(published, monkeypatch):
    # All four schemas of an occupation agree, so that the ratio of a resample is a multiple of 1/3.
    flat = np.repeat([[-1.0, -2.0, -3.0], [-2.0, -1.0, -3.0], [-1.0, -2.0, -3.0]], 4, axis=0)
    monkeypatch.setattr(winogender, "pronoun_log_likelihoods", lambda *given, **options: flat.reshape(-1))
    reading = readings_of(Winogender().measure(None))["all", "male_ratio"]
    assert (reading.value, reading.low, reading.high) == pytest.approx((2 / 3, 0.0, 1.0))


def test_the_same_model_twice_does_not_differ(published):
    first = Winogender().measure(None)
    again = Winogender().measure(None, first.items)
    assert {entry.quantity for entry in again.comparisons} >= {"male_ratio", "margin", "neutral_first"}
    assert all(entry.difference == entry.low == entry.high == 0 for entry in again.comparisons)


def test_ties_everywhere_are_noted(published, monkeypatch):
    monkeypatch.setattr(winogender, "pronoun_log_likelihoods", lambda *given, **options: np.zeros(36))
    outcome = Winogender().measure(None)
    assert readings_of(outcome)["all", "male_ratio"].value == 0.5
    assert [entry.subset for entry in outcome.not_run] == ["occupations"]  # nothing to correlate
    assert "equally likely" in outcome.notes[-1].text


def test_an_occupation_without_statistics_is_named(published):
    (published / "occupations-stats.tsv").write_text("occupation\tbls_pct_female\nchef\t20\n")
    with pytest.raises(FairlabError, match="lacks clerk, nurse"):
        Winogender().measure(None)


@pytest.mark.data
def test_the_published_set(tokenizer):
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(**SMALL, **size)).eval()
    outcome = Winogender().measure(Backbone(model, tokenizer, pooling="mean", max_length=64, normalize=False))
    assert not outcome.notes
    assert not outcome.not_run
    assert [reading.n for reading in outcome.readings] == [240, 240, 240, 60]
