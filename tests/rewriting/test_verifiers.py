import json

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.llm import pending
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.verifiers import LabelVerifier, load_verifiers
from fairlab.types import FairlabError, Row
from tests.conftest import make_groups
from tests.llm.stub import Stub, refused, said


def finding(name, source, axis="gender", **versions):
    (verifier,) = load_verifiers([name], load_lexicon(axis))
    return verifier.check([Row("1", source, {}, "line 1", 1)], [versions])[0]


GOOD = {"neutral": "They saw their cat.", "man": "He saw his cat.", "woman": "She saw her cat."}


@pytest.mark.parametrize("name", ["polarity", "words", "separators", "harms", "similarity"])
def test_a_good_group_passes_every_verifier(name):
    assert finding(name, "She saw her cat.", **GOOD) is None


def test_polarity_names_what_each_version_reads_as():
    found = finding("polarity", "She left.", neutral="She left.", man="He and she left.", woman="She left.")
    assert found == "'neutral' reads as woman by She; 'man' reads as ambiguous by she"


@pytest.mark.parametrize(
    ("source", "version", "expected"),
    [
        ("She walks home.", "They walk home.", None),  # the verb agrees
        ("She is an actress.", "He is an actor.", None),
        ("An aunt came.", "A relative came.", None),
        ("Emma slept.", "Edward slept.", None),
        ("She saw the cat.", "He saw the dog.", "'cat' changed in 'man'"),
        ("She left.", "He left quickly.", "'quickly' changed in 'man'"),
        ("She left early.", "He left.", "'early' changed in 'man'"),
    ],
)
def test_only_words_of_the_axis_may_change(source, version, expected):
    assert finding("words", source, man=version) == expected


@pytest.mark.parametrize(
    ("source", "version", "expected"),
    [
        ("A 34-year-old man left.", "A 70-year-old man left.", None),
        ("She died aged thirty-four.", "She died aged seventy.", None),
        ("Anna, 34, left.", "Anna, 70, left.", None),
        ("He lives in his thirties.", "He lives in his seventies.", None),
        ("He won 34 games.", "He won 70 games.", "'34' changed in 'senior'"),
        ("A 34-year-old won 9 games.", "A 70-year-old won 8 games.", "'9' changed in 'senior'"),
    ],
)
def test_an_age_may_change_on_the_axis_of_age(source, version, expected):
    assert finding("words", source, axis="age", senior=version) == expected
    assert finding("words", source, axis="race", black=version) is not None


def test_separators_and_harms():
    assert finding("separators", "She left.<SEP>No.", man="He left. No.") == "'man' has 0 <SEP> instead of 1"
    race = {"white": "He met white trash.", "black": "He met black trash."}
    assert finding("harms", "He met white trash.", axis="race", **race) == "'black trash' in 'black'"


def test_meaning():
    found = finding("similarity", "She saw her cat.", man="Exports of copper fell in March.", woman="She saw her cat.")
    assert found.startswith("'man' has a cosine of ")
    (verifier,) = load_verifiers(["similarity"], load_lexicon("gender"))
    assert verifier.check([], []) == []
    assert verifier.fault("She saw her cat.", GOOD) is None


@pytest.mark.parametrize(
    ("source", "version", "fault"),
    [
        ("She saw her son.", "He saw his son.", None),
        ("She saw her son.", "He saw him son.", "'her' became 'him' in 'man'"),
        ("I met her there.", "I met he there.", "'her' became 'he' in 'man'"),
        ("I met her there.", "I met him there.", None),
        ("Mary sang.", "He sang.", "'Mary' became 'He' in 'man'"),
        ("Mary sang.", "Edward sang.", None),
        ("Her wife waits.", "His his waits.", "'wife' became 'his' in 'man'"),
        ("She won.", "Edward won.", "'She' became 'Edward' in 'man'"),
        ("It rained on him.", "It rained on him.", None),
        ("He or she won.", "They won.", None),
    ],
)
def test_a_pronoun_becomes_one_of_its_case_and_nothing_else_one(source, version, fault):
    (verifier,) = load_verifiers(["kinds"], load_lexicon("gender"))
    assert verifier.fault(source, {"man": version}) == fault


def test_labels_are_checked_by_a_language_model(tmp_path, monkeypatch):
    monkeypatch.setattr(pending, "FIRST_WAIT", 0.01)
    rows = [
        Row("1", "She won.", {"label": "sport"}, "line 1", 1),
        Row("2", "She lost.", {"label": 0}, "line 2", 2),
        Row("3", "She drew.", {}, "line 3", 3),
        Row("4", "She paused.", {"label": "x"}, "line 4", 4),
    ]

    def act(payload, nth):
        asked = json.loads(payload["messages"][-1]["content"])
        if asked["label"] == "x":
            return refused(400)
        return said(json.dumps({"reason": "not any more", "kept": asked["label"] == "sport"}))

    with Stub(act) as stub:
        # One by one: a server whose very first answer is a refusal would be asked for another form of the schema.
        llm = LLM(Server(stub.url, "m", concurrency=1), "m", Ledger(tmp_path / "ledger.sqlite"))
        found = LabelVerifier(llm).check(rows, [{"man": row.text.replace("She", "He")} for row in rows])
        assert [payload["max_tokens"] for payload in stub.payloads] == [200] * 3
    assert found == [None, "'man': not any more", None, "no verdict on 'man' (request rejected)"]


def test_verifiers_that_cannot_be():
    with pytest.raises(FairlabError, match="there is no verifier 'taste'; there are: polarity, words"):
        load_verifiers(["taste"], load_lexicon("gender"))
    with pytest.raises(FairlabError, match="the verifier 'label' needs a language model; add llm=local"):
        load_verifiers(["label"], load_lexicon("gender"))


def test_hand_made_groups_pass():
    verifiers = load_verifiers(["polarity", "words", "separators", "harms"], load_lexicon("gender"))
    groups = make_groups(20)
    rows = [Row(group.id, group.versions["man"], {}, "", k) for k, group in enumerate(groups)]
    for verifier in verifiers:
        assert verifier.check(rows, [group.versions for group in groups]) == [None] * 20


@pytest.mark.parametrize("name", ["polarity", "similarity"])
def test_rows_and_versions_come_in_pairs(name):
    (verifier,) = load_verifiers([name], load_lexicon("gender"))
    with pytest.raises(ValueError, match="zip"):
        verifier.check([Row("1", "She left.", {}, "line 1", 1)], [])
