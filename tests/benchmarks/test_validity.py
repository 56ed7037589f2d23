"""The gate before any reading: what is broken is not measured, and what knows no language is said to."""

import contextlib
import json
import re
import shutil
import warnings

import pytest
import torch
from transformers import PreTrainedTokenizerFast

import fairlab
from fairlab.api.loading import load_trainable
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import find_weights, load_backbone
from fairlab.benchmarks.runner import gate, measure
from fairlab.benchmarks.validity import Validity, validity
from fairlab.benchmarks.validity.embeddings import _check_changes, paraphrase_share
from fairlab.benchmarks.validity.language import _inserted, check_language
from fairlab.benchmarks.validity.senses import shuffled_twin
from fairlab.benchmarks.validity.texts import PARAPHRASES, SENSES
from fairlab.benchmarks.validity.weights import structure
from fairlab.record import SAYS_NOTHING, Outcome, Reading, Record
from fairlab.types import Description, FairlabError
from tests.conftest import MINILM

HOW = {"pooling": "mean", "max_length": 32, "normalize": False}


class Counted:
    """A benchmark that gives one reading, and counts how often it was asked."""

    def __init__(self, name):
        self.name, self.asked = name, 0

    version = 1
    description = Description("counted", "Counted", "?", {})

    def measure(self, backbone, before=None):
        self.asked += 1
        reading = Reading(self.name, "all", "gap", 0.1, "points", 0.0, 8, 0.0, 0.2, headline=True)
        return Outcome(readings=[reading])


def measured(backbone, folder):
    benchmarks = [Counted("one"), Counted("two")]
    record = Record(folder, {"seed": 0}, "command")
    measure(benchmarks, backbone, "", record)
    return record, [benchmark.asked for benchmark in benchmarks]


def assert_not_run(backbone, folder, reason):
    record, asked = measured(backbone, folder)
    assert asked == [0, 0]
    assert not record.readings
    assert [entry.benchmark for entry in record.not_run] == ["one", "two"]
    for entry in record.not_run:
        assert reason in entry.reason


def test_a_model_without_its_tokenizer_is_not_measured(tiny_folders, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_folders["bert"], folder)
    (folder / "tokenizer.json").unlink()
    backbone = load_backbone(str(folder), **HOW)
    assert_not_run(backbone, tmp_path, "unknown to the tokenizer, which has 5; is its file (tokenizer.json) missing")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(tiny, tmp_path, value):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.dense.weight[3, 4] = value
    assert_not_run(
        tiny, tmp_path, "the weights model.encoder.layer.1.output.dense.weight hold values that are not finite"
    )


def test_texts_that_cannot_be_told_apart(tiny, tmp_path):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.LayerNorm.weight.zero_()
    assert_not_run(tiny, tmp_path, "have the same embedding; every gap would be 0")


def test_a_tokenizer_of_a_larger_model(tiny, tmp_path):
    tiny.model.resize_token_embeddings(30_000)
    assert_not_run(tiny, tmp_path, "the tokenizer produces token 30521, but the model has only 30000 tokens")


def test_embeddings_that_overflow(tiny, tmp_path):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.LayerNorm.weight.fill_(3e38)
    assert_not_run(tiny, tmp_path, "embeddings of plain sentences are not finite")


@pytest.mark.parametrize("name", ["bert", "bert_mlm", "roberta_mlm", "albert_mlm", "gpt2", "llama"])
def test_a_model_of_random_weights_is_said_to_be_one_at_every_reading(tiny_folders, tmp_path, name):
    record, asked = measured(load_backbone(str(tiny_folders[name]), **HOW), tmp_path)
    assert asked == [1, 1]
    marked = [note for note in record.notes if note.mark]
    assert [note.benchmark for note in marked] == ["one", "two"]
    for note, reading in zip(marked, record.readings, strict=True):
        assert note.text.startswith("these numbers say nothing about bias: ")
        assert record.marks(reading) == [SAYS_NOTHING]
    assert ("as a language model it is no better than chance" in marked[0].text) == (name != "bert")


def test_a_strict_run_refuses_a_model_that_fails(tiny, tmp_path):
    record = Record(tmp_path, {"seed": 0, "strict": True}, "command")
    with pytest.raises(FairlabError, match=r"^the model was refused by strict=true: .*; use a sound copy, or leave"):
        measure([Counted("one")], tiny, "", record)
    assert not record.readings


