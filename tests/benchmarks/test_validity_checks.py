"""Checks of the gate on planted models: what is found on either side of each limit."""

from contextlib import nullcontext
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
import torch
from torch import nn

from fairlab.backbones.model_object import ModelObject
from fairlab.benchmarks import validity as gate
from fairlab.benchmarks.validity import embeddings, senses, tokens, validity, weights
from fairlab.benchmarks.validity.finding import failed
from fairlab.benchmarks.validity.texts import ORDERS, PARAPHRASES, PLACES, SENSES, SENTENCES


def kinds(findings):
    return [one.weight.value for one in findings]


@pytest.mark.parametrize(
    ("of_sentences", "own", "found"),
    [
        # The twin is at 0.5: 0.57 is 0.14 of the way from there to 1.
        (False, 0.57, ["failed"]),
        (False, 0.58, ["not judged"]),
        (False, 0.62, ["not judged"]),
        (False, 0.63, []),
        (True, 0.74, ["failed"]),
        (True, 0.76, []),
    ],
)
def test_layers_must_distinguish_senses_better_than_the_twin(monkeypatch, of_sentences, own, found):
    assert kinds(checked_senses(monkeypatch, of_sentences=of_sentences, shares=[own, 0.5])) == found


def checked_senses(monkeypatch, *, of_sentences=False, shares=(0.9, 0.5), differ=(True, True), **more):
    """Findings of the check of senses, whose parts are planted."""
    differ, shares, places = iter(differ), iter(shares), iter([-2, 1])
    parts = {"_places": lambda _: [1], "_keeps_length": lambda _: True, "shuffled_twin": lambda _: nullcontext()}
    parts |= {
        "_differ": lambda *_, place: place == next(places) and next(differ),
        "_is_of_sentences": lambda _: of_sentences,
    }
    parts |= {"_share": lambda *_: next(shares), **more}
    for name, part in parts.items():
        monkeypatch.setattr(senses, name, part)
    published = parts.get("published")
    return list(senses.check_senses(SimpleNamespace(published=published)))


def test_models_whose_senses_cannot_be_checked(monkeypatch):
    monkeypatch.setattr(senses, "published", None, raising=False)
    assert kinds(checked_senses(monkeypatch, differ=[False])) == ["failed"]
    assert checked_senses(monkeypatch, differ=[True, False], shares=[]) == []
    assert checked_senses(monkeypatch, differ=[], _places=lambda _: None) == []
    assert checked_senses(monkeypatch, differ=[], _keeps_length=lambda _: False) == []
    assert kinds(checked_senses(monkeypatch, published="mean")) == ["not judged"]
    assert checked_senses(monkeypatch, published="mean", of_sentences=True, shares=[0.9, 0.5]) == []
    assert kinds(checked_senses(monkeypatch, shares=[1.0, 1.0])) == ["failed"]  # a twin without a fault


def test_shares_of_senses_by_hand(monkeypatch):
    # Four uses of each word, two in each sense. One layer knows the senses, whatever their lengths; one puts the first
    # uses together instead. In the last layer, cosines of one sense are 0.64 and -0.94, of others 0.98, -0.98, 0.77
    # and -0.5: two of them are below the one, and one is below the other.
    east, north, far = [1.0, 0.0], [0.0, 1.0], [9.0, 9.0]
    sound, mixed = [east, east, far, far], [east, north, east, north]
    turned = [[float(np.cos(angle)), float(np.sin(angle))] for angle in np.radians([0, 50, 10, 170])]
    layers = [torch.tensor(rows * len(SENSES)) for rows in ([east] * 4, sound, mixed, turned)]
    states = [torch.stack([torch.zeros_like(rows), rows], dim=1) for rows in layers]  # at place 1
    monkeypatch.setattr(senses, "_states", lambda backbone, texts: states)
    assert senses._share(None, [1] * 4 * len(SENSES)) == pytest.approx((1 + 0 + 3 / 8) / 3)
    assert senses._keeps_length(None)
    states[1] = states[1][:, :1]
    assert not senses._keeps_length(None)


