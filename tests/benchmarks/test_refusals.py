"""Refusals: phrases near the beginning count, a planted gap is found, and none refused is no certainty."""

import numpy as np
import pytest

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.writers import Written
from fairlab.benchmarks.refusals import FILE, Refusals, Requests, is_refusal, read_requests
from fairlab.types import FairlabError
from tests.benchmarks.planted_writer import values

PHRASES = read_requests(FILE).phrases


class Declines:
    """Writer that refuses what names a group, in some of the requests."""

    def __init__(self, group):
        self.group, self.asked = group, []

    def write(self, prompts, sampling, *, done=None, progress=""):
        self.asked += prompts
        return [Written("I'm sorry, but no." if self.group in one.text else "Here it is.") for one in prompts]


def model(group):
    found = ModelObject("declines")
    found.writer = Declines(group)
    return found


@pytest.mark.parametrize(
    ("text", "ended", "refused"),
    [
        ("I’m sorry, but I can't help with that.", "end", True),
        ("As an AI, I do not joke.", "length", True),
        ("Roses are red. " * 10 + "I'm sorry", "end", False),
        ("x" * 111 + "I'm sorry", "end", True),  # the last of 120 characters
        ("x" * 112 + "I'm sorry", "end", False),
        ("The club met on Monday.", "end", False),
        ("", "refused", True),
        ("", "failed", False),
    ],
)
def test_a_reply_is_a_refusal(text, ended, refused):
    assert is_refusal(Written(text, ended), PHRASES) is refused


def test_a_planted_gap_is_found():
    found = values(Refusals(["religion"]).measure(model("Muslims")))
    assert found["religion_muslims/refused_difference"].value == 100.0
    assert found["religion_jews/refused_difference"].value == -25.0
    assert found["all/refused"].value == 20.0


def test_no_refusal_leaves_room():
    found = values(Refusals(["gender"]).measure(model("nobody")))
    for subset in ("gender_men", "all"):
        assert found[f"{subset}/refused"].high == pytest.approx(21.5, abs=0.1)  # Wilson's bound of 0 of 14
    assert found["gender_men/refused_difference"].low == pytest.approx(-21.5, abs=0.1)


class Judge:
    """Judge of refusals that has no opinion on poems and takes every reply about men for a refusal."""

    outputs = ("refused",)

    def score(self, texts):
        said = [np.nan if "poem" in text else 0.5 * ("Reply: I'm sorry" in text or " men" in text) for text in texts]
        return np.array(said)[:, None]


def test_a_judge_is_asked_and_its_agreement_said():
    outcome = Refusals(["gender"], judge=Judge()).measure(model("women"))
    found = values(outcome)
    assert found["all/refused"].value == pytest.approx(100 / 3)
    assert found["all/refused_by_judge"].value == pytest.approx(200 / 3)
    assert found["all/agreement"].value == pytest.approx(200 / 3)
    assert found["all/agreement"].n == 13 * 3
    assert [note.text for note in outcome.notes] == ["3 replies have no judgement"]
    never = values(Refusals(["religion"], judge=Judge()).measure(model("nobody")))
    assert never["all/refused_by_judge"].high > 20  # Wilson's bound of 0 of 13


def test_bad_settings_are_named(tmp_path):
    with pytest.raises(FairlabError, match=r"refusals\.axes must be gender or religion"):
        Refusals(["sex"]).measure(model("men"))
    (tmp_path / "own.yaml").write_text("{groups: {a: [b, c]}, templates: [x], refusals: [no]}")
    with pytest.raises(FairlabError, match=r"has no \{group\}"):
        Refusals(path=str(tmp_path / "own.yaml")).measure(model("men"))
    for content in (
        "{groups: {a: [b, c]}, templates: [], refusals: [no]}",
        "{groups: {a: [b, c], d: [e]}, templates: ['{group}'], refusals: [no]}",
    ):
        (tmp_path / "own.yaml").write_text(content)
        with pytest.raises(FairlabError, match="needs a template, and at least two groups of each axis"):
            read_requests(tmp_path / "own.yaml")
    (tmp_path / "own.yaml").write_text("{groups: {a: [b, c]}, templates: ['{group}'], refusals: [Sorry]}")
    assert read_requests(tmp_path / "own.yaml") == Requests({"a": ["b", "c"]}, ["{group}"], ["sorry"])


def test_requests_are_turns_of_a_chat_with_the_system_prompt_and_every_sample_is_drawn():
    asked = model("nobody")
    Refusals(["religion"], system="Be kind.", samples=2).measure(asked)
    assert {(one.chat, one.system) for one in asked.writer.asked} == {(True, "Be kind.")}
    texts = [one.text for one in asked.writer.asked if one.sample == 0]
    assert len(set(texts)) == len(texts) == len(asked.writer.asked) / 2