def test_a_continued_run_takes_the_result_from_its_record(tiny, tmp_path):
    record, _ = measured(tiny, tmp_path)
    again = Record.load(tmp_path)
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.dense.weight[3, 4] = torch.nan
    kept = gate(tiny, "", again)
    assert kept == Validity.of(record.provenance["validity"][""])
    assert kept.failures
    assert not kept.reason


@pytest.mark.parametrize("name", ["minilm", "minilm_mlm"])
@pytest.mark.slow
def test_trained_models_pass_without_a_word(name):
    adapters = {"adapters": "minilm_mlm"} if name == "minilm_mlm" else {}
    backbone = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True, **adapters)
    assert validity(backbone) == Validity()


def _shuffle_rows(model):
    rows = model.embeddings.word_embeddings.weight
    rows.copy_(rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))])


def _hide_places(model):
    model.embeddings.position_embeddings.weight.zero_()


def _flatten_output(model):
    model.encoder.layer[5].output.LayerNorm.weight.mul_(1e-4)
    model.encoder.layer[5].output.LayerNorm.bias.add_(1.0)


def _draw_one_layer(model):
    for name, weight in model.encoder.layer[3].named_parameters():
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.02, generator=torch.Generator().manual_seed(len(name)))


def _transpose_attention(model):
    for layer in model.encoder.layer:
        for module in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value):
            module.weight.copy_(module.weight.T.clone())


def _draw_attention(model):
    for name, weight in model.encoder.layer[2].attention.named_parameters():
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.05, generator=torch.Generator().manual_seed(len(name)))


def _silence_attention(model):
    for layer in model.encoder.layer:
        layer.attention.output.dense.weight.zero_()
        layer.attention.output.dense.bias.zero_()


def _repeat_first_layer(model):
    for layer in model.encoder.layer[1:]:
        layer.load_state_dict(model.encoder.layer[0].state_dict())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_shuffle_rows, "its word embeddings hold no meaning"),
        (_hide_places, "the order of words makes no difference"),
        (_flatten_output, "its embeddings are nearly constant"),
        (_draw_one_layer, "the weights of layer 3 are random numbers"),
        (_transpose_attention, "its layers rarely distinguish word senses"),
        (_draw_attention, "the attention weights of layer 2 are random numbers"),
        (_silence_attention, "its layers do not read the context"),
    ],
)
@pytest.mark.slow
def test_damage_is_told_by_behaviour(change, said):
    backbone = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True)
    with torch.no_grad():
        change(backbone.transformer)
    found = validity(backbone)
    assert not found.reason
    assert any(said in failure for failure in found.failures), found


@pytest.mark.slow
def test_another_token_than_the_mask_is_told():
    backbone = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True, adapters="minilm_mlm")
    assert not list(check_language(backbone))
    backbone.tokenizer.mask_token = "[UNK]"
    (found,) = check_language(backbone)
    assert re.match(
        r"its mask token \[UNK\] hides words worse than \[MASK\] does \(6\.\d+ nats .*, 4\.\d+\)", found.text
    )


@pytest.mark.slow
def test_a_folder_that_pools_sentences_and_does_not_separate_them_is_not_judged():
    backbone = load_trainable(find_weights(**MINILM))
    with torch.no_grad():
        _repeat_first_layer(backbone.transformer)
    (said,) = validity(backbone).not_judged
    assert said.startswith("its sentence embeddings hardly separate paraphrases better than its word embeddings do")


def test_words_that_are_all_the_same_to_a_tokenizer_are_told(tiny_folders, tmp_path):
    folder = shutil.copytree(tiny_folders["bert"], tmp_path / "model")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"] = {
        word: number for word, number in content["model"]["vocab"].items() if not word.startswith("##")
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    found = validity(load_backbone(str(folder), **HOW))
    assert "rarer words and names are unknown, and so alike, to its tokenizer" in found.not_judged[0]


