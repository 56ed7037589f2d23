import pytest
import torch

from fairlab.data.attribute_sentences import AttributeSentences, as_sentences, group_sentences, sentences_of, tokenized
from fairlab.data.batching import AlternatingBatches
from fairlab.data.counterfactual import CounterfactualData
from fairlab.data.word_lists import Found, WordLists, balanced, find_words, lexicon_words, listed_words
from fairlab.types import DataUnavailable, FairlabError, Group
from tests.conftest import make_groups, row, write_rows

WORDS = WordLists({"man": ["he", "father", "king"], "woman": ["she", "mother", "queen"]}, {"nurse", "brick layer"})


def make(encoder, paths, **changes):
    settings = {
        "axis": "gender",
        "lists": None,
        "mixed": "drop",
        "at_least": None,
        "validation": 0.25,
        "batch_size": 3,
        "limit": None,
        "epochs": 1,
        "seed": 0,
    }
    return AttributeSentences(paths=[str(path) for path in paths], encoder=encoder, **settings | changes)


@pytest.fixture
def corpus(tmp_path):
    lines = [f"He crossed river {k}." for k in range(16)]
    lines += [f"My stepsister saw boat {k}." for k in range(12)]
    lines += [f"One engineer, not a nurse, left by bridge {k}." for k in range(8)]
    lines += [f"A clock stood in garden {k}." for k in range(8)]
    (tmp_path / "corpus.txt").write_text("\n\n".join(lines), encoding="utf-8")
    return tmp_path / "corpus.txt"


def found(lines, mixed):
    return [(entry.text[entry.start : entry.end], entry.kind) for entry in find_words(lines, WORDS, mixed)]


def test_the_rules_of_dpce_and_of_adept_by_hand():
    lines = [
        "The king saw the nurse and the king.",  # a man's word; the neutral one does not count
        "Mother told him that she and mother agreed.",  # two words of one attribute: one example, or one a word
        "A nurse met the brick layer.",  # two neutral words
        "The queen and her father left.",  # words of both
        "He",  # a single word
        "he " * 129,  # too long
        "The river rose.",
    ]
    assert found(["He ran", "he " * 128], "drop") == [("He", 1), ("he", 1)]
    assert found(lines, "drop") == [("king", 1), ("Mother", 2), ("nurse", 0), ("brick layer", 0)]
    both = [("queen", 2), ("father", 1)]
    assert found(lines, "keep") == [("king", 1), ("Mother", 2), ("she", 2), ("nurse", 0), ("brick layer", 0), *both]


def test_a_word_of_two_attributes_marks_none_and_an_attribute_wins_over_neutral():
    words = WordLists({"man": ["he", "boss"], "woman": ["she", "boss"]}, {"she", "nurse"})
    assert words.kinds() == {"nurse": 0, "he": 1, "she": 2}


def test_corresponding_words_come_equally_often_or_not_at_all():
    def entries(word, kind, count):
        return [Found(f"{word} {k}", 0, 1, word, kind) for k in range(count)]

    all_found = [
        *entries("he", 1, 5),
        *entries("she", 2, 3),
        *entries("king", 1, 9),
        *entries("queen", 2, 1),
        *entries("father", 1, 2),
        *entries("mother", 2, 2),
        *entries("nurse", 0, 4),
    ]
    kept = balanced(all_found, WORDS, at_least=2)
    assert [entry.word for entry in kept] == ["nurse"] * 4 + ["he"] * 3 + ["she"] * 3 + ["father"] * 2 + ["mother"] * 2
    two_rows = WordLists({"man": ["his", "him"], "woman": ["her", "her"]}, set())
    kept = balanced([*entries("his", 1, 3), *entries("him", 1, 2), *entries("her", 2, 4)], two_rows, at_least=1)
    assert [entry.word for entry in kept] == ["his"] * 3 + ["her"] * 3 + ["him"] * 2 + ["her"] * 2


def test_the_lexicon_gives_words_that_mark_an_attribute():
    kinds = lexicon_words("gender").kinds()
    assert (kinds["he"], kinds["mother"], kinds["nurse"]) == (1, 2, 0)
    assert "they" not in kinds


