"""Summaries: what is left out, what must stay."""

from types import SimpleNamespace

import torch
from transformers import AutoTokenizer, BartConfig, BartForConditionalGeneration

from fairlab.rewriting.morphs.summaries import ExtractiveSummary, ModelSummary
from fairlab.text.words import TermFinder

HELD = TermFinder(["Swede", "Swedes", "Indian", "Indians", "Chinese people"])


def held(text):
    return [(span.start, span.end) for span in HELD.find(text)]


def test_extractive_summaries_by_hand():
    text = (
        "The garden was old. The garden had roses and the roses grew. It rained. A Swede came. The roses of the garden "
        "won. Nobody knew."
    )
    summary = ExtractiveSummary(held)
    # Counts: garden 3, roses 3, others 1; means 2, 7/3, 1, 1, 7/3, 1. Two of six are kept, one with a held word.
    assert summary([text]) == ["The garden had roses and the roses grew. A Swede came."]
    assert summary([text.replace("Swede", "guest")]) == [
        "The garden had roses and the roses grew. The roses of the garden won."
    ]
    assert summary(["One sentence stays.", ""]) == ["One sentence stays.", ""]


def test_summaries_by_a_sequence_to_sequence_model(tmp_path, tiny_folders):
    tokenizer = AutoTokenizer.from_pretrained(tiny_folders["bert"])
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.cls_token_id,
        forced_eos_token_id=tokenizer.sep_token_id,
    )
    BartForConditionalGeneration(config).save_pretrained(tmp_path)
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(tmp_path)
    made = ModelSummary(str(tmp_path), batch_size=2)(["The cat sat.", "The dog ran away.", "A bird sang."])
    assert len(made) == 3
    assert all(isinstance(text, str) for text in made)


def test_a_model_runs_no_code_of_its_folder(monkeypatch, tmp_path):
    asked = {}

    def load(kind):
        return lambda folder, **options: asked.update({kind: options}) or SimpleNamespace(eval=lambda: "model")

    monkeypatch.setattr("fairlab.rewriting.morphs.summaries.find_weights", lambda name: name)
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", load("tokenizer"))
    monkeypatch.setattr("transformers.AutoModelForSeq2SeqLM.from_pretrained", load("model"))
    assert ModelSummary("some/model").batch_size == 8
    assert asked == {
        "tokenizer": {"trust_remote_code": False},
        "model": {"trust_remote_code": False, "use_safetensors": True},
    }
