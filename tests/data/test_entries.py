"""Entries: one order for every model, packed without gaps that could be filled."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing

from fairlab.backbones.loading import load_backbone
from fairlab.data.block_collator import NOT_SCORED, collated, packed
from fairlab.data.entries import Entries, expandable_first, read_entries
from fairlab.protocols import RowAugmentation
from fairlab.types import DataUnavailable, FairlabError, Made
from tests.conftest import WORDS


class Twice:
    """Each text and a counterpart."""

    def texts(self, text):
        return [text, text.replace("he", "she")]


@pytest.fixture
def llama(tiny_folders):
    return load_backbone(str(tiny_folders["llama"]), pooling="mean", max_length=64, normalize=False)


@pytest.fixture
def reports(tmp_path):
    texts = [f"he saw the {WORDS[k % 11]} and he wrote of {k}" for k in range(40)]
    (tmp_path / "reports.txt").write_text("\n\n".join(["A title", *texts]))
    return str(tmp_path / "reports.txt")


def make(encoder, path, **changes):
    settings = {
        "unit": "paragraph",
        "sample": 4,
        "expandable": False,
        "augmented": False,
        "made": None,
        "limit": None,
        "validation": 5,
        "block": 32,
        "batch_size": 2,
        "epochs": 1,
        "seed": 0,
        "augmentation": Twice(),
    }
    return Entries(path=path, encoder=encoder, **settings | changes)


def test_originals_match_the_augmented_sample_in_number_and_begin_with_it(llama, reports):
    original, augmented = make(llama, reports), make(llama, reports, augmented=True)
    sample = original.texts["train"][:4]
    assert augmented.texts["train"] == [made for text in sample for made in (text, text.replace("he", "she"))]
    assert len(original.texts["train"]) == 8
    assert original.texts["validation"] == augmented.texts["validation"]
    assert not set(original.texts["train"]) & set(original.texts["validation"])
    larger = make(llama, reports, sample=10)
    assert larger.texts["train"][:4] == sample
    other = make(llama, reports, seed=1)
    assert other.texts["train"][:4] != sample


def test_the_limit_draws_from_what_was_made(llama, reports):
    every = make(llama, reports, augmented=True).texts["train"]
    some = make(llama, reports, augmented=True, limit=5)
    assert len(some.texts["train"]) == 5
    assert [text for text in every if text in some.texts["train"]] == some.texts["train"]
    assert len(make(llama, reports, limit=5).texts["train"]) == 5
    assert some.facts()["made_of_the_sample"] == 8


def test_sample_and_expansion_are_kept_whole_whatever_is_trained_on(llama, reports, tmp_path):
    every = make(llama, reports, augmented=True).texts["train"]
    make(llama, reports, limit=3).write(tmp_path)
    sample, expansion = (
        [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        for name in ("sample", "expansion")
    )
    assert [row["text"] for row in expansion] == every
    assert [row["text"] for row in sample] == every[::2]  # each entry stands before its counterpart
    assert [row["entry"] for row in sample] == ["1", "2", "3", "4"]
    assert [row["entry"] for row in expansion] == ["1", "1", "2", "2", "3", "3", "4", "4"]


def test_rows_of_an_augmentation_of_rows_are_taken_fairly(llama, reports):
    class ByMember(RowAugmentation):
        def make(self, rows):
            return [Made(tuple({"text": f"{row.text} {m}", "biaser": m} for m in "aaaaaab")) for row in rows]

    data = make(llama, reports, augmented=True, limit=2, augmentation=ByMember())
    assert sorted(text[-1] for text in data.texts["train"]) == ["a", "b"]
    assert data.facts()["made_of_the_sample"] == 8  # distinct: two of each of four entries


class OfKinds(RowAugmentation):
    def make(self, rows):
        kinds = ("entry", "copy", "upshift")
        return [Made(tuple({"text": f"{row.text} as {kind}", "kind": kind} for kind in kinds)) for row in rows]


def test_kinds_of_what_was_made_are_chosen(llama, reports):
    data = make(llama, reports, augmented=True, kinds=["entry", "upshift"], augmentation=OfKinds())
    assert [text.rsplit(" ", 1)[1] for text in data.texts["train"]] == ["entry", "upshift"] * 4
    assert [origin.entry for origin in data.before_limit["expansion"].values()] == [k for k in "1234" for _ in range(3)]
    assert data.facts()["made_of_the_sample"] == 12
    with pytest.raises(
        FairlabError,
        match=r"of the sample gave no entry of data.kinds=\['downshift'\]; the kinds available are: copy, entry, upshi",
    ):
        make(llama, reports, kinds=["downshift"], augmentation=OfKinds())


@pytest.mark.parametrize("augmented", [False, True])
def test_so_many_tokens_are_trained_on_whatever_there_is(llama, reports, augmented):
    def count(texts):
        return sum(map(len, llama.tokenizer(texts, add_special_tokens=False)["input_ids"]))

    data = make(llama, reports, augmented=augmented, kinds=["entry"], tokens=900, augmentation=OfKinds())
    texts = data.texts["train"]
    assert count(texts) == pytest.approx(900, abs=1)  # a token in a text that was cut may come out as another
    assert len(set(texts[:-1])) == (4 if augmented else 35)  # all there are, over and over
    assert texts[0] == texts[4 if augmented else 35]
    first = make(llama, reports, augmented=augmented, kinds=["entry"], tokens=count(texts[:1]), augmentation=OfKinds())
    assert first.texts["train"] == texts[:1]  # filled exactly
    with pytest.raises(FairlabError, match=r"data\.tokens replaces data\.limit: 5, 3"):
        make(llama, reports, tokens=5, limit=3)


def test_the_draw_of_the_sample_has_a_seed_of_its_own(llama, reports):
    first, again, other = (make(llama, reports, seed=seed, draw=draw) for seed, draw in ((0, 7), (1, 7), (0, 8)))
    assert first.texts == again.texts
    assert first.texts["validation"] != other.texts["validation"]


def test_an_expandable_sample_comes_first_and_the_others_keep_their_order(llama, reports):
    class OfRiver(Twice):
        def expands(self, texts):
            return ["river" in text for text in texts]

    whole = make(llama, reports, sample=35, limit=35).texts["train"]
    data = make(llama, reports, sample=2, expandable=True, augmentation=OfRiver())
    named = [text for text in whole if "river" in text][:2]
    assert list(data.before_limit["sample"]) == named
    assert data.texts["train"] == [*named, *[text for text in whole if text not in named][:2]]
    with pytest.raises(FairlabError, match=r"expands \d of 35 entries, fewer than data.sample=9"):
        make(llama, reports, sample=9, expandable=True, augmentation=OfRiver())
    with pytest.raises(FairlabError, match="needs an augmentation that finds expandable entries"):
        make(llama, reports, expandable=True)


def test_expandable_entries_are_found_beyond_the_first_that_are_asked_for():
    class OfSome(Twice):
        def expands(self, texts):
            return [text in ("0", "66", "69") for text in texts]

    entries = [str(k) for k in range(70)]
    found = expandable_first(entries, 2, OfSome())
    assert found == ["0", "66", *[text for text in entries if text not in ("0", "66")]]


def test_what_was_made_before_is_read(llama, reports, tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for number, texts in enumerate([["an entry", "a second"], ["a third", "an entry"]]):
        lines = [json.dumps({"id": k, "text": text}) + "\n" for k, text in enumerate(texts)]
        (folder / f"data-{number:05}.jsonl").write_text("".join(lines))
    data = make(llama, reports, augmented=True, made=str(folder), augmentation=None)
    assert data.texts["train"] == ["an entry", "a second", "a third"]
    assert len(make(llama, reports, made=str(folder), augmentation=None).texts["train"]) == 3
    assert set(data.facts()["files"]) == {"reports.txt", "data-00000.jsonl", "data-00001.jsonl"}


def test_every_token_of_every_entry_is_predicted_from_its_own_entry_alone(llama, reports):
    data = make(llama, reports)
    predicted = []
    for batch in data.train_dataloader():
        for ids, places, targets in zip(batch.input_ids, batch.position_ids, batch.targets, strict=True):
            for k in range(len(ids)):
                if targets[k] != NOT_SCORED:
                    assert targets[k] == ids[k + 1]
                    assert places[k + 1] == places[k] + 1
                if places[k] == 0:
                    assert ids[k] == 0  # the start token
            predicted += [token for token in targets.tolist() if token != NOT_SCORED]
    expected = [token for text in data.texts["train"] for token in llama.tokenizer.encode(text)]
    assert sorted(predicted) == sorted(expected)
    assert data.sizes() == {"entries": 8, "tokens": len(expected) + 8}


def test_a_long_entry_is_cut_into_pieces_with_a_start_each(llama, tmp_path):
    texts = ["he saw the river and the bridge and a clock " * 5, *(f"an entry of five words {k}" for k in range(9))]
    (tmp_path / "long.txt").write_text("\n\n".join(texts))
    data = make(llama, str(tmp_path / "long.txt"), validation=1, sample=9, block=16)
    pieces = [piece for block in data.blocks["train"] + data.blocks["validation"] for piece in block]
    assert max(map(len, pieces)) == 16
    assert all(piece[0] == 0 for piece in pieces)
    expected = sorted(token for text in texts for token in llama.tokenizer.encode(text.strip()))
    assert sorted(token for piece in pieces for token in piece[1:]) == expected


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(20, 40))
def test_packing_keeps_every_piece_once_and_no_block_too_full(lengths, room):
    blocks = packed(lengths, room)
    assert sorted(k for block in blocks for k in block) == list(range(len(lengths)))
    totals = [sum(lengths[k] for k in block) for block in blocks]
    assert all(total <= room for total in totals)
    # No two blocks would fit into one.
    assert all(a + b > room for k, a in enumerate(totals) for b in totals[:k])


def test_padding_is_scored_nowhere():
    batch = collated([[[7, 8, 9], [7, 5]], [[7, 6]]], [0, 1], padding_id=3)
    assert batch.input_ids.tolist() == [[7, 8, 9, 7, 5], [7, 6, 3, 3, 3]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 0, 1], [0, 1, 0, 0, 0]]
    assert batch.targets.tolist() == [[8, 9, NOT_SCORED, 5, NOT_SCORED], [6] + [NOT_SCORED] * 4]
    assert torch.nn.CrossEntropyLoss().ignore_index == NOT_SCORED


def test_special_tokens_that_the_tokenizer_adds_are_no_part_of_an_entry(llama, reports):
    settings = ({}, {"tokens": 60})
    plain = [make(llama, reports, **one).blocks for one in settings]
    start = llama.tokenizer.convert_ids_to_tokens(0)
    llama.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(f"{start} $A", special_tokens=[(start, 0)])
    assert llama.tokenizer("he saw")["input_ids"][0] == 0
    assert [make(llama, reports, **one).blocks for one in settings] == plain


def test_a_block_of_two_holds_a_token(llama, reports):
    assert {len(piece) for block in make(llama, reports, block=2).blocks["train"] for piece in block} == {2}


def test_paragraphs_sentences_and_rows(tmp_path):
    text = "He saw the river that day. She saw the old bridge.\n\nHe saw the river that day. She saw it too."
    (tmp_path / "a.txt").write_text(text)
    paragraphs, hashes = read_entries(str(tmp_path / "a.txt"), "paragraph")
    assert len(paragraphs) == 2
    assert set(hashes) == {"a.txt"}
    sentences, _ = read_entries(str(tmp_path), "sentence")
    assert sentences == ["He saw the river that day.", "She saw the old bridge."]  # five words are enough
    (tmp_path / "b.csv").write_text("id,text\n1,short\n2,longer text\n")
    assert read_entries(str(tmp_path / "b.csv"), "paragraph")[0] == ["short", "longer text"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sample": 36}, "holds 40 entries, fewer than data.validation=5 and data.sample=36 take"),
        ({"block": 1}, r"at least 2 and at most"),
        ({"block": 65}, r"at least 2 and at most the 64 tokens .*, not 65; set data.block=64"),
        ({"augmentation": None}, "the sample has no augmentation"),
        ({"unit": "line"}, "the unit of entries must be paragraph or sentence, not line"),
        ({"augmentation": type("None_", (), {"texts": lambda self, text: []})()}, "no entry was made from the 4"),
    ],
)
def test_bad_values_are_said(llama, reports, changes, message):
    with pytest.raises(FairlabError, match=message):
        make(llama, reports, **changes)


def test_no_such_place_and_no_entry_are_said(tmp_path):
    with pytest.raises(DataUnavailable, match="there is no file or folder"):
        read_entries(str(tmp_path / "none"), "paragraph")
    (tmp_path / "empty.txt").write_text("too short\n")
    with pytest.raises(FairlabError, match="holds no entry of 5 words or more"):
        read_entries(str(tmp_path / "empty.txt"), "paragraph")
