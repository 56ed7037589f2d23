"""Counterfactual generation: planted differences are found beyond the control, and chance alone is not."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.writers import Sampling, TextPrompt, Written
from fairlab.benchmarks.counterfactual import Counterfactual, _excess, counterfactual_quantities
from fairlab.benchmarks.turned_prompts import turned_prompts
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten
from fairlab.rewriting.group_rewriters import Versions
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


def test_quantities_by_hand():
    # Two templates, two samples of group a and two of b, similarity and its control.
    rows = [[0.0, 0.2, 0.5, 0.9, 0.4, 0.6], [0.1, 0.1, 0.3, -0.1, 0.8, 0.7]]
    found = list(counterfactual_quantities({"x": ["a", "b"]}, 2, {"x": np.array(rows)}))
    changes = [(0.9 + 0.3) / 2 - (0.2 + 0.4) / 2, (0.2 + 0.2) / 2 - (0 + 0.4) / 2]  # of other samples: 0.3 and 0
    # Two units: t of one degree of freedom at 97.5 and 80 % is 12.7062 and 1.37638; half their distance is the error.
    expected = {
        "similarity": 0.6,
        "control_similarity": 0.65,
        "excess_dissimilarity": (0.2 - 0.1) / 2,
        "detectable_excess_dissimilarity": 14.0826 * 0.3 / 2,
        "sentiment_change": 0.4,
        "control_sentiment_change": 0.25,
        "excess_sentiment_change": sum(changes) / 2,
        "detectable_excess_sentiment_change": 14.0826 * 0.3 / 2,
        "sentiment_parity": (0.3 + 0.4) / 2,  # 0, 0.1 and 0.3, 0.5 in order
        "control_sentiment_parity": (0.1 + 0.1 + 0.4 + 0.4) / 4,  # 0, 0.1 and 0.1, 0.2; 0.3, 0.5 and -0.1, 0.9
        "sentiment_difference": (0.1 + 0.1 - 0.7 - 0.1) / 2,
        "detectable_sentiment_difference": 14.0826 * 0.6 / 2,
    }
    assert {one.name: one.value for one in found} == pytest.approx(expected, rel=1e-4)
    assert [one.name for one in found if one.headline] == ["excess_sentiment_change", "sentiment_difference"]
    assert {one.n for one in found} == {2}
    # Three groups, 0, 1 and 3 at every sample: distances 1, 3 and 2.
    three = np.tile([0.0, 0, 0, 1, 1, 1, 3, 3, 3, 0, 0], (2, 1))
    values = {one.name: one.value for one in counterfactual_quantities({"x": [*"abc"]}, 3, {"x": three})}
    assert (values["sentiment_change"], values["control_sentiment_change"], values["sentiment_parity"]) == (2, 0, 2)
    assert values["control_sentiment_parity"] == 0


class Angles:
    """Encoder of a number as an angle in degrees, of various lengths."""

    def embed(self, texts):
        angles = np.radians([float(text) for text in texts])
        return torch.tensor(np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.arange(1, len(texts) + 1)[:, None])


def test_other_samples_of_two_groups_are_compared_and_samples_of_one_group():
    rows = {"a": ["p", "r"], "b": ["q", "s"]}
    benchmark = Counterfactual(Balance(), similarity="cosine", encoder=Angles())
    found = benchmark._similarities(rows, ["0", "60", "60", "90", "0", "0", "0", "60"])
    # First template: 0 with 90 and 60 with 60; 0 with 60 and 60 with 90. Second: 0 with 60 and 0 with 0; likewise.
    assert found == pytest.approx(np.array([[0.5, (0.5 + np.sqrt(0.75)) / 2], [0.75, 0.75]]))
    # Words of one prompt alone (p, q) and gendered words are left out; those of both prompts count.
    texts = ["we p one two", "we one q", "he we one q", "we p six", *["we"] * 4]
    found = Counterfactual(Balance())._similarities({"a": ["we p", "r"], "b": ["we q", "s"]}, texts)
    # "we one two" and "we six" share 2 of 5 words, "we one" and "we one" all; "we one two" and "we one" 4 of 5, and
    # "we one" and "we six" 2 of 4.
    assert found == pytest.approx(np.array([[(0.4 + 1) / 2, (0.8 + 0.5) / 2], [1, 1]]))


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


@pytest.mark.parametrize(
    ("prompts", "said"),
    [(["one", "two", "refused", "same"], "2 of 4 prompts are left out"), (["one", "two"], ""), (["same"], None)],
)
def test_prompts_that_rules_cannot_turn_to_every_attribute_are_left_out(tmp_path, monkeypatch, prompts, said):
    def turned(text):
        if text == "refused":
            return NotRewritten("unaligned", "no person")
        return Versions({name: text if text == "same" else f"{name} {text}" for name in ("neutral", "man", "woman")})

    rules = lambda lexicon, mode: SimpleNamespace(groups=lambda texts: list(map(turned, texts)))  # noqa: E731
    monkeypatch.setattr("fairlab.benchmarks.turned_prompts.RuleGroups", rules)
    (tmp_path / "my.txt").write_text("\n".join(prompts))
    if said is None:
        with pytest.raises(FairlabError, match=r"no prompt of .* names people whose gender"):
            turned_prompts(str(tmp_path / "my.txt"), "gender")
        return
    found, note = turned_prompts(str(tmp_path / "my.txt"), "gender")
    assert found == {name: [f"{name} one", f"{name} two"] for name in ("man", "woman")}
    assert note.startswith(said)
    assert bool(note) == bool(said)


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
    rows = [{"text": "a", "group_category": "x", "group": group} for group in "aab"]
    for some in (rows, rows[:2]):  # two templates and one, and a single group
        (tmp_path / "bad.json").write_text(json.dumps(some))
        with pytest.raises(FairlabError, match="the groups of x do not have the same templates"):
            Counterfactual(Balance(), path=str(tmp_path / "bad.json")).measure(writer())


@pytest.mark.parametrize("system", [None, "Be fair."])
def test_each_template_is_a_turn_for_every_group_and_sample(templates, system):
    asked = writer()
    write = asked.writer.write
    asked.writer.write = lambda prompts, sampling, **more: seen.extend([sampling, *prompts]) or write(prompts, sampling)
    seen = []
    Counterfactual(Balance(), path=templates, limit=2, system=system).measure(asked)
    texts = [f"Go on. {group} number {k} is" for k in (0, 20) for group in ("Men", "Women")]
    prompts = [TextPrompt(text, sample, chat=True, system=system or "") for text in texts for sample in (0, 1)]
    assert seen == [Sampling(temperature=1.0, top_p=1.0, max_tokens=32, seed=0), *prompts]


@pytest.mark.data
def test_published_templates_are_read_whole():
    found = Counterfactual(Balance(), limit=3).measure(writer())
    named = ["age", "disability", "economic_status", "gender", "nationality", "race_ethnicity", "religion"]
    assert sorted(found.items) == [*named, "sexual_orientation"]
    assert found.items["religion"].shape == (3, 5 * 2 + 2)
    assert np.isfinite(found.items["religion"]).all()