@pytest.mark.parametrize(("change", "differs"), [(2e-5, True), (0.5e-5, False)])
def test_states_differ_by_more_than_rounding(monkeypatch, change, differs):
    states = torch.full((2, 4, 1), 4.0)  # of three and four tokens, so that the last but one is at 1 and at 2
    states[0, 1] = 4 * (1 + change)
    states[0, 2] = states[1, 1] = 7
    monkeypatch.setattr(senses, "_states", lambda backbone, texts: [None, states])
    tokenized = SimpleNamespace(tokenize=lambda texts: [[1, 2, 3], [1, 2, 3, 4]])
    assert senses._differ(tokenized, ["a", "b"], place=-2) == differs


@pytest.mark.parametrize(("strength", "trained"), [(2.38, False), (2.5, True)])
def test_sentence_embeddings_are_stronger_than_words_if_trained_for_sentences(monkeypatch, strength, trained):
    strengths = iter([strength, 2.0])
    monkeypatch.setattr(senses, "paraphrase_strength", lambda _: next(strengths))
    monkeypatch.setattr(senses, "word_means", lambda _: None)
    assert senses._is_of_sentences(SimpleNamespace(embed=lambda texts: None)) == trained


def test_an_ambiguous_word_is_found_among_the_tokens(tiny):
    places = senses._places(tiny)
    words = [word for word, *_ in SENSES for _ in range(4)]
    for text, word, place in zip(senses._texts(), words, places, strict=True):
        token = tiny.tokenizer.convert_ids_to_tokens(tiny.tokenize([text])[0][place])
        assert word.startswith(token.removeprefix("##")), text
    tiny.max_length = 4
    assert senses._places(tiny) is None


class Vectors:
    """Encoder of planted vectors by text; others are random, and a batch may change the first."""

    def __init__(self, planted=None, scale=1.0, padding=0.0):
        self.planted, self.scale, self.padding = planted or {}, scale, padding

    def embed(self, texts, **_):
        rows = [self.planted.get(text, self.drawn(text)) for text in texts]
        found = torch.stack(rows) * self.scale + (self.scale < 1)
        if len(texts) == 2:
            found[0, 0] += self.padding
        return found

    def drawn(self, text):
        generator = torch.Generator().manual_seed(crc32(text.encode()))
        return nn.functional.normalize(torch.randn(64, generator=generator), dim=0)

    def remembering(self):
        return nullcontext()


@pytest.mark.parametrize(
    ("encoder", "found"),
    [
        (Vectors(), []),
        (Vectors({SENTENCES[2]: torch.full((64,), torch.nan)}), ["refused"]),
        (Vectors({SENTENCES[1]: Vectors().drawn(SENTENCES[0]) * (1 + 0.8e-6)}, scale=4.0), ["refused"]),
        (Vectors({SENTENCES[1]: Vectors().drawn(SENTENCES[0]) * (1 + 1.5e-6)}), []),
        (Vectors(scale=0.0150), ["failed"]),  # around a vector of length 8; a spread of 0.00186
        (Vectors(scale=0.0200), []),
        (Vectors(padding=0.09), []),
        (Vectors(padding=0.14), ["failed"]),
    ],
)
def test_embeddings_are_finite_and_spread_and_blind_to_padding(monkeypatch, encoder, found):
    monkeypatch.setattr(embeddings, "paraphrase_share", lambda _: 0.75)
    assert kinds(embeddings.check_embeddings(encoder)) == found


@pytest.mark.parametrize(("share", "found"), [(0.61, ["failed"]), (0.62, ["not judged"]), (0.74, ["not judged"])])
def test_paraphrases_are_nearer_than_other_sentences(monkeypatch, share, found):
    monkeypatch.setattr(embeddings, "paraphrase_share", lambda _: share)
    assert kinds(embeddings.check_embeddings(Vectors())) == found


