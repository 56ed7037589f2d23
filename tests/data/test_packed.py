"""Running text in blocks: every token once, twins in step, memory that does not grow."""

import json
from dataclasses import replace
from pathlib import Path

import lightning
import pytest
import torch

from fairlab.augmentation.perturbed_text import PerturbedText
from fairlab.backbones.masked_lm import with_masked_lm_head
from fairlab.data.block_order import BlockBatches
from fairlab.data.packed import PackedText, documents_of, prepared_folder, rules_revision
from fairlab.data.preparing import stream_paragraphs
from fairlab.files import sha256
from fairlab.methods.mlm import MLM, MaskedBatch, attention_of
from fairlab.run.checkpoints import Checkpoints
from fairlab.run.history import History
from fairlab.text.fingerprints import fingerprint
from fairlab.types import DataUnavailable, FairlabError
from tests.conftest import WORDS, write_rows
from tests.data.test_text import NOVEL
from tests.methods.test_mlm import VALUES

SETTINGS = {
    "field": "text",
    "original": "source_text",
    "twin": "perturbed",
    "passage": 24,
    "block": 16,
    "validation": 0.25,
    "batch_size": 4,
    "limit_characters": None,
    "epochs": 1,
    "seed": 0,
}


def make(encoder, path, **changes):
    return PackedText(paths=[str(path)], encoder=encoder, **SETTINGS | changes)


@pytest.fixture
def file(tmp_path):
    lines = [f"The woman saw the {WORDS[k % 11]} {k}. He left the {WORDS[(5 * k) % 11]} there." for k in range(60)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines), encoding="utf-8")
    return tmp_path / "text.txt"


def tokens_of(batches, tokenizer):
    """The tokens of all blocks, by their position, special ones left out."""
    blocks = {}
    for batch in batches:
        for position, ids, mask in zip(batch.positions, batch.input_ids, batch.attention_mask, strict=True):
            ids = ids[mask.bool()].tolist()
            assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
            assert int(position) not in blocks
            blocks[int(position)] = ids[1:-1]
    return [token for position in sorted(blocks) for token in blocks[position]]


def loaders(data):
    return data.train_dataloader(), data.val_dataloader()


def test_every_token_comes_once_and_no_block_is_padded_but_the_last(tiny, file):
    data = make(tiny, file)
    tokenizer = tiny.tokenizer
    batches = {"train": list(data.train_dataloader()), "validation": list(data.val_dataloader())}
    found = {split: tokens_of(part, tokenizer) for split, part in batches.items()}
    everything = tokenizer(" ".join(stream_paragraphs(file)), add_special_tokens=False, verbose=False)["input_ids"]
    assert len(found["train"]) + len(found["validation"]) == len(everything)
    assert sorted(found["train"] + found["validation"]) == sorted(everything)
    assert data.total_batches == len(batches["train"])
    padded = sum(int((batch.attention_mask == 0).any(dim=1).sum()) for batch in batches["train"])
    assert padded <= 1
    assert data.sizes()["tokens"] == len(found["train"])
    assert all(batch.attention_mask.all() for loader in loaders(make(tiny, file, batch_size=1)) for batch in loader)


def test_twins_hold_the_same_passages_out_and_go_through_the_others_in_the_same_order(tiny, file):
    original = make(tiny, file)
    perturbed = make(tiny, file, augmentation=PerturbedText(axes=["gender"], person="everybody"))
    tokenizer = tiny.tokenizer
    held = [tokens_of(data.val_dataloader(), tokenizer) for data in (original, perturbed)]
    assert held[0] == held[1]
    assert original.total_batches == perturbed.total_batches == len(list(perturbed.train_dataloader()))
    texts = [tokenizer.decode(tokens_of(data.train_dataloader(), tokenizer)) for data in (original, perturbed)]
    numbers = [[word for word in text.split() if word.isdigit()] for text in texts]
    assert numbers[0] == numbers[1]
    assert texts[0] != texts[1]
    assert perturbed.facts()["passages_changed"] > 10
    learned = set(perturbed.fingerprints().hashes.tolist())
    left = {fingerprint(f"He left the {word} there.") for word in WORDS}
    before = left & set(original.fingerprints().hashes.tolist())
    assert left & learned < before, "texts before perturbation are not trained on"
    assert original.facts()["passages_changed"] == 0


