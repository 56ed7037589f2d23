"""The perturber's input formats, its decoding against transformers' own, and its text."""

import copy
from dataclasses import dataclass

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.export import export_backbone
from fairlab.lexicons import load_lexicon
from fairlab.methods.perturber import add_markers
from fairlab.rewriting.decoding import shifted
from fairlab.rewriting.perturber import (
    PERT_SEP,
    SEP,
    Perturber,
    PerturberWords,
    greedy,
    in_the_case_of,
    load_perturber,
    source_text,
)
from fairlab.types import CannotScore, FairlabError
from tests.conftest import WORDS

IDS = {"pad_token_id": 0, "eos_token_id": 102, "decoder_start_token_id": 102}


def bart(**changes):
    size = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "init_std": 0.4}
    settings = {"vocab_size": 30522, "max_position_embeddings": 64, "bos_token_id": 101, "forced_eos_token_id": None}
    return BartForConditionalGeneration(BartConfig(**IDS, **settings | size | heads | changes))


def t5():
    size = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    return T5ForConditionalGeneration(T5Config(vocab_size=30522, **IDS, **size, initializer_factor=3.0))


def backbone_of(model, tokenizer):
    return Backbone(model.eval(), tokenizer, pooling="mean", max_length=64, normalize=False)


@pytest.fixture(params=["bart", "bart with a forced first token", "t5"])
def seq2seq(request, tokenizer):
    torch.manual_seed(3)
    model = {"bart": bart, "t5": t5}.get(request.param, lambda: bart(forced_bos_token_id=101))()
    return backbone_of(model, tokenizer)


def test_formats_by_hand():
    asked = ("her", "native-american", "Kate lost her pen .")
    assert source_text("paper", *asked) == "her race:native american or alaska native <PERT_SEP> Kate lost her pen ."
    assert source_text("facebook/perturber", *asked) == "her, native-american <PERT_SEP> Kate lost her pen ."
    assert source_text("perturbers", *asked) == "her<SEP> native-american<PERT_SEP> Kate lost her pen ."
    assert source_text("paper", "her", "neutral", "x") == "her gender:non-binary/underspecified <PERT_SEP> x"
    assert source_text("paper", "ten", "young", "x") == "ten age:young (18-44) <PERT_SEP> x"
    with pytest.raises(FairlabError, match=r"paper, facebook/perturber, perturbers, not bart"):
        source_text("bart", *asked)
    with pytest.raises(FairlabError, match="knows no attribute 'male'"):
        source_text("paper", "her", "male", "x")


def test_batches_decode_as_generate_does_one_by_one(seq2seq):
    texts = [" ".join(WORDS[: 1 + k]) for k in (3, 0, 7, 5, 2, 9)]
    token_ids = seq2seq.tokenize(texts)
    ends = set()
    for ids, found in zip(token_ids, greedy(seq2seq, token_ids), strict=True):
        expected = seq2seq.model.generate(
            input_ids=torch.tensor([ids]), do_sample=False, num_beams=1, max_new_tokens=min(len(ids) + 16, 64)
        )
        assert found == expected[0, 1:].tolist()
        ends.add(len(found))
    assert len(ends) > 1


def test_sequences_that_end_early_are_cut_there(tokenizer):
    torch.manual_seed(0)
    backbone = backbone_of(bart(), tokenizer)
    token_ids = backbone.tokenize([" ".join(WORDS[:k]) for k in range(2, 9)])
    long = greedy(backbone, token_ids)
    common = max({token for ids in long for token in ids}, key=lambda token: sum(token in ids for ids in long))
    backbone.model.generation_config.eos_token_id = [102, common]
    for ids, found in zip(long, greedy(backbone, token_ids), strict=True):
        assert found == ids[: ids.index(common) + 1] if common in ids else found == ids


def test_the_decoder_sees_the_tokens_before(tokenizer):
    targets = torch.tensor([[5, 6, 102], [7, 102, -100]])
    assert shifted(backbone_of(bart(), tokenizer), targets).tolist() == [[102, 5, 6], [102, 7, 102]]


