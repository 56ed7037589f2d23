"""Tiny models with random weights and the names of the papers' models, in the layout of the hub's cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

REVISION = "0" * 40
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]  # special tokens of RoBERTa and BART, in the order of their ids
OF_LLAMA = ["<unk>", "<s>", "</s>"]
WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
APART = {"initializer_range": 0.5}  # makes the embeddings of texts as different as a trained encoder's
WIDER = 8.0  # factor on the norms' weights, for the same reason: CCD's bandwidth is a variance
OF_BART = {
    "d_model": 32,
    "max_position_embeddings": 1024,
    **{f"{half}_{what}": count for half in ("encoder", "decoder") for what, count in
       (("layers", 1), ("attention_heads", 2), ("ffn_dim", 64))},
}  # fmt: skip


def write_models(cache: Path, text: list[str]) -> None:
    """Write a tiny model for every model that a matrix names, with the published number of positions.

    Args:
        cache: Folder for ``HF_HUB_CACHE``.
        text: Sentences from which byte-level vocabularies are learned.
    """
    import torch
    import transformers as t

    pairs, llama = byte_level(text, SPECIAL), byte_level(text, OF_LLAMA)
    pieces = t.AutoTokenizer.from_pretrained(embedded())
    bert = {"vocab_size": len(pieces), "max_position_embeddings": 512, **WIDE, **APART}
    distil = {"vocab_size": len(pieces), "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, **APART}
    roberta = {"vocab_size": len(pairs), "max_position_embeddings": 514, "type_vocab_size": 1, **WIDE, **APART}
    bart = {"vocab_size": len(pairs), **OF_BART}
    causal = {"vocab_size": len(llama), "max_position_embeddings": 4096, **WIDE}
    models: dict[str, tuple[Callable[[], Any], Any]] = {
        "google-bert/bert-large-uncased": (lambda: t.BertForMaskedLM(t.BertConfig(**bert)), pieces),
        "google-bert/bert-base-uncased": (lambda: t.BertForMaskedLM(t.BertConfig(**bert)), pieces),
        "distilbert/distilbert-base-uncased": (lambda: t.DistilBertForMaskedLM(t.DistilBertConfig(**distil)), pieces),
        "FacebookAI/roberta-base": (lambda: t.RobertaForMaskedLM(t.RobertaConfig(**roberta)), pairs),
        **dict.fromkeys(
            ("facebook/bart-large", "facebook/bart-large-cnn", "minwhoo/bart-base-negative-claim-generation"),
            (lambda: t.BartForConditionalGeneration(t.BartConfig(**bart)), pairs),
        ),
        "meta-llama/Llama-2-13b-chat-hf": (lambda: t.LlamaForCausalLM(t.LlamaConfig(**causal)), llama),
    }
    for name, (made, tokenizer) in models.items():
        torch.manual_seed(0)
        repository = cache / f"models--{name.replace('/', '--')}"
        folder = repository / "snapshots" / REVISION
        model = made()
        for one, weights in model.named_parameters():
            if one.endswith("output.LayerNorm.weight"):
                weights.data *= WIDER
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")


def embedded() -> Path:
    """Return the folder of the bundled encoder, whose vocabulary is BERT's."""
    from fairlab.backbones.loading import EMBEDDED, find_weights

    return find_weights("sentence-transformers/all-MiniLM-L6-v2", package=EMBEDDED)


def byte_level(text: list[str], special: list[str]) -> Any:
    """Return a byte-level tokenizer with 1,000 tokens that adds the start and end tokens of the model's family."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(text, trainer)
    whole = "<mask>" in special  # masked models use an end token, causal ones do not
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if whole else "<s> $A",
        pair="<s> $A </s> </s> $B </s>" if whole else "<s> $A $B",
        special_tokens=[(name, special.index(name)) for name in ("<s>", "</s>")],
    )
    masks = {"mask_token": "<mask>", "pad_token": "<pad>"} if whole else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=512 if whole else 4096,
        **({"cls_token": "<s>", "sep_token": "</s>"} if whole else {}),
        **masks,
    )