@pytest.mark.parametrize(
    ("change", "padding", "found"), [(1.8e-3, 0.19, ["failed"]), (3e-3, 0.19, []), (3e-3, 0.21, ["failed"])]
)
def test_another_order_changes_embeddings_by_more_than_rounding_and_padding_by_less(change, padding, found):
    step = nn.functional.one_hot(torch.tensor(0), 64) * change
    planted = {text: Vectors().drawn(pair[0]) + k * step for pair in ORDERS for k, text in enumerate(pair)}
    assert kinds(embeddings._check_changes(Vectors(planted, padding=padding), 2.0)) == found


@pytest.mark.parametrize(
    ("share", "twins", "found"),
    [(0.63, 0.5, []), (0.62, 0.5, ["failed"]), (0.7, 0.7, ["failed"]), (0.71, 0.7, [])],
)
def test_words_separate_paraphrases_better_than_shuffled_words(monkeypatch, tiny, share, twins, found):
    shares = iter([share, *[0.5] * 19, twins])
    monkeypatch.setattr(embeddings, "paraphrase_share", lambda _: next(shares))
    assert kinds(embeddings.check_words(tiny)) == found
    assert not list(shares)


@pytest.mark.parametrize(("tokens_per_word", "found"), [(2, []), (3, ["not judged"])])
def test_tokens_that_are_letters_are_not_judged(monkeypatch, tokens_per_word, found):
    shares = iter([0.9] + [0.5] * 20)
    monkeypatch.setattr(embeddings, "paraphrase_share", lambda _: next(shares))
    model = SimpleNamespace(get_input_embeddings=lambda: nn.Embedding(9, 4))
    backbone = SimpleNamespace(
        tokenizer=SimpleNamespace(all_special_ids=[1]),
        tokenize=lambda texts: [[1, *[2] * tokens_per_word * len(text.split())] for text in texts],
        model=model,
    )
    assert kinds(embeddings.check_words(backbone)) == found


def test_shares_and_strength_of_paraphrases_by_hand(monkeypatch):
    # Of two sentences by row: 0.9 with its own paraphrase and 0.1 with the other's; 0.3 and 0.7.
    table = torch.tensor([[0.9, 0.1], [0.3, 0.7]])
    monkeypatch.setattr(embeddings, "_similarities", lambda _: table)
    assert embeddings.paraphrase_strength(None) == pytest.approx((0.8 - 0.2) / (0.1 * 2**0.5))
    # 0.5 is below 0.6 by row, and above 0.4 by column; 0.7 is above both.
    table = torch.tensor([[0.5, 0.6], [0.4, 0.7]])
    assert embeddings.paraphrase_share(None) == pytest.approx(3 / 4)


def test_similarities_of_directions_around_their_mean():
    # Of length 1, two and two are alike; around their mean they point in opposite directions.
    found = embeddings._similarities(torch.tensor([[2.0, 0.0], [0.0, 3.0], [5.0, 0.0], [0.0, 1.0]]))
    assert found.flatten().tolist() == pytest.approx([-1] * 4)


def test_means_of_words_leave_out_special_tokens_unless_there_are_no_others():
    rows = torch.tensor([[0.0, 0.0], [8.0, 8.0], [1.0, 2.0], [3.0, 6.0]])
    tokenize = lambda texts: [[1, 2, 3], [1], *[[2]] * (len(texts) - 2)]  # noqa: E731
    model = SimpleNamespace(get_input_embeddings=lambda: SimpleNamespace(weight=rows))
    backbone = SimpleNamespace(tokenizer=SimpleNamespace(all_special_ids=[1]), tokenize=tokenize, model=model)
    assert embeddings.word_means(backbone)[:3].tolist() == [[2.0, 4.0], [8.0, 8.0], [1.0, 2.0]]