def test_a_text_that_grew_is_cut_and_one_that_shrank_begins_again(tiny, file):
    class Longer:
        def texts(self, text):
            return [text + " and so on and on"]

    class Shorter:
        def texts(self, text):
            return [text.split(". ")[0]]

    original = make(tiny, file)
    for augmentation in (Longer(), Shorter()):
        data = make(tiny, file, augmentation=augmentation, prepared=str(file.parent / "kept"))
        assert not (file.parent / "kept").exists()  # an augmentation that cannot describe itself is not kept
        assert data.blocks("train") != original.blocks("train")
        assert len(list(data.train_dataloader())) == original.total_batches


def test_rows_of_fairlab_augment_are_passages_by_their_original(tiny, tmp_path):
    rows = [
        {"id": str(k), "text": f"The man saw boat {k}.", "source_text": f"The woman saw boat {k}."} for k in range(40)
    ]
    write_rows(tmp_path / "data-00000.jsonl", rows[:20])
    write_rows(tmp_path / "data-00001.jsonl", rows[20:])
    with pytest.raises(DataUnavailable, match=r"has no manifest\.json: .* not a finished output"):
        make(tiny, tmp_path)
    listed = [{"data": {"file": file.name, "sha256": sha256(file)}} for file in sorted(tmp_path.glob("data-*.jsonl"))]
    (tmp_path / "manifest.json").write_text(json.dumps({"shards": listed}))
    perturbed, original = make(tiny, tmp_path), make(tiny, tmp_path, twin="original")
    tokenizer = tiny.tokenizer
    texts = [tokenizer.decode(tokens_of(data.train_dataloader(), tokenizer)) for data in (perturbed, original)]
    assert "woman" not in texts[0]
    assert texts[0].replace("man", "woman") == texts[1]
    for data in (perturbed, original):
        assert "woman" in tokenizer.decode(tokens_of(data.val_dataloader(), tokenizer))
    assert list(perturbed.facts()["files"]) == ["data-00000.jsonl", "data-00001.jsonl"]
    write_rows(tmp_path / "data-00001.jsonl", rows[21:])
    with pytest.raises(FairlabError, match=r"data-00001\.jsonl has changed since fairlab\.augment wrote it"):
        make(tiny, tmp_path)


def test_the_revision_of_the_rules_covers_their_files():
    assert rules_revision() != sha256()[:16]  # the hash of no file


def test_the_order_of_settings_changes_no_folder(tmp_path):
    settings = {"passage": 24, "field": "text"}
    folders = [
        prepared_folder(tmp_path, made_of, [tmp_path / "a.txt"])
        for made_of in (settings, dict(sorted(settings.items())))
    ]
    assert folders[0] == folders[1] != prepared_folder(tmp_path, settings, [tmp_path / "b" / "a.txt"])


def test_files_of_one_name_are_told_apart_by_their_folders(tiny, file, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "text.txt").write_text(file.read_text().replace("boat", "goat"))
    paths = [str(file), str(tmp_path / "other" / "text.txt")]
    facts = PackedText(paths=paths, encoder=tiny, **SETTINGS).facts()
    assert facts["files"] == {path: sha256(Path(path)) for path in paths}
    assert facts["files"][paths[0]] != facts["files"][paths[1]]


def test_a_limit_counts_the_original_text(tiny, file):
    few, all_of_it = make(tiny, file, limit_characters=800), make(tiny, file)
    assert few.facts()["passages"] < all_of_it.facts()["passages"] / 2
    characters = sum(len(tiny.tokenizer.decode(tokens_of(loader, tiny.tokenizer))) for loader in loaders(few))
    assert 700 < characters < 1000


