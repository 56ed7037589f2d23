"""Links of a trained model, on clusters made by hand."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.coreference import Coreference
from fairlab.rewriting.english.linkers import ClusterLinks, FastCoref, load_linker
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.pipeline import parse
from fairlab.types import FairlabError
from tests.rewriting.english.trees import tree

GENDER = load_lexicon("gender")


class Stub:
    """Stands in for ``fastcoref.FCoref``: gives prepared clusters, and counts the texts it was asked about."""

    def __init__(self, *clusters):
        self.clusters, self.texts = clusters, []

    def predict(self, texts):
        self.texts += texts
        return [SimpleNamespace(get_clusters=lambda as_strings, text=text: self.spans(text)) for text in texts]

    def spans(self, text):
        """Spans of each cluster, whose mentions are given from left to right; ``None`` stays None."""
        found = []
        for cluster in self.clusters:
            place, spans = 0, []
            for mention in cluster:
                place = place if mention is None else text.index(mention, place)
                spans.append(None if mention is None else (place, place + len(mention)))
                place += len(mention.split()[0]) if mention else 0
            found.append(spans)
        return found


def rewriter(*clusters, names="keep"):
    made = RuleRewriter(GENDER, names=names)
    made.linker = FastCoref(Stub(*clusters))
    return made


def test_pronouns_follow_the_clusters_and_not_the_rules():
    text = "Mary told Anna that she had sold her car."
    trained = rewriter(["Anna", "she", "her"])
    assert trained.rewrite_entity(text, "Anna", "man") == "Mary told Anna that he had sold his car."
    assert trained.rewrite_entity(text, "Mary", "man") == text
    assert RuleRewriter(GENDER, names="keep").rewrite_entity(text, "Anna", "man") == text  # the rules choose Mary


def test_a_group_is_none_of_its_members():
    text = "The woman and her nephew said that they liked it. She waved."
    made = rewriter(["The woman", "her", "She"], ["The woman and her nephew", "they"], ["her nephew", None])
    assert made.rewrite_entity(text, "woman", "man") == "The man and his nephew said that they liked it. He waved."
    assert made.rewrite_entity(text, "nephew", "woman") == text.replace("nephew", "niece")


@pytest.mark.parametrize(
    ("text", "clusters", "word", "expected"),
    [
        # The span's head is the wife; Mary is in apposition, and *His* is another person's.
        ("His wife Mary said she knew.", [["His wife Mary", "she"]], "wife", "His husband Mary said he knew."),
        (
            "Actress Mary Smith left. She wept.",
            [["Actress Mary Smith", "She"]],
            "She",
            "Actor Mary Smith left. He wept.",
        ),
        ("She is a mother.", [], "mother", "He is a father."),  # a predicate needs no cluster
        ("The aunt of the girl lost her hat.", [["the girl", "her"]], "aunt", "The uncle of the girl lost her hat."),
    ],
)
def test_a_word_belongs_to_the_mention_that_it_is_part_of(text, clusters, word, expected):
    assert rewriter(*clusters).rewrite_entity(text, word, "man") == expected


def test_words_without_a_cluster_are_people_of_their_own():
    doc = next(parse(["Mary met Anna."]))
    links = FastCoref(Stub())(doc, [(0, 4, "woman"), (9, 13, "woman")])
    assert links.marked_with(0) == {0}
    assert links.marked_with(9) == {9}
    assert FastCoref(Stub())([], []).marked_with(0) == set()


def test_a_text_is_read_by_the_model_once_for_all_axes():
    words = PerturbableWords([GENDER, load_lexicon("age")])
    model = Stub(["The old woman", "she"])
    words.linker = FastCoref(model)
    text = "The old woman said that she met a young man."
    assert {one.word for one in words.selections([text])[0]} == {"old woman", "woman", "she", "young man", "man"}
    assert model.texts == [text]


def test_a_linker_is_chosen_by_its_name(monkeypatch):
    asked = {}
    inner = SimpleNamespace(FCorefModel=type("FCorefModel", (), {}))
    package = ModuleType("fastcoref")
    package.__spec__ = ModuleSpec("fastcoref", None)
    package.FCoref = lambda **given: asked.update(given) or Stub()
    monkeypatch.setitem(sys.modules, "fastcoref", package)
    monkeypatch.setitem(sys.modules, "fastcoref.coref_models", ModuleType("fastcoref.coref_models"))
    monkeypatch.setitem(sys.modules, "fastcoref.coref_models.modeling_fcoref", inner)
    assert load_linker("rules") is Coreference
    load_linker.cache_clear()
    made = load_linker("fastcoref:a/folder")
    assert isinstance(made, FastCoref)
    assert asked["model_name_or_path"] == "a/folder"
    assert asked["nlp"].pipe_names == []  # it only tokenizes
    assert asked["enable_progress_bar"] is False
    assert load_linker("fastcoref:a/folder") is made
    load_linker.cache_clear()
    with pytest.raises(FairlabError, match="use mode=syntax, or person=one"):
        RuleRewriter(GENDER, mode="lexical", linker="fastcoref")


def test_of_two_spans_with_one_head_the_shorter_decides():
    doc = tree("the/DT/det/woman woman/NN/nsubj/saw in/IN/prep/woman red/NN/pobj/in saw/VBD/ROOT her/PRP/dobj/saw")
    her = (doc[5].idx, doc[5].idx + 3)
    for clusters in ([[(0, 9), her], [(0, 16)]], [[(0, 16)], [(0, 9), her]]):
        links = ClusterLinks(doc, [], clusters)
        assert links.at(4) is links.at(her[0]) is not None
