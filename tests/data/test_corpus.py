import pytest

from fairlab.augmentation.cda_text import CDAText
from fairlab.data import text as plain_text
from fairlab.data.corpus import Corpus
from fairlab.data.text import held_out, read_text
from fairlab.types import DataUnavailable, FairlabError


def make(encoder, paths, **changes):
    settings = {"windows": [0], "validation": 0.3, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return Corpus(paths=[str(path) for path in paths], encoder=encoder, **settings | changes)


@pytest.fixture
def folder(tmp_path):
    lines = [f"The boat number {k} left the river. A letter lay in the garden beside it." for k in range(40)]
    (tmp_path / "a.txt").write_text("\n\n".join(lines[:20]), encoding="utf-8")
    (tmp_path / "b.txt").write_text("\r\n\r\n".join(lines[20:]), encoding="utf-8")
    (tmp_path / "README").write_text("not part of the corpus")
    return tmp_path


def test_both_splits_come_from_whole_paragraphs_and_do_not_depend_on_the_folder(folder, tiny):
    data = make(tiny, [folder], windows=[0, 40])
    for split, held in (("train", False), ("validation", True)):
        for text in data.texts[split]:
            if text.startswith("The boat") and "letter" in text:
                assert held_out(text, 0.3) == held
    numbers = {split: {text.split()[3] for text in texts if "number" in text} for split, texts in data.texts.items()}
    assert not numbers["train"] & numbers["validation"]
    assert len(numbers["train"] | numbers["validation"]) == 40
    assert make(tiny, [folder / "a.txt", folder / "b.txt"], windows=[0, 40]).texts == data.texts
    assert set(data.facts()["files"]) == {"a.txt", "b.txt"}


def test_a_batch_holds_its_texts_and_an_epoch_all_of_them(folder, tiny):
    data = make(tiny, [folder])
    seen = []
    for batch in data.train_dataloader():
        for row, position in enumerate(batch.positions.tolist()):
            ids = batch.input_ids[row][batch.attention_mask[row].bool()].tolist()
            assert ids == tiny.tokenize([data.texts["train"][position]])[0]
            seen.append(position)
    assert sorted(seen) == list(range(len(data.texts["train"])))
    held_out = [position for batch in data.val_dataloader() for position in batch.positions.tolist()]
    assert sorted(held_out) == list(range(len(data.texts["validation"])))
    assert data.sizes() == {"texts": len(seen), "tokens": sum(map(len, data.token_ids["train"]))}


def test_long_sentences_are_cut_and_counted_and_short_ones_left_out(tmp_path, tiny):
    (tmp_path / "c.txt").write_text(
        "Oh. He ran.\n\n" + "\n\n".join(" ".join(["boat"] * (40 + k)) + "." for k in range(30))
    )
    data = make(tiny, [tmp_path])
    assert max(map(len, data.token_ids["train"])) == tiny.max_length
    assert data.num_truncated == 30
    texts = data.texts["train"] + data.texts["validation"]
    assert "Oh." not in texts
    assert "He ran." in texts  # five tokens with the special ones


def test_a_window_counts_tokens_without_the_special_ones(folder, tiny):
    sentences = ["The boat number 7 left the river.", "A letter lay in the garden beside it."]
    both = sum(len(ids) for ids in tiny.tokenizer(sentences, add_special_tokens=False)["input_ids"])
    for window, apart in ((both, False), (both - 1, True)):
        texts = make(tiny, [folder], windows=[window]).texts
        found = [text for part in texts.values() for text in part if text.startswith(sentences[0])]
        assert found == [sentences[0] if apart else " ".join(sentences)]


@pytest.mark.slow
def test_versions_of_an_embedded_group_stay_together(tiny):
    data = make(tiny, ["embedded/people"], validation=0.05)
    rows = {split: set(texts) for split, texts in data.texts.items()}
    for name, _, found in plain_text.read("embedded/people"):
        assert name == "people.jsonl"
        assert len(found) == 3 * 1440
        sides: dict[str, set[str]] = {}
        for key, text in found:
            sentence = plain_text.SENTENCE_END.split(text)[0]
            sides.setdefault(key, set()).update(split for split in rows if sentence in rows[split])
        assert all(len(side) <= 1 for side in sides.values())


def test_a_place_below_the_data_folder(folder, tiny, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA", str(folder.parent))
    assert make(tiny, [folder.name]).texts["train"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("zero.txt", b"a\0b", r"zero.txt, line 1 is not plain text \(a byte is zero\); save it as UTF-8"),
        ("empty.txt", b"\n\n", "too little text for train in .*empty.txt"),
        ("one.txt", b"The only sentence of them all.", "too little text for (train|validation)"),
    ],
)
def test_bad_files(tmp_path, tiny, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FairlabError, match=message) as error:
        make(tiny, [tmp_path / name])
    assert "\n" not in str(error.value)


def test_no_such_folder_and_an_empty_one(tmp_path, tiny, monkeypatch):
    monkeypatch.delenv("FAIRLAB_DATA", raising=False)
    with pytest.raises(DataUnavailable, match="there is no file or folder nowhere, and FAIRLAB_DATA is not set"):
        make(tiny, ["nowhere"])
    with pytest.raises(DataUnavailable, match=r"holds no \.txt file"):
        make(tiny, [tmp_path])


def test_an_augmentation_of_other_data_is_refused(folder, tiny):
    message = "works on counterfactual groups, not on a corpus; set augmentation=none or cda_text"
    with pytest.raises(FairlabError, match=message):
        make(tiny, [folder], augmentation=object())


@pytest.mark.data
def test_published_text_is_read_whole(data_folder):
    for folder in ("corpora/novels", "corpora/state_union"):
        for file in plain_text.text_files(folder):
            text = read_text(file)
            assert "GUTENBERG EBOOK" not in text
            assert "gutenberg.org" not in text
            content = file.read_bytes().replace(b"\r\n", b"\n")
            assert len(text) > len(content) - 22_000  # the licence, and no more


def test_a_text_augmentation_replaces_texts_of_both_splits(tmp_path, tiny):
    lines = [f"He left the boat {k}. The river was calm. Her letter came late." for k in range(20)]
    (tmp_path / "corpus.txt").write_text("\n\n".join(lines), encoding="utf-8")
    data = make(tiny, [tmp_path], augmentation=CDAText(axis="gender"))
    assert len(data.texts["train"]) + len(data.texts["validation"]) == 20 * 4
    for texts in data.texts.values():
        for original, swapped in zip(texts[::2], texts[1::2], strict=True):
            assert original != swapped
            assert CDAText(axis="gender").texts(original) == [original, swapped]
        assert not any("calm" in text for text in texts)
