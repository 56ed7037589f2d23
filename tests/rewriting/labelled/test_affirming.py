"""Removal and addition of negations in parses that are written by hand."""

import pytest

from fairlab.rewriting.english.edits import apply_edits
from fairlab.rewriting.labelled.affirming import Affirming
from tests.rewriting.english.trees import tree

RULES = Affirming(
    {"contain": "lack", "show up": "stay away"}, {"forget": "remember"}, {"closed": "open", "close": "far away"}
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We did/VBD not/RB book/VB it",
            "We refrained from booking it|We stopped short of booking it|We hardly booked it",
        ),
        (
            "We did/VBD not/RB x/RB y/RB book/VB",
            "We refrained from booking|We stopped short of booking|We hardly booked",
        ),
        ("We did/VBD not/RB x/RB y/RB z/RB book/VB", ""),
        ("We did/VBD not/RB the/DT book/VB", ""),
        ("We did/VBD not/RB have/VB to/TO go/VB", "We hardly had to go"),
        (
            "We did/VBD not/RB have/VB it",
            "We refrained from having it|We stopped short of having it|We hardly had it",
        ),
        ("It does/VBZ not/RB contain/VB it", "It lacks it"),
        ("He did/VBD not/RB show/VB up/RP", "He stayed away"),
        (
            "We did/VBD not/RB contain/VB up/RP",
            "We refrained from containing up|We stopped short of containing up|We hardly contained up",
        ),
        ("She did/VBD not/RB forget/VB it", "She remembered it"),
        ("do/VBP not/RB book/VB it", "avoid booking it|refrain from booking it"),
        ("Stop ! do/VBP not/RB book/VB it", "Stop ! avoid booking it|Stop ! refrain from booking it"),
        ("We do/VBP not/RB be/VB it", "We refrain from being it|We stop short of being it|We hardly are it"),
        # forms of *be* and *have*
        ("It is/VBZ not/RB open/JJ", "It is closed"),
        ("It is/VBZ not/RB far/RB away/RB", "It is close"),
        ("It is/VBZ not/RB good/JJ", "It is anything but good|It is far from good|It is hardly good"),
        ("It is/VBZ not/RB a/DT cat/NN", "It is anything but a cat|It is far from being a cat|It is hardly a cat"),
        ("It has/VBZ not/RB rained/VBN", "It has yet to rain|It has hardly rained"),
        ("It has/VBZ not/RB rain/NN", ""),
        # modal verbs
        ("They ca/MD n't/RB sing/VB", "They can hardly sing"),
        ("They could/MD not/RB sing/VB", "They could hardly sing"),
        ("They wo/MD n't/RB sing/VB", "They will hardly sing|They will stop short of singing"),
        ("They must/MD not/RB a/DT sing/VB", ""),
        ("It is/VBZ not/RB only/RB big/JJ", ""),
        ("It is/VBZ not/RB", ""),
        ("not/RB good/JJ", ""),
        ("why/WRB not/RB sing/VB", ""),
        # *never*
        (
            "I never/RB eat/VBP it",
            "I always refrain from eating it|I always stop short of eating it|I hardly ever eat it",
        ),
        ("I have/VBP never/RB eaten/VBN it", "I have yet to eat it|I have hardly ever eaten it"),
        ("It is/VBZ never/RB cold/JJ", "It is hardly ever cold"),
        ("I was/VBD never/RB ate/VBD it", "I was hardly ever ate it"),
        ("never/RB cold/JJ", "hardly ever cold"),
        # *no*
        ("It has/VBZ no/DT lift/NN", "It lacks any lift|It has hardly any lift"),
        ("to have/VB no/DT lift/NN", "to have hardly any lift"),
        ("It came with/IN no/DT lift/NN", "It came without any lift"),
        ("no/DT lift/NN came", "hardly any lift came"),
        ("no/DT one/NN came", "hardly anyone came"),
        ("It is no/RB longer/RBR here", "It is hardly still here"),
        ("It is no/RB more/RBR here", ""),
        ("There is no/DT doubt/NN", ""),
        ("no/UH ,/, thanks", ""),
        ("I said no/UH", ""),
        ("nothing/NN came", "precious little came|hardly anything came"),
        # *fail*
        ("It failed/VBD to/TO contain/VB it", "It lacked it"),
        ("It fails/VBZ to/TO open/VB", "It stops short of opening|It refrains from opening"),
        ("failing/VBG to/TO open/VB", "stopping short of opening|refraining from opening"),
        ("It failed/VBD at/IN open/VB", ""),
        ("It failed/VBD to/TO us/PRP", ""),
        ("It failed/VBD to/TO", ""),
    ],
)
def test_negations_are_removed(text, expected):
    doc = tree(text)
    made = RULES._apply_variants(doc.text, list(RULES._sites(doc)), 3)
    assert "|".join(dict.fromkeys(made)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is/VBZ closed/JJ", "It is not open"),
        ("It is/VBZ far/RB away/RB", "It is not close"),
        ("It is/VBZ far/RB", ""),
        ("It is/VBZ", ""),
        ("She forgets/VBZ it", "She does not remember it"),
        ("She forgot/VBD", "She did not remember"),
        ("She forgot/VBD up/RP", ""),
        ("She forget/VB it", ""),
        ("They had/VBD a b forgot/VBD it", ""),
        ("had/VBD a b forgot/VBD it", ""),
        ("They had/VBD a b c forgot/VBD it", "They had a b c did not remember it"),
    ],
)
def test_an_opposite_is_negated(text, expected):
    doc = tree(text)
    edits = [edit for edit in (RULES._negate(doc, word) for word in doc) if edit]
    assert (apply_edits(doc.text, edits) if edits else "") == expected


def test_a_word_takes_the_place_of_a_contraction():
    assert RULES(["It hasn't rained."], 2) == [["It has yet to rain.", "It has hardly rained."]]