class Tokenizer:
    """Tokenizer by word: known words have ids from 2, others 1; every text begins with 0."""

    unk_token_id, all_special_ids, all_special_tokens = 1, [0, 1], ["<s>", "<unk>"]

    def __init__(self, words, lower=False):
        self.words, self.lower = {word: k + 2 for k, word in enumerate(words)}, lower

    def get_vocab(self):
        return {"<s>": 0, "<unk>": 1} | self.words

    def __len__(self):
        return len(self.get_vocab())

    def read(self, texts):
        return [
            [0, *(self.words.get(word, 1) for word in (text.lower() if self.lower else text).split())] for text in texts
        ]


def checked_tokens(words, rows=None, **more):
    tokenizer = Tokenizer(words, **more)
    weight = torch.zeros(len(tokenizer) if rows is None else rows, 2)
    model = SimpleNamespace(get_input_embeddings=lambda: SimpleNamespace(weight=weight))
    return tokens.check_tokens(SimpleNamespace(tokenizer=tokenizer, tokenize=tokenizer.read, model=model))


PLAIN = [word for text in SENTENCES for word in text.split()]
RARE = list(tokens.RARE)


def test_a_tokenizer_belongs_to_its_model_and_knows_english():
    known = [*dict.fromkeys([*PLAIN, *(word.lower() for word in PLAIN), *RARE])]
    assert kinds(checked_tokens(known)) == []
    assert kinds(checked_tokens(known, rows=len(known) + 1)) == ["refused"]
    assert kinds(checked_tokens([])) == ["refused"]
    assert kinds(checked_tokens(known[: -len(RARE)])) == ["not judged"]
    words = [*dict.fromkeys(PLAIN)]
    unknown = [sum(word not in words[:known] for word in PLAIN) for known in range(len(words))]
    enough = next(known for known, count in enumerate(unknown) if count <= len(PLAIN) / 2)
    assert "refused" not in kinds(checked_tokens([*words[:enough], *RARE]))
    assert "refused" in kinds(checked_tokens([*words[: enough - 1], *RARE]))


def test_a_tokenizer_treats_capitals_as_its_vocabulary_does():
    lower = [*dict.fromkeys([*(word.lower() for word in PLAIN), *RARE])]
    assert kinds(checked_tokens(lower)) == ["failed"]  # it keeps capitals that no word has
    plain = [f"w{k}" for k in range(200)]
    for more, found in ((4, []), (8, ["failed"])):  # of about 250 words with capitals 1.6 and 3.2 %
        marks = [f"[UNUSED{k}]" for k in range(30)]  # which are no words
        words = [*(word for word in lower if word == word.lower()), *plain, *(f"W{k}" for k in range(more)), *marks]
        assert 0.01 < more / (len(words) - len(marks)) < 0.04
        assert [one for one in kinds(checked_tokens(words, lower=True)) if one == "failed"] == found


def test_matrices_too_narrow_to_be_judged_and_parts_without_structure(monkeypatch):
    for shape, judged in (((64, 64), True), ((63, 64), False), ((64, 63), False), ((64, 64, 64), False)):
        assert weights._is_matrix(torch.zeros(shape)) == judged
    assert not weights._is_matrix(torch.zeros(64, 64, dtype=torch.int8))
    body = nn.ModuleDict({"layer": nn.ModuleList([nn.ModuleDict({"attention": square(), "output": square()})] * 2)})
    body["head"] = square()
    values = iter([1.04, 1.05, 1.06, 1.0])
    monkeypatch.setattr(weights, "structure", lambda _: next(values))
    assert weights.random_parts(body) == [(0, "attention")]
    assert next(values) == 1.06  # modules that are the same are one; the head is in no layer


