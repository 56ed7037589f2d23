"""Words tokenized once: the tokens of the text, whatever the tokenizer."""

import json
from types import SimpleNamespace

from fairlab.data import word_tokens
from fairlab.data.word_tokens import WordTokens, tokenizer_sha256

TEXTS = ["The king's old house, he said.", "She (the nurse) left early -- at 5:30!", "naïve café [MASK] don't"]


def test_words_looked_up_have_the_tokens_of_the_text(tokenizer, byte_tokenizer):
    for one in (tokenizer, byte_tokenizer):
        ids = WordTokens(one)
        for _ in range(2):  # asked for, and known
            found = ids(TEXTS)
            asked = one([f" {text}" for text in TEXTS], add_special_tokens=False)["input_ids"]
            assert [row.tolist() for row in found] == asked
        assert ids.looked_up
        assert ids([]) == []
        assert [row.tolist() for row in ids(["", "The"])] == [[], one(" The", add_special_tokens=False)["input_ids"]]


def test_a_text_that_holds_the_token_between_words_has_its_own_tokens(tokenizer):
    ids = WordTokens(tokenizer)
    ids(TEXTS)
    between = ids.between[0]
    found = ids([f"The {between} of new{between}words.", "\u200b", "Other words"])
    asked = tokenizer([f" The {between} of new{between}words.", " \u200b", " Other words"], add_special_tokens=False)
    assert [row.tolist() for row in found] == asked["input_ids"]


def test_a_tokenizer_that_reads_across_blanks_is_asked(tokenizer):
    class Across:
        def __call__(self, texts, **values):
            return {"input_ids": [[len(text)] for text in texts]}

    ids = WordTokens(Across())
    assert [row.tolist() for row in ids(["a bc", "d"])] == [[5], [2]]
    assert ids.looked_up is False


class Spelling:
    """A tokenizer into letters, which notes what it is asked for."""

    sep_token = "|"

    def __init__(self):
        self.asked = []

    def convert_tokens_to_ids(self, token):
        return ord(token)

    def __call__(self, texts, *, add_special_tokens, verbose):
        assert (add_special_tokens, verbose) == (False, False)
        self.asked += texts
        return {"input_ids": [[ord(letter) for letter in text if letter != " "] for text in texts]}


def test_words_are_asked_for_once_and_many_together(monkeypatch):
    monkeypatch.setattr(word_tokens, "MOST_WORDS", 3)
    tokenizer = Spelling()
    ids = WordTokens(tokenizer)

    def found(*texts):
        tokenizer.asked.clear()
        return ["".join(map(chr, row)) for row in ids(texts)], list(tokenizer.asked)

    assert found("a bc") == (["abc"], [" a bc", " a| bc"])  # once to compare, once to look up
    assert found("bc d", "a") == (["bcd", "a"], [" d"])
    assert found("bc a") == (["bca"], [])  # three words are kept, a fourth is one too many
    assert found("e") == (["e"], [" e"])
    assert found("e|f a") == (["e|fa"], [" e|f| a", " e|f", " a"])  # the sign between words is in one of them
    assert [text.count("|") for text in found(" ".join(map(str, range(501))))[1]] == [499, 0]


def test_a_tokenizer_is_told_by_what_it_does_not_by_its_last_call(tokenizer, byte_tokenizer):
    before = tokenizer_sha256(tokenizer)
    tokenizer(["a b c"], truncation=True, max_length=3, padding="max_length")
    assert tokenizer_sha256(tokenizer) == before != tokenizer_sha256(byte_tokenizer)

    def hash_of(content):
        backend = SimpleNamespace(to_str=lambda: json.dumps(content))
        return tokenizer_sha256(SimpleNamespace(backend_tokenizer=backend))

    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "padding": {}, "a": 1}) != hash_of({"a": 1, "b": 3})