def test_a_book_loses_its_frame_line_by_line(tmp_path):
    (tmp_path / "book.txt").write_bytes(NOVEL.replace("\n", "\r\n").encode())
    assert list(stream_paragraphs(tmp_path / "book.txt")) == [
        'The clock of Mr. Hale stood still. "Did it?" she asked.',
        "He nodded.",
    ]
    (tmp_path / "lines.txt").write_bytes(("word " * 50 + "\nAnother café.\n").encode("latin-1"))
    assert list(stream_paragraphs(tmp_path / "lines.txt")) == [" ".join(["word"] * 50), "Another café."]
    (tmp_path / "zero.txt").write_bytes(b"a\0b")
    with pytest.raises(FairlabError, match=r"zero\.txt, line 1 is not plain text"):
        list(stream_paragraphs(tmp_path / "zero.txt"))


def trained(tiny_model, file, folder, *, killed_at=None, ckpt_path=None, accumulate=2):
    """History and weights of a run that is killed, or not, before a batch."""
    backbone = tiny_model()
    method = MLM(backbone, **VALUES | {"rank": None, "epochs": 2, "dropout": {"hidden": 0.1, "attention": 0.1}})
    data = make(backbone, file, epochs=2, augmentation=PerturbedText(axes=["gender"], person="everybody"))
    history = History(folder)
    seen = []

    def start(trainer, module, batch, index):
        if index == killed_at:
            raise ZeroDivisionError
        seen.extend(batch.positions.tolist())

    watch = lightning.pytorch.callbacks.LambdaCallback(on_train_batch_start=start)
    trainer = lightning.Trainer(
        max_epochs=1,
        max_steps=data.total_batches,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        val_check_interval=2 * accumulate,
        accumulate_grad_batches=accumulate,
        callbacks=[watch, history, Checkpoints(folder, 1)],
        default_root_dir=folder,
    )
    trainer.fit(method, data, ckpt_path=ckpt_path, weights_only=True)
    return history.rows, backbone.model.state_dict(), seen, data


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [5, 6])  # between two steps, and at one
def test_a_run_killed_in_mid_epoch_repeats_and_skips_nothing(tokenizer, tiny_folders, file, tmp_path, killed_at):
    from fairlab.backbones.loading import load_backbone

    def model():
        backbone = load_backbone(str(tiny_folders["bert"]), pooling="mean", max_length=32, normalize=False)
        torch.manual_seed(0)
        backbone.model = with_masked_lm_head(backbone.model)
        return backbone

    rows, weights, seen, data = trained(model, file, tmp_path / "whole")
    assert len(seen) >= 2 * data.blocks("train") - data.batch_size
    with pytest.raises(ZeroDivisionError):
        trained(model, file, tmp_path / "killed", killed_at=killed_at)
    again_rows, again, rest, _ = trained(model, file, tmp_path / "killed", ckpt_path=tmp_path / "killed" / "last.ckpt")
    assert again_rows == rows
    assert all(torch.equal(again[name], weights[name]) for name in weights)
    # It went on at the last whole step: batch 4 or 6.
    assert rest == seen[-len(rest) :]
    assert len(seen) - len(rest) == (killed_at - killed_at % 2) * data.batch_size


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"block": 7}, "at least 8 and at most"),
        ({"block": 64}, r"at least 8 and at most the 32 tokens .*, not 64; set data.block=32"),
        ({"augmentation": object()}, "this augmentation works on counterfactual groups"),
        ({"limit_characters": 1}, "too little text for"),
    ],
)
def test_bad_values_are_named(tiny, file, changes, words):
    with pytest.raises(FairlabError, match=words):
        make(tiny, file, **changes)


def test_bad_rows_and_places_are_named(tiny, tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"txt": "a"}) + "\n")
    with pytest.raises(FairlabError, match=r"x\.jsonl, line 1: no text in the field 'text'"):
        make(tiny, tmp_path / "x.jsonl")
    with pytest.raises(DataUnavailable, match="there is no file or folder"):
        make(tiny, tmp_path / "nothing")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(FairlabError, match="too little text for train"):
        make(tiny, tmp_path / "empty.txt")


