"""Shortcut space against the definitions written out in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.metrics import shortcuts, token_ids
from fairlab.metrics.shortcuts import EmbeddingSpace, TokenSpace, positions
from fairlab.metrics.shortcuts_official import OfficialSpace
from fairlab.types import FairlabError

TEXTS = ["a b c", "a not b", "c not", "a c b b", "d", "b a"]
LABELS = ["yes", "no", "no", "yes", "no", "yes"]


def tau(pos, width, pe):
    def angle(k):
        return pos / 10_000 ** ((2 * k if pe == "paper" else 2 * (k // 2)) / width)

    return [math.sin(angle(k)) if k % 2 == 0 else math.cos(angle(k)) for k in range(width)]


def cosine(one, other):
    norms = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / norms if norms else 0.0


def plain_vectors(texts, width, pe="paper"):
    """g by equations 7-10, token by token."""
    documents = [text.split() for text in texts]
    df = Counter(token for document in documents for token in set(document))
    found = []
    for document in documents:
        g = [0.0] * width
        for j, token in enumerate(document, start=1):
            weight = document.count(token) / len(document) * math.log(len(documents) / df[token])
            g = [old + weight * new for old, new in zip(g, tau(j, width, pe), strict=True)]
        found.append([value / max(1, len(document) - 1) for value in g])
    return found


def plain_gamma(vectors, labels):
    """Equation 12 over all pairs."""
    found = []
    for one, label in zip(vectors, labels, strict=True):
        others = [cosine(one, other) for other, name in zip(vectors, labels, strict=True) if name != label]
        found.append(1 - sum(others) / len(others))
    return found


def plain_official(texts, labels, width):
    """The released code's maps of tokens, as dictionaries."""

    def f(text):
        tokens = text.split()
        maps = {}
        for place, token in enumerate(tokens):
            maps.setdefault(token, [tokens.count(token) / len(tokens)] * width)
            maps[token] = [a * b for a, b in zip(maps[token], tau(place, width, "vaswani"), strict=True)]
        return maps

    vocabulary = {token for text in texts for token in text.split()}
    found = []
    for text, label in zip(texts, labels, strict=True):
        others = [f(other) for other, name in zip(texts, labels, strict=True) if name != label]
        mean = {
            token: [sum(m.get(token, [0] * width)[k] for m in others) / len(others) for k in range(width)]
            for token in vocabulary
        }
        found.append(1 - sum(cosine(m, mean[token]) for token, m in f(text).items()) / len(vocabulary))
    return found


def test_position_encodings_by_hand():
    # Equation 9 as printed: exponent 2k / 4 = k / 2, so dimension 1 is divided by 100 and dimension 2 by 10,000.
    assert positions(2, 4)[1] == pytest.approx([math.sin(2), math.cos(0.02), math.sin(2e-4), math.cos(2e-6)])
    # Vaswani et al.: dimensions 0 and 1 share a frequency, and 2 and 3.
    found = positions(1, 4, "vaswani", first=3)[0]
    assert found == pytest.approx([math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)])
    assert positions(1, 1).tolist() == [[math.sin(1)]]
    for width, pe in ((4, "other"), (0, "paper")):
        with pytest.raises(FairlabError, match="must be paper or vaswani, of 1 dimension or more"):
            positions(1, width, pe)


@pytest.mark.parametrize("pe", ["paper", "vaswani"])
def test_vectors_scores_and_objective_are_the_definitions(pe):
    space = TokenSpace(TEXTS, LABELS, width=6, pe=pe, tokenize=str.split)
    vectors = plain_vectors(TEXTS, 6, pe)
    assert space.vectors(np.arange(6)) == pytest.approx(np.array(vectors), abs=1e-12)
    assert space.gamma() == pytest.approx(plain_gamma(vectors, LABELS), abs=1e-12)
    cross = [
        cosine(vectors[i], vectors[j]) for i in range(6) for j in range(6) if (LABELS[i], LABELS[j]) == ("yes", "no")
    ]
    assert space.objective == pytest.approx(sum(cross) / len(cross), abs=1e-12)
    assert space.pairs == 9


def test_encodings_have_128_dimensions_by_default():
    assert TokenSpace(TEXTS, LABELS).vectors(np.arange(6)).shape == (6, 128)


def test_vectors_of_documents_are_made_in_blocks():
    blocks = TokenSpace(TEXTS, LABELS)._blocks(np.arange(40_000))
    assert [len(block) for block in blocks] == [16_384, 16_384, 7_232]


def test_three_labels_are_one_against_the_rest():
    labels = ["x", "y", "z", "x", "y", "z"]
    space = TokenSpace(TEXTS, labels, width=4, tokenize=str.split)
    vectors = plain_vectors(TEXTS, 4)
    assert space.gamma() == pytest.approx(plain_gamma(vectors, labels), abs=1e-12)
    pairs = [cosine(vectors[i], vectors[j]) for i in range(6) for j in range(i) if labels[i] != labels[j]]
    assert space.objective == pytest.approx(sum(pairs) / 12, abs=1e-12)


def test_the_official_score_is_the_codes():
    space = OfficialSpace(TEXTS, LABELS, tokenize=str.split)
    gamma = plain_official(TEXTS, LABELS, 8)
    assert space.gamma() == pytest.approx(gamma, abs=1e-12)
    assert [space.score(k, text) for k, text in enumerate(TEXTS)] == pytest.approx(gamma, abs=1e-12)
    assert space.sums.shape == (2, 5, 8)
    assert space.score(0, "unseen") == 1
    assert (space.sums.shape, space.held.shape) == ((2, 6, 8), (2, 6))
    assert space.objective == pytest.approx(1 - sum(gamma) / 6, abs=1e-12)


