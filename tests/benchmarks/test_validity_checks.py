"""Checks of the gate on planted models: what is found on either side of each limit."""

from contextlib import nullcontext
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
import torch
from torch import nn

from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.benchmarks.validity import embeddings, language, senses, tokens, validity, weights
from fairlab.benchmarks.validity.texts import ORDERS, PARAPHRASES, PLACES, SENSES, SENTENCES

HALF = len(SENTENCES)
PAIRS = len(PLACES) // 2


def kinds(findings):
    return [one.weight.value for one in findings]


class Planted:
    """Scorer with a loss on plain and on shuffled sentences, and a number of pairs of words right in their places."""

    def __init__(self, plain=2.0, shuffled=3.0, right=PAIRS):
        self.losses, self.right = np.repeat([plain, shuffled], HALF), right

    def log_likelihoods(self, texts):
        if len(texts) == 2 * HALF:
            assert [sorted(one.split()) for one in texts[:HALF]] == [sorted(one.split()) for one in texts[HALF:]]
            assert not set(texts[:HALF]) & set(texts[HALF:])
            return LogLikelihoods(-2 * self.losses, np.full(len(texts), 2))
        own = [text.format(word) for text, word in PLACES] == list(texts)
        gained = [[0.0, 2.0], [1.5, 0.0]] if own else [[1.5, 0.0], [0.0, 2.0]]  # of a pair: 2, and 1.5
        return LogLikelihoods(np.concatenate([gained[k >= self.right] for k in range(PAIRS)]), np.ones(len(texts)))


@pytest.mark.parametrize(
    ("scorer", "vocabulary", "found"),
    [
        (Planted(plain=4.1, shuffled=9), 100, []),  # the loss of a guess is 4.605 nats; nine tenths of it are 4.145
        (Planted(plain=4.2, shuffled=9), 100, ["failed"]),
        (Planted(plain=4.2, shuffled=9), None, []),
        (Planted(plain=3, shuffled=3), 100, ["failed"]),
        (Planted(plain=3, shuffled=2.9), None, ["failed"]),
        (Planted(right=8), None, ["failed"]),  # of twelve pairs 67 %
        (Planted(right=9), None, ["not judged"]),
        (Planted(right=10), None, ["not judged"]),  # 83 %
        (Planted(right=11), None, []),
    ],
)
def test_a_language_model_must_be_better_than_chance(scorer, vocabulary, found):
    assert kinds(language.check_scorer(scorer, vocabulary)) == found


class PlantedMask(MaskedLM):
    """Masked LM whose words have a loss behind each special token: the mask 1, others 2 to 7; letters are tokens."""

    mask_id = 1

    def __init__(self, losses):
        self.losses = losses
        named = {1: "[MASK]", 2: "[a]", 3: "[b]", 4: "[c]", 5: "[d]", 6: "[e]", 7: "<mask>"}
        special = {number: SpecialToken(name) for number, name in named.items()}
        plain = SimpleNamespace(special=False)
        tokenizer = SimpleNamespace(added_tokens_decoder=special | {8: plain}, mask_token="[MASK]")
        self.backbone = SimpleNamespace(tokenizer=tokenizer)

    def tokenize(self, texts):
        return [[100 + ord(letter) for letter in " ".join(text.split())] for text in texts]

    def pseudo_log_likelihoods(self, token_ids, positions=None):
        return Planted().log_likelihoods(["".join(chr(token - 100) for token in ids) for ids in token_ids])

    def log_probabilities(self, queries):
        for query in queries:
            assert [query.token_ids[query.position]] == [one for one in query.token_ids if one < 100]
            assert query.target >= 100
        return np.array([-self.losses.get(one.token_ids[one.position], 9.0) for one in queries])


class SpecialToken(str):
    special = True


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ({1: 3.0, 2: 2.0}, None),  # by one nat, and no more
        ({1: 3.1, 2: 2.0}, "[a]"),
        ({1: 3.1, 7: 2.0}, "<mask>"),  # tokens named masks come first
        ({1: 3.1, 4: 2.0}, "[c]"),  # four others are tried: <mask>, [a], [b] and [c]
        ({1: 3.1, 5: 2.0}, None),
    ],
)
def test_no_other_token_hides_words_much_better_than_the_mask(losses, said):
    found = list(language._check_mask(PlantedMask(losses)))
    assert kinds(found) == ["failed"] * (said is not None)
    assert all(f"worse than {said} does" in one.text for one in found)


def test_a_masked_model_is_scored_at_the_inserted_word_alone():
    scorer = PlantedMask({})
    assert language._chance(scorer, None) == ""
    ids = scorer.tokenize([text.format(word) for text, word in PLACES])
    for places, row, (text, word) in zip(language._positions(scorer, ids), ids, PLACES, strict=True):
        before, after = (
            "".join(chr(row[k] - 100) for k in side) for side in (range(places[0]), range(places[0], len(row)))
        )
        assert text.startswith(before.rstrip()[: text.index("{")])
        assert len(places) >= len(word), after