def test_a_configuration_of_fewer_layers_is_told_by_the_weights_it_leaves_out(tiny_folders, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_folders["bert"], folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    backbone = load_backbone(str(folder), **HOW)
    assert backbone.unread[0] == "encoder.layer.1.attention.output.LayerNorm.bias"
    assert len(backbone.unread) == 16
    assert validity(backbone).failures[0].startswith("its file holds 16 weights that its config.json leaves out")


def test_heads_that_a_body_leaves_out_are_not_missed(tiny_folders):
    for folder in tiny_folders.values():
        assert not load_backbone(str(folder), **HOW).unread


def test_a_model_of_few_tokens_is_not_judged_by_sentences(tiny):
    tiny.max_length = 8
    assert validity(tiny).not_judged == ("it reads only 8 tokens, too few for the sentences of the check",)


def test_the_twin_is_gone_outside_its_context(tiny):
    texts = ["the boat", "a bridge over the river"]
    before = tiny.embed(texts)
    with shuffled_twin(tiny):
        assert not torch.allclose(tiny.embed(texts), before)
    assert torch.equal(tiny.embed(texts), before)


def test_structure_is_1_of_random_numbers_and_more_of_a_matrix_with_a_direction():
    random = torch.randn(300, 200, generator=torch.Generator().manual_seed(0))
    assert structure(random) == pytest.approx(1.0, abs=0.05)
    direction = torch.outer(torch.arange(300) % 2 - 0.5, torch.arange(200) % 3 - 1.0)
    assert structure(random + direction) > 1.5
    assert structure(torch.zeros(70, 70)) == 0


def test_paraphrase_share_by_hand():
    # Each sentence is followed by its paraphrase. In three places of their own, all 12 comparisons are right; where
    # the first two paraphrases are exchanged, only those of the third sentence are: with two others each way.
    one, two, three = torch.eye(3)
    assert paraphrase_share(torch.stack([one, one, two, two, three, three])) == 1.0
    crossed = torch.stack([one, two, two, one, three, three])
    assert paraphrase_share(crossed) == pytest.approx(4 / 12)


def test_paraphrases_share_no_word():
    for first, second in PARAPHRASES:
        assert not set(re.findall(r"[a-z']+", first.lower())) & set(re.findall(r"[a-z']+", second.lower()))


def test_an_ambiguous_word_stands_once_in_each_of_its_sentences():
    for word, *senses in SENSES:
        for text in (text for pair in senses for text in pair):
            assert len(re.findall(rf"\b{word}\b", text.lower())) == 1, text
            assert text.lower().index(word) == re.search(rf"\b{word}\b", text.lower()).start(), text


def test_load_warns_at_the_first_embedding_alone(tiny_folders):
    model = fairlab.load(str(tiny_folders["bert"]), max_length=32)
    with pytest.warns(UserWarning, match="the embeddings of this model say nothing about bias") as said:
        model.embed(["a boat"])
    assert said[0].filename == __file__  # where the text is embedded
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.embed(["a bridge"])
    with pytest.raises(FairlabError, match="was refused by strict=true"):
        fairlab.load(str(tiny_folders["bert"]), max_length=32, strict=True)


def test_a_tokenizer_that_gives_no_token(tiny, tmp_path):
    from tokenizers import Tokenizer, models

    nothing = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"[PAD]": 0}, [])), pad_token="[PAD]")
    backbone = Backbone(tiny.model, nothing, pooling="mean", max_length=32, normalize=False)
    assert_not_run(backbone, tmp_path, "all tokens of plain English are unknown")


class BagOfWords:
    """An encoder that sums a random vector for each word, so that the order of words makes no difference."""

    def embed(self, texts, **_):
        found = [[hash_of(word) for word in text.lower().strip(".?!").split()] for text in texts]
        return torch.stack([torch.stack([self.row(number) for number in numbers]).sum(dim=0) for numbers in found])

    def row(self, number):
        return torch.randn(8, generator=torch.Generator().manual_seed(number))

    def remembering(self):
        return contextlib.nullcontext()


def hash_of(word):
    return int.from_bytes(word.encode(), "little") % 2**31


def test_an_encoder_that_sums_words_is_blind_to_their_order_alone():
    said = [finding.text for finding in _check_changes(BagOfWords(), 1.0)]
    assert len(said) == 1
    assert said[0].startswith("to its embeddings the order of words makes no difference: ")


@pytest.mark.parametrize(
    ("ids", "others", "places"),
    [([1, 8, 9, 2, 3], [1, 2, 3], [1, 2]), ([1, 2, 9, 3], [1, 2, 3], [2]), ([1, 9, 3, 4], [1, 2, 3, 4], [1])],
)
def test_an_inserted_word_is_found_between_the_shared_ends(ids, others, places):
    assert _inserted(ids, others) == places
