"""EDA: operations by hand, determinism, and texts with nothing to change."""

import random
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairlab.augmentation import eda as module
from fairlab.augmentation.eda import EDA, cleaned, near_words
from fairlab.types import FairlabError

SYNONYMS = {"film": ["movie"], "good": ["fine", "great"]}


def eda(alpha=0.1, num_aug=4, **more):
    made = EDA(alpha=alpha, num_aug=num_aug, synonyms="embeddings", **more)
    made.synonyms = lambda word: SYNONYMS.get(word, [])
    return made


def test_texts_are_reduced_to_words_in_letters():
    assert cleaned("It's a well-known film, of 1999!") == ["its", "a", "well", "known", "film", "of"]


@pytest.mark.parametrize("text", ["", "   ", "1999.", "日本"])
def test_a_text_without_letters_gives_nothing(text):
    assert eda().more(["evidence", text], "SUPPORTS") == []


def test_only_the_last_text_is_changed_and_the_label_stays():
    made = eda(num_aug=5).more(["Evidence stays.", "the film was good"], "REFUTES")
    assert len(made) == 5
    assert {(fields[0], label) for fields, label in made} == {("Evidence stays.", "REFUTES")}
    ((fields, _),) = eda(num_aug=1).more(["one text"], "x")
    assert len(fields) == 1


def test_all_occurrences_of_a_word_are_replaced_and_stop_words_are_not():
    words = "the film of the film".split()
    assert eda().replaced(words, random.Random(0)) == "the movie of the movie".split()
    assert eda(alpha=1).replaced("the of and".split(), random.Random(0)) == "the of and".split()


def test_insertions_are_synonyms():
    made = eda(alpha=0.5).inserted("a good film".split(), random.Random(0))
    assert len(made) == 4
    assert set(made) - {"a", "good", "film"} <= {"movie", "fine", "great"}
    assert eda().inserted(["the"], random.Random(0)) == ["the"]


@given(st.lists(st.sampled_from("a film was good and long".split()), min_size=1, max_size=12), st.integers(0, 99))
def test_swaps_keep_the_words_and_deletions_their_order(words, seed):
    assert sorted(eda(alpha=0.5).swapped(words, random.Random(seed))) == sorted(words)
    kept = eda(alpha=0.5).deleted(words, random.Random(seed))
    left = iter(words)
    assert kept
    assert all(word in left for word in kept)
    assert len(eda(alpha=1).deleted(words, random.Random(seed))) == 1


def test_copies_depend_on_the_seed_and_the_text_alone():
    command = (
        "from fairlab.augmentation.eda import EDA;"
        "e = EDA(alpha=.5, num_aug=4, synonyms='embeddings', seed={});"
        "e.synonyms = lambda word: ['x', 'y', 'z'];"
        "print(e.more(['one two three four five six'], 'a'))"
    )
    found = {
        subprocess.run([sys.executable, "-c", command.format(seed)], capture_output=True, text=True, check=True).stdout
        for seed in (0, 0, 1)
    }
    assert len(found) == 2


def test_near_words_of_the_embedded_encoder():
    made = EDA(alpha=0.1, num_aug=1, synonyms="embeddings")
    assert "movie" in made.synonyms("film")
    assert made.synonyms("film") == EDA(alpha=0.1, num_aug=1, synonyms="embeddings").synonyms("film")
    assert made.synonyms("qwzx") == []


def test_copies_use_every_operation_as_often_and_are_the_seeds():
    for number in (3, 4, 7, 8, 9):
        made = eda(num_aug=number)
        for name in ("replaced", "inserted", "swapped", "deleted"):
            setattr(made, name, lambda words, draw, name=name: [name])
        used = Counter(fields[0] for fields, _ in made.more(["one two"], "x"))
        assert used.total() == number
        assert max(used.values()) <= number // 4 + 1
    texts = [eda(**more).more(["a good film was shown here"], "x") for more in ({}, {"seed": 0}, {"seed": 1})]
    assert texts[0] == texts[1] != texts[2]


def test_a_proportion_of_the_words_is_changed():
    made = eda(alpha=0.5)
    made.synonyms = lambda word: ["x"]
    assert made.replaced("one two three four five".split(), random.Random(0)).count("x") == 2
    assert made.inserted("one two three four five".split(), random.Random(0)).count("x") == 2
    assert eda(alpha=0.1).swapped(["a", "b"], random.Random(0)) == ["b", "a"]
    ends = {tuple(eda().inserted(["film"], random.Random(seed))) for seed in range(30)}
    assert ends == {("movie", "film"), ("film", "movie")}
    half = SimpleNamespace(random=lambda: 0.5)
    assert made.deleted(["a", "b"], half) == ["a", "b"]


def test_ten_words_are_tried_for_an_insertion():
    made, tried = eda(), []
    made.synonyms = lambda word: tried.append(word) or []
    assert made.inserted(["one", "two"], random.Random(0)) == ["one", "two"]
    assert len(tried) == 10


def test_near_words_are_the_most_frequent_whole_words_of_three_letters_or_more(monkeypatch):
    """All words but the first and the last have nearly one direction; a cosine of 0.55 is the least."""
    words = ["far", "ab", "film", "##ing", "été", "x1y", "movie", "cats", "edge", "out"]
    vectors = torch.tensor([[0.0, 1.0], *[[1.0, 0.01 * k] for k in range(7)], [0.56, 0.83], [0.54, 0.84]])
    embeddings = SimpleNamespace(weight=vectors)
    encoder = SimpleNamespace(
        tokenizer=SimpleNamespace(get_vocab=lambda: {word: k for k, word in sorted(enumerate(words), reverse=True)}),
        model=SimpleNamespace(get_input_embeddings=lambda: embeddings),
    )
    monkeypatch.setattr(module, "embedded_encoder", lambda name: encoder)
    assert set(near_words()("film")) == {"movie", "cats", "edge"}
    monkeypatch.setattr(module, "COMMON", 3)
    assert near_words()("film") == ["movie"]


@pytest.mark.parametrize(
    ("kind", "installed", "found"),
    [
        ("wordnet", True, "wordnet"),
        ("auto", True, "wordnet"),
        ("auto", False, "near"),
        ("embeddings", True, "near"),
        ("wordnet", False, None),
    ],
)
def test_synonyms_are_wordnets_if_it_is_installed_and_not_ruled_out(monkeypatch, kind, installed, found):
    def wordnet():
        if not installed:
            raise LookupError("no corpus")
        return "wordnet"

    monkeypatch.setattr(module, "WordNetSynonyms", wordnet)
    monkeypatch.setattr(module, "near_words", lambda name: "near")
    made = EDA(alpha=0.1, num_aug=1, synonyms=kind)
    if found:
        assert made.synonyms == found
    else:
        with pytest.raises(FairlabError, match="WordNet is not installed"):
            _ = made.synonyms