@pytest.mark.parametrize(("right", "found"), [(4, ["failed"]), (5, [])])  # of six sentences 67 % and 83 %
def test_a_rewriter_depends_on_its_source(monkeypatch, right, found):
    given = iter([torch.arange(HALF) < right, torch.zeros(HALF)])
    monkeypatch.setattr(language, "_log_probabilities_given", lambda backbone, sources: next(given) * 1.0)
    assert kinds(language._check_rewriting(None)) == found


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
    differ, shares = iter(differ), iter(shares)
    parts = {"_places": lambda _: [1], "_keeps_length": lambda _: True, "shuffled_twin": lambda _: nullcontext()}
    parts |= {"_differ": lambda *_, place: next(differ), "_is_of_sentences": lambda _: of_sentences}
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
    # Four uses of each word, two in each sense. One layer knows the senses, one puts the first uses together instead.
    east, north = [1.0, 0.0], [0.0, 1.0]
    sound, mixed = [east, east, north, north], [east, north, east, north]
    layers = [torch.tensor(rows * len(SENSES)) for rows in ([east] * 4, sound, mixed)]
    states = [torch.stack([torch.zeros_like(rows), rows], dim=1) for rows in layers]  # at place 1
    monkeypatch.setattr(senses, "_states", lambda backbone, texts: states)
    assert senses._share(None, [1] * 4 * len(SENSES)) == 0.5
    assert senses._keeps_length(None)
    states[1] = states[1][:, :1]
    assert not senses._keeps_length(None)


@pytest.mark.parametrize(("change", "differs"), [(2e-5, True), (0.5e-5, False)])
def test_states_differ_by_more_than_rounding(monkeypatch, change, differs):
    states = torch.ones(2, 4, 1)  # of three and four tokens, so that the last but one is at 1 and at 2
    states[0, 1] = 1 + change
    states[0, 2] = states[1, 1] = 7
    monkeypatch.setattr(senses, "_states", lambda backbone, texts: [None, states])
    tokenized = SimpleNamespace(tokenize=lambda texts: [[1, 2, 3], [1, 2, 3, 4]])
    assert senses._differ(tokenized, ["a", "b"], place=-2) == differs


@pytest.mark.parametrize(("strength", "trained"), [(1.19, False), (1.25, True)])
def test_sentence_embeddings_are_stronger_than_words_if_trained_for_sentences(monkeypatch, strength, trained):
    strengths = iter([strength, 1.0])
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
        (Vectors({SENTENCES[1]: Vectors().drawn(SENTENCES[0]) * (1 + 0.5e-6)}), ["refused"]),
        (Vectors({SENTENCES[1]: Vectors().drawn(SENTENCES[0]) * (1 + 1.5e-6)}), []),
        (Vectors(scale=0.0140), ["failed"]),  # around a vector of length 8; a spread of 0.00174
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


@pytest.mark.parametrize(("change", "found"), [(0.9e-3, ["failed"]), (1.5e-3, [])])
def test_another_order_changes_embeddings_by_more_than_rounding(change, found):
    step = nn.functional.one_hot(torch.tensor(0), 64) * change
    planted = {text: Vectors().drawn(pair[0]) + k * step for pair in ORDERS for k, text in enumerate(pair)}
    assert kinds(embeddings._check_changes(Vectors(planted), 1.0)) == found


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
        words = [*(word for word in lower if word == word.lower()), *plain, *(f"W{k}" for k in range(more))]
        assert 0.01 < more / len(words) < 0.04
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
        ([(3, "attention")], {}, ["failed"]),
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
    assert kinds(weights.check_weights(backbone)) == found


def square():
    return nn.Linear(64, 64)


def test_structure_of_a_large_matrix_is_that_of_its_part():
    random = torch.randn(70, 4100, generator=torch.Generator().manual_seed(0))
    random[:, 1::2] = 0  # every other column is left out
    assert weights.structure(random) == pytest.approx(1.0, abs=0.05)
    assert weights.structure(random.T) == pytest.approx(1.0, abs=0.05)
    assert weights.structure(random[:, ::2]) == weights.structure(random)


@pytest.mark.parametrize(("length", "judged"), [(23, False), (24, True)])
def test_a_model_of_few_tokens_is_not_judged(tiny, length, judged):
    tiny.max_length = length
    assert any("too few for the sentences" in one for one in validity(tiny).not_judged) != judged


def test_there_are_as_many_texts_as_the_limits_assume():
    assert (len(SENTENCES), len(PLACES), len(PARAPHRASES)) == (6, 24, 24)