@pytest.mark.parametrize(
    ("original", "rewritten", "expected"),
    [
        ('He said: "I\'d go".', 'she said : " i \' d go " .', 'She said: "I\'d go".'),
        ("An Asian doctor (MR. Smith) left.", "a doctor ( mrs. smith ) left .", "A doctor (MRS. Smith) left."),
        ("The café is HIS.", "the cafe is hers .", "The café is HERS."),
        ("He and she left", "they left", "They left"),
        ("Is it true? <SEP> Yes.", "is it true ? <SEP> yes, it is .", "Is it true? <SEP> Yes , it is."),
        ("That _HE_ knew.", "that _ she _ knew .", "That _SHE_ knew."),
        ("", "new", "new"),
        ("All gone", "", ""),
    ],
)
def test_case_and_spaces_come_from_the_original(tokenizer, original, rewritten, expected):
    def fold(word):
        return tokenizer.backend_tokenizer.normalizer.normalize_str(word)

    assert in_the_case_of(original, rewritten, fold) == expected


def test_a_text_copied_by_the_model_comes_back_as_it_was(tokenizer, monkeypatch):
    backbone = backbone_of(bart(), copy.deepcopy(tokenizer))
    add_markers(backbone, seed=0)
    perturber = Perturber(backbone, format="paper")
    text = 'Amélie\'s  "old" T-shirt, size 3.5 (blue) -- gone! \U0001f9a9 <SEP> Yes.'
    monkeypatch.setattr("fairlab.rewriting.perturber.greedy", lambda _, rows: backbone.tokenize([text] * len(rows)))
    assert perturber.rewrite([text], ["Amélie"], ["man"]) == [text]


def test_texts_too_long_are_kept_and_counted(tokenizer, monkeypatch):
    perturber = Perturber(backbone_of(bart(), tokenizer), format="paper")
    long = " ".join(WORDS * 8)
    made = perturber.rewrite(["she left", long], ["she", "boat"], ["man", "woman"])
    assert made[1] == long
    assert made[0] != "she left"
    assert perturber.cut == 1
    assert perturber.rewrite([], [], []) == []
    length = len(tokenizer(source_text("paper", "she", "man", "she left"))["input_ids"])
    for longest, cut in ((length, 1), (length - 1, 2)):
        monkeypatch.setattr("fairlab.rewriting.perturber.longest", lambda _, longest=longest: longest)
        perturber.rewrite(["she left"], ["she"], ["man"])
        assert perturber.cut == cut


def test_a_model_without_a_format_is_refused(tokenizer, tiny):
    with pytest.raises(CannotScore, match=r"train it with \+experiment=perturber, or name the format"):
        Perturber(backbone_of(bart(), tokenizer))
    with pytest.raises(CannotScore, match="BertModel is neither an encoder-decoder"):
        Perturber(tiny, format="paper")


@dataclass(frozen=True)
class Chosen:
    word: str
    target: str


def test_an_exported_model_loads_as_a_rewriter(tokenizer, tmp_path):
    torch.manual_seed(0)
    backbone = backbone_of(bart(), copy.deepcopy(tokenizer))
    add_markers(backbone, seed=0)
    backbone.model.config.perturber_format = "facebook/perturber"
    export_backbone(backbone, tmp_path / "model", "card")
    assert not (tmp_path / "model" / "modules.json").exists()

    load_perturber.cache_clear()
    rewriter = PerturberWords(lexicon=load_lexicon("gender"), model=str(tmp_path / "model"))
    assert rewriter.provenance["format"] == "facebook/perturber"
    assert rewriter.perturber.backbone.tokenizer.tokenize(f"a {PERT_SEP} b {SEP} c") == ["a", PERT_SEP, "b", SEP, "c"]
    texts = ["She saw her boat.", "He left."]
    chosen = [Chosen("She", "neutral"), Chosen("He", "woman")]
    expected = Perturber(backbone).rewrite(texts, ["She", "He"], ["non-binary", "woman"])
    assert rewriter.rewrite_words(texts, chosen) == expected
    for refused in (rewriter.groups, rewriter.swapped):
        with pytest.raises(FairlabError, match="rewriter=perturber"):
            refused(texts)