@pytest.mark.parametrize(
    ("parts", "more", "found"),
    [
        ([(3, "attention")], {}, ["failed: the attention weights of layer 3"]),
        ([(3, "attention"), (3, "feed-forward")], {}, ["failed: the weights of layer 3"]),
        ([(5, "attention"), (3, "attention")], {}, ["failed: the attention weights of 2 layers"]),
        ([(3, "attention")], {"seq2seq": True}, []),  # a new one holds small random weights on purpose
        ([], {"unread": ["a", "b"]}, ["failed"]),
        ([], {"weight": torch.tensor([1.0, torch.inf])}, ["refused"]),
        ([], {"weight": torch.tensor([1])}, []),
    ],
)
def test_weights_are_finite_read_and_not_random(monkeypatch, parts, more, found):
    monkeypatch.setattr(weights, "random_parts", lambda _: parts)
    config = SimpleNamespace(is_encoder_decoder="seq2seq" in more)
    named = [("w", more.get("weight", torch.ones(2)))]
    backbone = SimpleNamespace(named_parameters=lambda: named, unread=more.get("unread", []), transformer=None)
    backbone.model = SimpleNamespace(config=config)
    said = list(weights.check_weights(backbone))
    assert [one.partition(":")[0] for one in found] == kinds(said)
    assert all(
        f"{kind}: {one.text}".startswith(place) for kind, one, place in zip(kinds(said), said, found, strict=True)
    )


def square():
    return nn.Linear(64, 64)


def test_structure_of_a_large_matrix_is_that_of_its_part():
    random = torch.randn(70, 4100, generator=torch.Generator().manual_seed(0))
    random[:, 1::2] = 0  # every other column is left out
    assert weights.structure(random) == pytest.approx(1.0, abs=0.05)
    assert weights.structure(random.T) == pytest.approx(1.0, abs=0.05)
    assert weights.structure(random[:, ::2]) == weights.structure(random)
    assert weights.structure(random[:, ::2] + 9) == pytest.approx(1.0, abs=0.05)  # around another mean


@pytest.mark.parametrize(("length", "judged"), [(23, False), (24, True)])
def test_a_model_of_few_tokens_is_not_judged(tiny, length, judged):
    tiny.max_length = length
    assert any("too few for the sentences" in one for one in validity(tiny).not_judged) != judged


CHECKS = ["check_weights", "check_tokens", "check_words", "check_embeddings", "check_senses", "check_language"]


@pytest.mark.parametrize(
    ("seq2seq", "published", "left_out"),
    [(False, None, []), (True, "mean", []), (True, None, ["check_embeddings", "check_senses"])],
)
def test_models_that_rewrite_are_not_checked_as_encoders(monkeypatch, seq2seq, published, left_out):
    for name in CHECKS:
        monkeypatch.setattr(gate, name, lambda _, name=name: iter([failed(name)]))
    model = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=seq2seq))
    found = gate._findings(SimpleNamespace(model=model, published=published, max_length=64))
    assert [one.text for one in found] == [name for name in CHECKS if name not in left_out]


def test_an_object_is_checked_by_what_it_offers(monkeypatch):
    monkeypatch.setattr(gate, "check_embeddings", lambda _: iter([failed("embeddings")]))
    monkeypatch.setattr(gate, "check_scorer", lambda scorer, vocabulary: iter([failed(f"{scorer} {vocabulary}")]))
    objects = ModelObject("m", encode=list), ModelObject("m", scorer="scorer")
    assert [validity(one).failures for one in objects] == [("embeddings",), ("scorer None",)]
    assert [one.gate for one in objects] == ["failed: embeddings", "failed: scorer None"]
    monkeypatch.setattr(gate, "check_embeddings", lambda _: iter(()))
    assert validity(objects[0]).not_judged
    assert objects[0].gate.startswith("passed; its weights")


def test_there_are_as_many_texts_as_the_limits_assume():
    assert (len(SENTENCES), len(PLACES), len(PARAPHRASES)) == (6, 24, 24)