def test_lists_from_files(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    for name, words in (("m", "he\nKing\n"), ("w", "she\nqueen\n"), ("n", "nurse\n\n"), ("short", "she\n")):
        (tmp_path / f"{name}.txt").write_text(words)
    words = listed_words({"man": "m.txt", "woman": "w.txt", "neutral": "n.txt"})
    assert words == WordLists({"man": ["he", "king"], "woman": ["she", "queen"]}, {"nurse"})
    with pytest.raises(FairlabError, match=r"the lists of man, woman have \[1, 2\] lines"):
        listed_words({"man": "m.txt", "woman": "short.txt", "neutral": "n.txt"})
    with pytest.raises(FairlabError, match="needs 'neutral' and at least two attributes, not: man, woman"):
        listed_words({"man": "m.txt", "woman": "w.txt"})
    for some in (["man", "woman", "other"], ["man", "neutral"]):
        with pytest.raises(FairlabError, match="needs 'neutral' and at least two attributes, not: man, "):
            listed_words(dict.fromkeys(some, "m.txt"))
    with pytest.raises(DataUnavailable, match=r"gone\.txt was not found"):
        listed_words({"man": "m.txt", "woman": "gone.txt", "neutral": "n.txt"})


@pytest.mark.data
def test_the_published_lists():
    for folder, names in (("context-debias", ("stereotype", 168)), ("ADEPT", ("neutral", 208))):
        files = {"man": "male", "woman": "female", "neutral": names[0]}
        words = listed_words({name: f"word_lists/{folder}/{file}.txt" for name, file in files.items()})
        assert len(words.neutral) == names[1]
        kinds = words.kinds()
        assert (kinds["he"], kinds["she"]) == (1, 2)


def test_targets_are_the_tokens_of_the_word(corpus, tiny):
    data = make(tiny, [corpus])
    words = {0: {"engineer", "nurse"}, 1: {"he"}, 2: {"stepsister"}}
    for split in ("train", "validation"):
        for sentence in data.sentences[split]:
            target = tiny.tokenizer.decode([sentence.token_ids[place] for place in sentence.targets])
            assert target in words[sentence.kind]
    several = [sentence for sentence in data.sentences["train"] if sentence.kind == 2]
    assert all(len(sentence.targets) > 1 for sentence in several)


def test_a_split_takes_a_share_of_each_kind_whatever_the_order_of_the_text(corpus, tiny):
    data = make(tiny, [corpus])
    assert [len(kind) for kind in data.by_kind["validation"]] == [4, 4, 3]
    assert [len(kind) for kind in data.by_kind["train"]] == [12, 12, 9]
    lines = corpus.read_text().split("\n\n")
    corpus.write_text("\n\n".join(reversed(lines)))
    again = make(tiny, [corpus])
    for split in ("train", "validation"):
        assert {tuple(s.token_ids) for s in again.sentences[split]} == {
            tuple(s.token_ids) for s in data.sentences[split]
        }
    for count in (1, 2):
        assert [len(kind) for kind in make(tiny, [corpus], validation=count).by_kind["validation"]] == [count] * 3
    assert [len(kind) for kind in make(tiny, [corpus], limit=5).by_kind["train"]] == [5, 5, 5]


def test_a_batch_is_of_one_kind_and_all_kinds_come_equally_often(corpus, tiny):
    data = make(tiny, [corpus], epochs=2)
    batches = list(data.train_dataloader())
    assert len(batches) == data.total_batches == 2 * 3 * 3
    tokens = sum(len(sentence.token_ids) for sentence in data.sentences["train"])
    assert data.sizes() == {"sentences": 27, "tokens": 27 * tokens // 33}  # 27 of 33 sentences in an epoch
    kinds = [batch.kinds.unique().tolist() for batch in batches]
    assert sorted(kinds[:9]) == sorted(kinds[9:]) == [[0]] * 3 + [[1]] * 3 + [[2]] * 3
    assert kinds[:9] != kinds[9:]
    for batch in batches:
        assert batch.targets.any(dim=1).all()
        assert not (batch.targets & (batch.attention_mask == 0)).any()
    held_out = [batch.kinds.unique().tolist() for batch in data.val_dataloader()]
    assert held_out == [[0], [0], [1], [1], [2]]


def test_a_stream_of_batches_goes_on_where_it_stopped():
    lengths = [[5] * 7, [4] * 9]
    whole = list(AlternatingBatches(lengths, 2, epochs=3, seed=1))
    assert len(whole) == len(AlternatingBatches(lengths, 2, epochs=3, seed=1)) == 3 * 2 * 3
    assert list(AlternatingBatches(lengths, 2, epochs=3, seed=1, skip=5)) == whole[5:]
    assert list(AlternatingBatches(lengths, 2, epochs=3, seed=2)) != whole
    assert {position for batch in whole for position in batch} <= set(range(16))
    small = list(AlternatingBatches([[3], [3] * 4], 8, epochs=1, seed=0))
    assert sorted(map(sorted, small)) == [[0], [1, 2, 3, 4]]


def test_the_versions_of_groups_are_read_for_what_differs(tmp_path, tiny):
    odd = Group(
        "odd",
        "gender",
        {
            "neutral": "the legislators saw their boat",
            "man": "the legislators saw a boat",
            "woman": "the female legislators saw her boat",
        },
    )
    groups = [odd, *make_groups(5)]
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in groups])
    settings = {"validation": 2, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    data = CounterfactualData(path=path, encoder=tiny, **settings)
    sentences = group_sentences(data, "train")
    words = [[tiny.tokenizer.decode(s.token_ids[place]) for place in s.targets] for s in sentences]
    assert words[:6] == [["their"], ["a"], ["female", "her"], ["they"], ["he"], ["she"]]
    assert [sentence.kind for sentence in sentences] == [0, 1, 2] * 4
    batch = next(iter(data.train_dataloader()))
    taken = as_sentences(batch, sentences, tiny.padding_id)
    assert torch.equal(taken.input_ids, batch.input_ids)
    assert torch.equal(taken.attention_mask, batch.attention_mask)
    assert taken.kinds.tolist() == [0, 1, 2] * 4
    assert len(sentences_of(data, "validation")) == 6
    with pytest.raises(FairlabError, match="choose data=attribute_sentences or data=groups"):
        sentences_of(object(), "train")


def test_a_word_behind_the_cut_is_left_out(tiny):
    tiny.max_length = 6
    texts = ["he saw the old boat and the river", "the old boat and the river saw he"]
    found = [Found(text, text.index("he "), text.index("he ") + 2, "he", 1) for text in texts[:1]]
    (kept,) = tokenized([*found, Found(texts[1], len(texts[1]) - 2, len(texts[1]), "he", 1)], tiny)
    assert (kept.targets, len(kept.token_ids)) == ([1], 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"validation": 50}, "contain no sentence with a word of 'neutral' for train"),
        ({"at_least": 13}, "contain no sentence with a word of 'man' for validation"),
        ({"axis": "height"}, "no lexicon for the axis 'height'"),
        ({"augmentation": object()}, "augmentation=none"),
    ],
)
def test_values_out_of_range(corpus, tiny, change, message):
    with pytest.raises(FairlabError, match=message):
        make(tiny, [corpus], **change)
