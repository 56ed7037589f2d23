"""BOLD: a planted difference between groups is found, and toxicity counts the worst of the samples."""

import json

import numpy as np
import pytest

from fairlab.benchmarks.bold import BOLD, BoldPrompt, bold_quantities
from fairlab.types import FairlabError
from tests.benchmarks.planted_writer import Balance, values, writer


@pytest.fixture
def prompts(tmp_path, monkeypatch):
    (tmp_path / "bold_prompts").mkdir()
    content = {
        group: {f"{group} {k}": [f"{group} {k} was a ", f"{group} {k} wrote "] for k in range(30)}
        for group in ("Left-wing", "Right wing")
    }
    (tmp_path / "bold_prompts" / "gender_prompt.json").write_text(json.dumps(content))
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    return tmp_path / "bold_prompts" / "gender_prompt.json"


@pytest.mark.usefixtures("prompts")
def test_a_planted_difference_is_found():
    found = values(BOLD(Balance(), Balance(), domains=["gender"]).measure(writer("Left", 0.4)))
    assert found["gender_left_wing/sentiment_difference"].low > 0.1
    difference = found["gender_left_wing/sentiment"].value - found["gender_right_wing/sentiment"].value
    assert found["gender_left_wing/sentiment_difference"].value == pytest.approx(difference)
    assert found["gender_right_wing/sentiment_difference"].value == pytest.approx(-difference)


def test_quantities_by_hand():
    people = [("a", "1"), ("a", "2"), ("b", "3"), ("b", "4")]
    asked = {"x": [BoldPrompt("x", group, person, "") for group, person in people]}
    rows = [[0.2, 0.5, 1.0], [0.4, 0.49, 0.0], [0.0, 0.9, 0.0], [-0.2, 0.1, 0.0]]  # sentiment, toxicity, regard
    found = {(one.subset, one.name): one.value for one in bold_quantities(asked, {"x": np.array(rows)})}
    for subset, expected in {
        "x_a": {"sentiment": 0.3, "toxic": 50, "expected_maximum_toxicity": 0.495, "regard": 0.5},
        "x_b": {"sentiment": -0.1, "toxic": 50, "expected_maximum_toxicity": 0.5, "regard": 0},
    }.items():
        assert {name: found[subset, name] for name in expected} == pytest.approx(expected)
    differences = {"sentiment_difference": 0.4, "toxic_difference": 0, "regard_difference": 0.5}
    assert {name: found["x_a", name] for name in differences} == pytest.approx(differences)
    assert {name: found["x_b", name] for name in differences} == pytest.approx({k: -v for k, v in differences.items()})


@pytest.mark.usefixtures("prompts")
def test_the_worst_sample_counts():
    one, four = (
        values(BOLD(Balance(), Balance(), domains=["gender"], samples=n).measure(writer()))["gender_left_wing/toxic"]
        for n in (1, 4)
    )
    assert one.value < four.value
    assert one.n == four.n == 60


class Regard:
    """Classifier that sees the good in good words and the bad in bad ones."""

    outputs = ("negative", "neutral", "positive")

    def score(self, texts):
        words = [text.split() for text in texts]
        return np.array([[some.count(one) / len(some) for one in ("bad", "cook", "good")] for some in words])


@pytest.mark.usefixtures("prompts")
def test_regard_is_positive_less_negative():
    found = values(BOLD(Balance(), Balance(), regard=Regard(), domains=["gender"]).measure(writer("Left", 0.4)))
    for quantity in ("", "_difference"):
        regard, sentiment = (found[f"gender_left_wing/{name}{quantity}"] for name in ("regard", "sentiment"))
        assert regard.value == pytest.approx(sentiment.value)
    with pytest.raises(FairlabError, match="has no score 'negative'"):
        BOLD(Balance(), Balance(), regard=Balance())


def test_real_toxicity_prompts_are_grouped_by_their_toxicity(tmp_path):
    rows = [{"prompt": {"text": f"He {k} ", "toxicity": value}} for k, value in enumerate((0.9, 0.5, 0.1, None))]
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = values(BOLD(Balance(), Balance(), domains=[], real_toxicity_prompts=str(path)).measure(writer()))
    assert {key: one.n for key, one in found.items() if key.endswith("/sentiment")} == {
        "real_toxicity_prompts_toxic/sentiment": 2,
    }
    assert not any("difference" in key for key in found)
    path.write_text('{"text": "a"}\n')
    with pytest.raises(FairlabError, match="line 1 has no prompt with text and toxicity"):
        BOLD(Balance(), Balance(), domains=[], real_toxicity_prompts=str(path)).measure(writer())
    with pytest.raises(FairlabError, match="domains is empty"):
        BOLD(Balance(), Balance(), domains=[])


def test_bad_files_and_settings_are_named(prompts):
    prompts.write_text('{"a": ["b"]}')
    with pytest.raises(FairlabError, match="is not a file of BOLD's prompts"):
        BOLD(Balance(), Balance(), domains=["gender"]).measure(writer())


@pytest.mark.usefixtures("prompts")
def test_no_toxic_text_at_all_does_not_prove_that_groups_are_equal():
    class Never:
        outputs = ("toxic",)

        def score(self, texts):
            return np.zeros((len(texts), 1))

    found = values(BOLD(Balance(), Never(), domains=["gender"]).measure(writer()))
    difference = found["gender_left_wing/toxic_difference"]
    most = 100 * 1.959964**2 / (30 + 1.959964**2)  # Wilson's upper bound of 0 among 30 entities
    assert (difference.low, difference.high) == pytest.approx((-most, most), rel=1e-4)
    assert "gender_left_wing/detectable_toxic_difference" not in found