@pytest.mark.parametrize("kind", [TokenSpace, OfficialSpace])
def test_blocks_of_documents_give_what_all_at_once_give(monkeypatch, kind):
    whole = kind(TEXTS, LABELS, tokenize=str.split)
    for module in (shortcuts, token_ids):
        monkeypatch.setattr(module, "BLOCK", 4)
    parts = kind(TEXTS, LABELS, tokenize=str.split)
    assert parts.gamma() == pytest.approx(whole.gamma(), abs=1e-12)
    assert parts.objective == pytest.approx(whole.objective, abs=1e-12)


def random_texts(n, seed, words=4_000):
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.zipf(1.3, size=(n, 20)), words)
    return [" ".join(f"w{rank}" for rank in row[: rng.integers(1, 21)]) for row in ranks]


def test_two_thousand_documents_equal_the_quadratic_form():
    texts = random_texts(2_000, 0)
    labels = np.random.default_rng(1).integers(0, 3, 2_000)
    space = TokenSpace(texts, labels.tolist(), tokenize=str.split)
    vectors = space.vectors(np.arange(2_000))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    other = labels[:, None] != labels[None]
    cosines = units @ units.T
    assert np.abs(space.gamma() - (1 - (cosines * other).sum(1) / other.sum(1))).max() < 1e-9
    assert abs(space.objective - cosines[other].mean()) < 1e-9


WORDS = st.lists(st.sampled_from("a b c d not".split()), min_size=0, max_size=6).map(" ".join)


@settings(max_examples=60)
@given(
    st.lists(WORDS, min_size=4, max_size=9), st.lists(st.tuples(st.integers(0, 3), WORDS | st.just("e f")), max_size=5)
)
@pytest.mark.parametrize("kind", [TokenSpace, OfficialSpace])
def test_replacing_documents_is_building_anew(kind, texts, replacements):
    labels = [k % 2 for k in range(len(texts))]
    space = kind(texts, labels, tokenize=str.split)
    for document, text in replacements:
        space.replace(document, text)
        texts[document] = text
    anew = kind(texts, labels, tokenize=str.split)
    assert space.gamma() == pytest.approx(anew.gamma(), abs=1e-9)
    assert space.objective == pytest.approx(anew.objective, abs=1e-9)


def test_a_replacement_that_touches_few_documents_is_building_anew():
    texts = random_texts(300, 2, words=3_000)
    labels = [k % 2 for k in range(300)]
    space = TokenSpace(texts, labels, tokenize=str.split)
    for k in (5, 17, 5):
        texts[k] = f"rare{k} unseen words"
        space.replace(k, texts[k])
    anew = TokenSpace(texts, labels, tokenize=str.split)
    assert space.gamma() == pytest.approx(anew.gamma(), abs=1e-9)


def test_the_score_of_a_candidate_counts_its_own_tokens_and_leaves_the_others():
    space = TokenSpace(TEXTS, LABELS, width=4, tokenize=str.split)
    vectors = plain_vectors(TEXTS, 4)
    # In document 1, "a not d": "not" is in as many documents as before (2), "d" in one more (2), "a" in 4 of 6.
    idf = [math.log(6 / 4), math.log(6 / 2), math.log(6 / 2)]
    g = [sum(w / 3 * t[k] for w, t in zip(idf, [tau(p, 4, "paper") for p in (1, 2, 3)], strict=True)) for k in range(4)]
    others = [cosine(g, vectors[k]) for k in range(6) if LABELS[k] == "yes"]
    assert space.score(1, "a not d") == pytest.approx(1 - sum(others) / 3, abs=1e-12)
    assert space.score(1, TEXTS[1]) == pytest.approx(space.gamma()[1], abs=1e-12)
    assert space.score(1, "") == 1.0


def test_embeddings_in_place_of_tokens():
    vectors = {"u": [1.0, 0.0], "v": [0.0, 2.0], "w": [1.0, 1.0]}
    space = EmbeddingSpace(["u", "v", "w"], [0, 1, 1], lambda texts: np.array([vectors[text] for text in texts]))
    half = math.sqrt(0.5)
    assert space.gamma() == pytest.approx([1 - half / 2, 1.0, 1 - half])
    assert space.score(0, "v") == pytest.approx(1 - (1 + half) / 2)
    space.replace(0, "w")
    assert space.objective == pytest.approx((half + 1) / 2)


def test_what_cannot_be_told_apart():
    same = TokenSpace(["a b"] * 4, [0, 1, 0, 1])
    assert same.gamma() == pytest.approx([1.0] * 4)  # every idf is 0, so is every vector
    single = TokenSpace(["a", "b", "c", "a"], [0, 1, 0, 1], width=4)
    assert single.gamma() == pytest.approx([0.0] * 4)  # one token in position 1 each: one direction
    assert TokenSpace(["", "a", "b"], [0, 0, 1]).gamma()[0] == 1.0
    assert OfficialSpace(["", ""], [0, 1]).gamma().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("texts", "labels", "what"), [(["a", "b"], [1, 1], "the label 1 alone"), ([], [], "no document")]
)
def test_one_label_is_refused(texts, labels, what):
    with pytest.raises(FairlabError, match=f"two labels or more, but there is {what}"):
        TokenSpace(texts, labels)
