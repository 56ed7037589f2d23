"""What is rewritten without a parse is rewritten as a parse would have it."""

import random

import pytest

from experiments.rewriting.natural import sentences
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.certain import certain_mentions
from fairlab.rewriting.english.edits import apply_edits
from fairlab.rewriting.english.everybody import Exchanged, WholeText
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.pipeline import parse

REWRITERS = {axis: RuleRewriter(load_lexicon(axis)) for axis in ("gender", "race", "age")}
SOURCES = ["glue/SNLI/validation.tsv", "glue/RTE/dev.tsv", "corpora/imdb_sample/imdb_test_sample.jsonl"]
SOURCES += ["corpora/bold_wikipedia/gender_wiki.json", "corpora/bold_wikipedia/race_wiki.json"]


def plainly(rewriter, texts, choice):
    """Every text parsed, its entities too, and turned."""
    made = []
    for text, doc in zip(texts, parse(texts, entities=True), strict=True):
        syntax = Syntax(doc)
        chosen = choice(rewriter.finder.find(text, syntax), text, syntax)
        made.append(apply_edits(text, rewriter.edits(text, syntax, chosen)))
    return made


def real_sentences(number):
    return [text for source in SOURCES for _, text in random.Random(source).sample(sorted(sentences(source)), number)]


CHOICES = [("gender", WholeText(target)) for target in ("man", "woman", "neutral")]
CHOICES += [
    ("race", WholeText("black")),
    ("age", WholeText("senior")),
    ("gender", Exchanged({"man": "woman", "woman": "man"})),
]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.long
def test_real_sentences_are_rewritten_as_if_all_were_parsed():
    texts = real_sentences(80)
    for axis, choice in CHOICES:
        rewriter = REWRITERS[axis]
        if isinstance(choice, Exchanged):
            made = rewriter.swap_all(texts)
        else:
            made = rewriter.rewrite_all(texts, [choice.target] * len(texts))
        expected = plainly(rewriter, texts, choice)
        assert [pair for pair in zip(made, expected, strict=True) if pair[0] != pair[1]] == []
        assert made != texts


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.long
def test_one_person_of_a_real_sentence_is_rewritten_as_if_it_were_parsed():
    texts = real_sentences(40)
    found = PerturbableWords([load_lexicon("gender")]).selections(texts)
    chosen = [(text, [(one.start, one.target)]) for text, some in zip(texts, found, strict=True) for one in some]
    texts, selections = zip(*chosen, strict=True)
    made = REWRITERS["gender"].rewrite_entities(texts, selections)
    parsed = list(parse((read_cased(text).text for text in texts), entities=True))
    assert made == REWRITERS["gender"].rewrite_entities(texts, selections, parsed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He saw his dog.", ["He", "his"]),
        ("The car is his.", ["his"]),
        ("A man in a coat left.", ["man"]),
        ("They said that she left.", ["she"]),  # beside a woman's word neutral ones stay as they are
        ("He and her friend.", ["He", "her"]),
        ("She gave her milk.", []),  # her milk, or milk for her
        ("A man child left.", []),  # of a child
        ("Man the boats.", []),
        ("Mary said he left.", []),  # a name asks for a parse
        ("The s-he left.", []),
        ("They left.", []),  # nothing marks an attribute
        ("-he left.", []),
        ("An old man in red.", []),
        ("A lord in red.", []),  # or God
    ],
)
def test_certain_mentions_by_hand(text, words):
    rewriter = REWRITERS["gender"]
    found = certain_mentions(text, rewriter.finder.listed(text), rewriter.vocabulary.lexicon.polysemous)
    assert [mention.found for mention in found] == words
    assert all(mention.returns == (mention.sense.pos == "pronoun") for mention in found)


def test_only_what_may_change_and_is_not_certain_is_parsed(monkeypatch):
    asked = []

    def watched(texts, **options):
        asked.extend(texts := list(texts))
        return parse(texts, **options)

    monkeypatch.setattr("fairlab.rewriting.english.syntax.parse", watched)
    texts = ["It rained.", "She left.", "He left.", "A man in red saw him.", "He walked his aunt's dog.", "They left."]
    made = REWRITERS["gender"].rewrite_all(texts, ["woman"] * len(texts))
    assert made[:5] == ["It rained.", "She left.", "She left.", "A woman in red saw her.", "She walked her aunt's dog."]
    assert asked == ["He walked his aunt's dog.", "They left."]
    asked.clear()
    assert REWRITERS["gender"].versions(["He walks."], ["neutral", "man", "woman"]) == [
        ["They walk.", "He walks.", "She walks."]
    ]
    assert asked == ["He walks."]


@pytest.mark.parametrize(
    ("text", "selected", "expected", "parsed"),
    [
        ("A man left.", [("man", "woman")], "A woman left.", True),
        ("A man in red left.", [("man", "woman")], "A woman in red left.", False),
        ("A man in red left.", [("man", "man")], "A man in red left.", False),
        ("A man in red left.", [("red", "woman")], "A man in red left.", True),
        ("A man in red left.", [("man", "woman"), ("man", "neutral")], "A woman in red left.", True),
        ("He left.", [("He", "woman")], "She left.", False),
        ("He left.", [("He", "neutral")], "They left.", True),
        ("He saw his dog.", [("He", "woman")], "She saw her dog.", True),
    ],
)
def test_one_person_is_parsed_unless_their_only_word_is_certain(monkeypatch, text, selected, expected, parsed):
    asked = []

    def watched(texts, **options):
        asked.extend(texts := list(texts))
        return parse(texts, **options)

    monkeypatch.setattr("fairlab.rewriting.english.syntax.parse", watched)
    assert REWRITERS["gender"].rewrite_entities([text], [selected]) == [expected]
    assert asked == [text] * parsed
