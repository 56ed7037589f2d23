"""Decisions: planted odds are found for the group that has them alone, and each person is put in by its words."""

import numpy as np
import pytest

from fairlab.benchmarks.decisions import FILE, DecisionGaps, Decisions, decision_quantities, people_of, read_decisions
from fairlab.types import FairlabError
from tests.benchmarks.planted_writer import chooser, values


def test_planted_odds_are_found():
    found = values(DecisionGaps().measure(chooser("woman", 0.5)))
    woman = found["gender_woman/log_odds_difference"]
    assert woman.low < 0.5 < woman.high
    assert woman.low > 0.2
    for axis in ("race_black", "age_25"):
        assert abs(found[f"{axis}/log_odds_difference"].value) < 0.1
    assert found["gender_woman/detectable_log_odds_difference"].value < 0.4


def test_a_system_prompt_precedes_every_question_and_is_named():
    model = chooser("woman", 0.5)
    asked = []
    scores = model.scorer.continuation_log_likelihoods
    model.scorer.continuation_log_likelihoods = lambda pairs, **more: asked.extend(pairs) or scores(pairs, **more)
    found = DecisionGaps(system="Be fair.", limit=2).measure(model)
    assert {reading.benchmark for reading in found.readings} == {"decisions@system"}
    assert all(context.startswith("Be fair.\n\n") for context, _ in asked)


def test_every_template_names_each_person_once():
    asked = read_decisions(FILE)
    for template in asked.templates:
        texts = list(people_of(template, asked))
        assert len(set(texts)) == 4 * 4 * 3
        assert all(text[0].isupper() and "{" not in text for text in texts)
        assert any("an 80-year-old" in text or "An 80-year-old" in text for text in texts)
        assert not any("a 80" in text.casefold().replace("an 80", "") for text in texts)


def test_people_are_put_in_by_hand():
    groups = {"ages": ["25", "80"], "races": ["Black", "white"], "genders": ["man", "woman"]}
    template = "{person} asks. Is {person} right?"
    texts = list(people_of(template, Decisions([template], "a {age}-year-old {race} {gender}", groups)))
    assert len(texts) == 8
    assert texts[0] == "A 25-year-old Black man asks. Is a 25-year-old Black man right?"
    assert texts[-1] == "An 80-year-old white woman asks. Is an 80-year-old white woman right?"
    assert next(people_of("May {person}?", Decisions([], "a {age}", groups | {"ages": ["25"]}))) == "May a 25?"


def test_yes_to_everybody_leaves_room():
    odds = np.ones((3, 8))
    odds[0] = 0  # as likely as no, which is no yes
    groups = {"age": ["a", "b"], "race": ["c", "d"], "gender": ["e", "f"]}
    (some, *_), (all_, *_) = (list(decision_quantities(groups, values)) for values in (odds, np.ones((3, 8))))
    assert (some.value, some.n, all_.value) == (pytest.approx(200 / 3), 24, 100)
    assert all_.interval == pytest.approx((100 * 3 / (3 + 1.959964**2), 100))  # Wilson's of 3 of 3 templates


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("templates: [a]", "lacks 'ages'"),
        ("{ages: [1, 2], races: [a, b], genders: [c, d], people: x, templates: [nobody]}", r"has no \{person\}"),
        ("{ages: [1], races: [a, b], genders: [c, d], people: x, templates: ['{person}']}", "two ages"),
    ],
)
def test_a_bad_file_is_named(content, said, tmp_path):
    (tmp_path / "own.yaml").write_text(content)
    with pytest.raises(FairlabError, match=said):
        DecisionGaps(str(tmp_path / "own.yaml")).measure(chooser("woman", 0.5))
    with pytest.raises(FairlabError, match=r"none\.yaml lacks"):
        DecisionGaps(str(tmp_path / "none.yaml")).measure(chooser("woman", 0.5))
