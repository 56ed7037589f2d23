"""Counterfactual generation: planted differences are found beyond the control, and chance alone is not."""

import json

import numpy as np
import pytest
import torch

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.writers import Written
from fairlab.benchmarks.counterfactual import Counterfactual, _excess
from fairlab.types import FairlabError
from tests.benchmarks.planted_writer import Balance, values, writer


@pytest.fixture
def templates(tmp_path):
    rows = [
        {"text": f"Go on. {group} number {k} is", "group_category": "Gender", "group": group}
        for group in ("Men", "Women")
        for k in range(40)
    ]
    (tmp_path / "langfair.json").write_text(json.dumps(rows))
    return str(tmp_path / "langfair.json")


def test_what_people_change_exceeds_what_chance_changes(templates):
    found = values(Counterfactual(Balance(), path=templates).measure(writer("Women", 0.5)))
    assert found["gender/excess_sentiment_change"].low > 0
    assert found["gender_men/sentiment_difference"].high < -0.2
    even = values(Counterfactual(Balance(), path=templates).measure(writer()))
    assert even["gender/sentiment_change"].value > 0.1  # by chance
    assert even["gender/excess_sentiment_change"].low < 0 < even["gender/excess_sentiment_change"].high
    assert even["gender/excess_dissimilarity"].low < 0 < even["gender/excess_dissimilarity"].high


def test_words_of_the_prompts_and_gendered_words_make_no_difference(templates):
    class Repeats:
        def write(self, prompts, sampling, *, done=None, progress=""):
            return [Written(f"{one.text} {'she' if 'Women' in one.text else 'he'} tall") for one in prompts]

    model = ModelObject("repeats")
    model.writer = Repeats()
    found = values(Counterfactual(Balance(), path=templates).measure(model))
    assert found["gender/similarity"].value == 1.0
    assert found["gender/sentiment_parity"].value == 0.0


@pytest.mark.parametrize(
    ("excess", "names"), [([0.1, 0.3], ["gap", "detectable_gap"]), ([0.2, 0.2], ["gap"]), ([0.3], ["gap"])]
)
def test_equal_templates_have_no_detectable_difference(excess, names):
    assert [one.name for one in _excess("gender", "gap", np.array(excess))] == names


@pytest.mark.slow
def test_own_prompts_are_turned_to_every_attribute(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("Describe the man next door.\nWhat is rain?\nPraise the waitress.\n")
    outcome = Counterfactual(Balance(), prompts=str(path), mode="lexical").measure(writer())
    assert {one.benchmark for one in outcome.readings} == {"counterfactual@own"}
    assert outcome.items["gender"].shape[0] == 2
    assert "1 of 3 prompts are left out" in outcome.notes[0].text
    path.write_text("What is rain?\n")
    with pytest.raises(FairlabError, match=r"no prompt of .* names people whose gender"):
        Counterfactual(Balance(), prompts=str(path), mode="lexical").measure(writer())


class Counts:
    """Encoder of a text by how often it has each of four words."""

    def embed(self, texts):
        words = [text.split() for text in texts]
        return torch.tensor([[float(some.count(one)) for one in ("good", "bad", "cook", "tall")] for some in words])


@pytest.mark.parametrize("similarity", ["bleu", "cosine"])
def test_other_similarities_have_their_unit_and_name(templates, similarity):
    found = values(Counterfactual(Balance(), similarity=similarity, encoder=Counts(), path=templates).measure(writer()))
    reading = found["gender/similarity"]
    assert reading.benchmark == f"counterfactual@{similarity}"
    assert reading.unit == {"bleu": "BLEU", "cosine": "cosine"}[similarity]
    assert 0 < reading.value < 1
    assert found["gender/excess_dissimilarity"].low < 0 < found["gender/excess_dissimilarity"].high
    with pytest.raises(FairlabError, match=r"give counterfactual\.encoder"):
        Counterfactual(Balance(), similarity="cosine")


def test_bad_settings_and_files_are_named(templates, tmp_path):
    with pytest.raises(FairlabError, match="samples must be at least 2"):
        Counterfactual(Balance(), samples=1)
    with pytest.raises(FairlabError, match="categories must be gender, not 'sex'"):
        Counterfactual(Balance(), categories=["sex"], path=templates).measure(writer())
    with pytest.raises(FairlabError, match="returns length, balance, but not 'joy'"):
        Counterfactual(Balance(), "joy", path=templates, limit=2).measure(writer())
    (tmp_path / "bad.json").write_text('[{"text": "a", "group_category": "x"}]')
    with pytest.raises(FairlabError, match="each row needs text, group_category and group"):
        Counterfactual(Balance(), path=str(tmp_path / "bad.json")).measure(writer())


@pytest.mark.data
def test_published_templates_are_read_whole():
    found = Counterfactual(Balance(), limit=3).measure(writer())
    named = ["age", "disability", "economic_status", "gender", "nationality", "race_ethnicity", "religion"]
    assert sorted(found.items) == [*named, "sexual_orientation"]
    assert found.items["religion"].shape == (3, 5 * 2 + 2)
    assert np.isfinite(found.items["religion"]).all()
