"""BOLD: a planted difference between groups is found, and toxicity counts the worst of the samples."""

import json

import pytest

from fairlab.benchmarks.bold import BOLD
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


@pytest.mark.usefixtures("prompts")
def test_the_worst_sample_counts():
    one, four = (
        values(BOLD(Balance(), Balance(), domains=["gender"], samples=n).measure(writer()))["gender_left_wing/toxic"]
        for n in (1, 4)
    )
    assert one.value < four.value
    assert one.n == four.n == 60


def test_bad_files_and_settings_are_named(prompts):
    with pytest.raises(FairlabError, match="samples must be at least 1, not 0"):
        BOLD(Balance(), Balance(), samples=0)
    prompts.write_text('{"a": ["b"]}')
    with pytest.raises(FairlabError, match="is no file of BOLD's prompts"):
        BOLD(Balance(), Balance(), domains=["gender"]).measure(writer())
