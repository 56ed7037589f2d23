import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairlab.benchmarks.readings import outcome as outcome_of
from fairlab.benchmarks.seat import SEAT, associations_of_test, file_of_test, result_of_test, seat_quantities
from fairlab.data.published.download import locate
from fairlab.data.published.seat import AssociationTest, read_association_test
from fairlab.types import FairlabError
from tests.conftest import MINILM

GENDER = ["6", "6b", "7", "7b", "8", "8b"]
MEN, WOMEN = ["he is here", "this is a man", "the boy"], ["she is here", "this is a woman", "the girl"]
WORK, HOME = ["the office is here", "a salary"], ["the home is here", "a wedding", "children"]
SMALL = {"6": (MEN, WOMEN, WORK, HOME), "7b": (WORK, HOME, MEN, WOMEN)}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A data folder with two tests, and no download."""
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "seat").mkdir()
    for name, sets in SMALL.items():
        content = {
            key: {"examples": texts} for key, texts in zip(("targ1", "targ2", "attr1", "attr2"), sets, strict=True)
        }
        (tmp_path / "seat" / f"sent-weat{name}.jsonl").write_text(json.dumps(content))


def by_key(readings):
    return {f"{reading.subset}/{reading.quantity}": reading for reading in readings}


def definition(embed, X, Y, A, B):
    """Effect size by the definition, one text at a time, in float64."""

    def unit(text):
        vector = np.asarray(embed(text), dtype=np.float64)
        return vector / np.sqrt((vector**2).sum())

    a, b = [unit(text) for text in A], [unit(text) for text in B]
    s = [np.mean([unit(text) @ v for v in a]) - np.mean([unit(text) @ v for v in b]) for text in [*X, *Y]]
    deviation = math.sqrt(sum((value - np.mean(s)) ** 2 for value in s) / (len(s) - 1))
    return (np.mean(s[: len(X)]) - np.mean(s[len(X) :])) / deviation


def test_measuring_by_the_definition_one_text_at_a_time(small, tiny):
    outcome = SEAT(["6", "7B"]).measure(tiny)
    readings = by_key(outcome.readings)
    sizes = [definition(lambda text: tiny.embed([text])[0].numpy(), *sets) for sets in SMALL.values()]
    assert readings["6/effect_size"].value == pytest.approx(sizes[0], abs=1e-3)
    assert readings["7b/effect_size"].value == pytest.approx(sizes[1], abs=1e-3)
    assert readings["average/absolute_effect_size"].value == pytest.approx(np.abs(sizes).mean(), abs=1e-3)
    assert readings["6/effect_size"].n == 6
    assert readings["7b/effect_size"].n == 5
    assert readings["average/absolute_effect_size"].n == readings["average/significant_tests"].n == 2
    assert [key for key, reading in readings.items() if reading.headline] == ["average/absolute_effect_size"]
    assert not outcome.not_run
    for reading in readings.values():
        assert reading.low <= reading.value <= reading.high
        assert reading.ideal == 0
    assert all(0 < readings[key].p <= readings[key].p_holm <= 1 for key in ("6/effect_size", "7b/effect_size"))


def test_comparisons_are_paired(small, tiny):
    before = SEAT(["6", "7b"]).measure(tiny).items
    same = by_key(SEAT(["6", "7b"]).measure(tiny, before).comparisons)
    assert set(same) == {"6/effect_size", "7b/effect_size", "average/absolute_effect_size"}
    assert all(entry.difference == pytest.approx(0, abs=1e-4) and entry.p > 0.05 for entry in same.values())
    turned = by_key(SEAT(["6", "7b"]).measure(tiny, {key: -values for key, values in before.items()}).comparisons)
    size = by_key(SEAT(["6", "7b"]).measure(tiny).readings)["6/effect_size"].value
    assert turned["6/effect_size"].difference == pytest.approx(2 * size, abs=1e-3)
    assert turned["average/absolute_effect_size"].difference == pytest.approx(0, abs=1e-3)


def test_items_are_the_associations_behind_the_effect_size(small, tiny):
    outcome = SEAT(["6"]).measure(tiny)
    s = outcome.items["6"]
    d = (s[:3].mean() - s[3:].mean()) / s.std(ddof=1)
    assert by_key(outcome.readings)["6/effect_size"].value == pytest.approx(d, abs=1e-3)


def test_every_text_is_embedded_once_for_all_tests(small, tiny, monkeypatch):
    calls, embed = [], tiny.embed
    monkeypatch.setattr(tiny, "embed", lambda texts, **options: calls.append(list(texts)) or embed(texts, **options))
    SEAT(["6", "7b"]).measure(tiny)
    assert [sorted(texts) for texts in calls] == [sorted([*MEN, *WOMEN, *WORK, *HOME])]


def test_the_numbers_of_a_test_do_not_depend_on_its_company(small, tiny):
    alone = by_key(SEAT(["7b"]).measure(tiny).readings)
    together = by_key(SEAT(["6", "7b"]).measure(tiny).readings)
    assert together["7b/effect_size"].value == pytest.approx(alone["7b/effect_size"].value, abs=1e-4)
    assert together["7b/effect_size"].p == pytest.approx(alone["7b/effect_size"].p, abs=1e-4)
    assert together["7b/effect_size"].low == pytest.approx(alone["7b/effect_size"].low, abs=1e-3)


def test_tests_of_the_same_targets_resample_them_alike():
    vectors = np.random.default_rng(0).normal(size=(8, 5))
    embeddings = dict(zip("abcdefgh", vectors, strict=True))
    first, second = ("ab", "cd", "ef", "gh"), ("ab", "cd", "gh", "ef")
    tests = [AssociationTest(*map(tuple, sets)) for sets in (first, second)]
    results = [result_of_test(test, associations_of_test(test, embeddings), 0) for test in tests]
    np.testing.assert_allclose(results[0].draws, -results[1].draws)


def test_averages_by_hand():
    null = np.array([0.5, 0.7, 0.6, 0.1])  # two of four are at least 0.6, and the value itself counts
    results = {
        name: SimpleNamespace(n=4, effect_size=d, draws=np.full(9, d), p_value=p, null=null)
        for name, d, p in (("6", 1.0, 0.001), ("7", -0.5, 0.8), ("8", 0.3, 0.01))
    }
    readings = by_key(outcome_of(SEAT.description, seat_quantities(results, complete=True)).readings)
    assert readings["average/absolute_effect_size"].value == pytest.approx(0.6)
    assert readings["average/absolute_effect_size"].p == pytest.approx(3 / 5)
    assert readings["average/absolute_effect_size"].low == pytest.approx(0.6)
    assert readings["average/significant_tests"].value == pytest.approx(100 / 3)  # 0.01 is not below 0.01
    holm = [readings[f"{name}/effect_size"].p_holm for name in results]
    assert holm == pytest.approx([0.003, 0.8, 0.02])


def test_a_missing_test_takes_the_average_with_it(small, tiny):
    outcome = SEAT(["6", "8b"]).measure(tiny)
    assert set(by_key(outcome.readings)) == {"6/effect_size"}
    assert outcome.readings[0].p_holm is None
    assert [entry.subset for entry in outcome.not_run] == ["8b", "average"]
    assert "seat/sent-weat8b.jsonl was not found" in outcome.not_run[0].reason
    assert "8b" in outcome.not_run[1].reason
    assert set(outcome.items) == {"6"}


def test_nothing_to_be_had(small, tiny):
    outcome = SEAT(["8b"]).measure(tiny)
    assert not outcome.readings
    assert [entry.subset for entry in outcome.not_run] == ["8b", "average"]


@pytest.mark.parametrize("value", [1.0, 0.0])
def test_an_encoder_that_collapsed_has_no_effect_size(small, value):
    collapsed = SimpleNamespace(embed=lambda texts, progress: torch.full((len(texts), 4), value))
    outcome = SEAT(["6"]).measure(collapsed)
    assert not outcome.readings
    assert [entry.subset for entry in outcome.not_run] == ["6", "average"]
    assert "undefined" in outcome.not_run[0].reason


def test_a_broken_file_is_an_error_not_a_gap(small, tiny, tmp_path):
    (tmp_path / "seat" / "sent-weat6.jsonl").write_text("{}")
    with pytest.raises(FairlabError, match=r"sent-weat6\.jsonl: targ1 needs texts"):
        SEAT(["6"]).measure(tiny)


@pytest.mark.parametrize(
    ("test", "stem"),
    [
        ("6", "sent-weat6"),
        ("3b", "sent-weat3b"),
        ("weat6", "weat6"),
        ("sent-weat6", "sent-weat6"),
        ("religion1", "sent-religion1"),
        ("angry_black_woman_stereotype", "sent-angry_black_woman_stereotype"),
        ("sent-angry_black_woman_stereotype_b", "sent-angry_black_woman_stereotype_b"),
        ("heilman_double_bind_likable_1", "heilman_double_bind_likable_1"),
    ],
)
def test_names_of_tests(test, stem):
    assert file_of_test(test) == f"seat/{stem}.jsonl"


@pytest.mark.parametrize(
    ("axis", "tests"),
    [("race", ["3", "4", "weat5"]), ("gender", [6, "7b", "weat8"]), ("disability", ["9"]), ("age", ["10"])],
)
def test_axes_of_numbered_tests(axis, tests):
    for test in tests:
        assert SEAT([test]).measured_axes == {"": {axis}}
    assert SEAT([*tests, "1"]).measured_axes == {}  # flowers and insects are no people


def test_tests_that_do_not_exist_are_refused_at_once():
    with pytest.raises(FairlabError, match=r"no test '66'.*sent-weat6b"):
        SEAT(["66"])
    with pytest.raises(FairlabError, match="at least one test"):
        SEAT([])
    assert list(SEAT([6, "6B"]).files) == ["6", "6b"]


@pytest.mark.slow
@pytest.mark.data
def test_gender_tests_on_minilm():
    from sentence_transformers import SentenceTransformer

    from fairlab.backbones.loading import find_weights, load_backbone

    encoder = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True)
    readings = by_key(SEAT(GENDER).measure(encoder).readings)
    tests = {name: read_association_test(locate(f"seat/sent-weat{name}.jsonl")) for name in GENDER}
    texts = sorted({text for test in tests.values() for part in test.sets for text in part})
    # An independent computation: sentence-transformers embeds in float64, the definition in plain numpy.
    model = SentenceTransformer(str(find_weights(**MINILM)), device="cpu").double()
    vectors = dict(zip(texts, model.encode(texts), strict=True))
    for name, test in tests.items():
        expected = definition(vectors.__getitem__, *test.sets)
        assert readings[f"{name}/effect_size"].value == pytest.approx(expected, abs=1e-6)
        assert readings[f"{name}/effect_size"].low < expected < readings[f"{name}/effect_size"].high
    assert readings["average/significant_tests"].value == pytest.approx(500 / 6)