def test_documents_are_separated_and_attention_can_end_there(tiny, tmp_path):
    rows = [
        {"text": f"The {word} sat here and it was warm."} for word in ("cat", "dog", "man", "boy") for _ in range(3)
    ]
    rows = [row | {"text": f"{row['text']} Number {number}."} for number, row in enumerate(rows)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain, apart = make(tiny, path), make(tiny, path, separators=True, across_documents=False)
    separator = tiny.tokenizer.sep_token_id
    for split in ("train", "validation"):
        tokens = apart.tokens[split].read(0, len(apart.tokens[split]))
        assert tokens[tokens != separator].tolist() == plain.tokens[split].read(0, len(plain.tokens[split])).tolist()
        assert tokens[-1] == separator
    assert sum((apart.tokens[split].read(0, 10**6) == separator).sum() for split in apart.tokens) == len(rows)
    assert apart.manifest.original_tokens == len(apart.tokens["train"])
    assert ("separators" in plain.manifest.made_of, apart.manifest.made_of["separators"]) == (False, True)

    batch = next(iter(apart.train_dataloader()))
    assert (batch.documents.diff(dim=1)[:, :3] >= 0).all()
    for ids, documents in zip(batch.input_ids, batch.documents, strict=True):
        for place in range(len(ids) - 1):
            ended = int(ids[place] == separator)
            assert documents[place + 1] == documents[place] + ended or documents[place + 1] == -1
    method = MLM(tiny, **VALUES | {"rank": None})
    masked = MaskedBatch(batch.input_ids, batch.attention_mask, batch.positions, *[batch.positions] * 2, True)
    row = int((batch.documents.max(dim=1).values > 0).nonzero()[0])
    second = batch.documents[row] == 1
    with torch.no_grad():
        changed = batch.input_ids.clone()
        changed[batch.documents == 0] = 1000  # another first document
        hidden = [
            method.encoder.model.base_model(
                input_ids=ids, attention_mask=attention_of(replace(masked, documents=documents), torch.float32)
            ).last_hidden_state[row][second]
            for documents in (batch.documents, None)
            for ids in (batch.input_ids, changed)
        ]
    torch.testing.assert_close(hidden[0], hidden[1])
    assert (hidden[2] - hidden[3]).abs().max() > 1e-4, "without the mask the first document is seen"


def test_documents_are_numbered_within_their_block():
    ids, mask = torch.tensor([[5, 1, 6, 1, 7, 0]]), torch.tensor([[1, 1, 1, 1, 1, 0]])
    assert documents_of(ids, mask, separator=1).tolist() == [[0, 0, 1, 1, 2, -1]]


def test_attention_cannot_end_at_separators_that_are_not_there(tiny, file):
    with pytest.raises(FairlabError, match=r"data\.across_documents=false needs data\.separators=true"):
        make(tiny, file, across_documents=False)


def test_a_file_is_one_document(tiny, file):
    data = make(tiny, file, separators=True)
    for split in ("train", "validation"):
        tokens = data.tokens[split].read(0, len(data.tokens[split]))
        assert (tokens == tiny.tokenizer.sep_token_id).sum() == 1
        assert tokens[-1] == tiny.tokenizer.sep_token_id
    assert data.manifest.original_tokens == len(data.tokens["train"])
    assert next(iter(data.train_dataloader())).documents is None


def test_a_path_alone_can_be_augmented():
    assert PackedText.rows_to_augment({"paths": ["a"]}) == "a"
    assert PackedText.rows_to_augment({"paths": ["a", "b"]}) is None


def test_validation_is_capped_by_tokens_and_the_same_each_time(tiny, file):
    """Four blocks of 14 tokens are a batch: 56 tokens fit one, 57 do not."""
    whole = list(make(tiny, file, validation=0.5, seed=1).val_dataloader())
    assert len(whole) > 2
    order = [batch.positions.tolist() for batch in whole]
    assert order == list(BlockBatches(make(tiny, file, validation=0.5).blocks("validation"), 4, epochs=1, seed=0))
    for tokens, batches in ((56, 1), (57, 2), (10**6, len(whole))):
        loader = make(tiny, file, validation=0.5, validation_tokens=tokens).val_dataloader()
        for _ in range(2):
            assert [batch.positions.tolist() for batch in loader] == order[:batches]
        assert len(loader) == batches
    assert next(iter(loader)).input_ids.equal(whole[0].input_ids)
