"""Random models, tokenizers and texts of known sizes, for measurements on a machine without weights and network.

Weights are random and contain no knowledge of language. Texts consist of randomly combined sentences that are bundled
with fairlab.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.data.groups import read_groups
from fairlab.types import Group

SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
WORDS = 8_000  # size of the trained vocabularies; the models' vocabularies are larger


@dataclass(frozen=True)
class Sizes:
    """Sizes of the models and texts.

    Attributes:
        models: Configuration values of each model, by name.
        long: Number of words in a long text, which is truncated to the maximum input length.
        groups: Number of counterfactual groups with long texts.
        words: Number of words in the running text.
        rows: Number of labelled texts, of pairs for the perturber, and of sentence pairs.
        length: Maximum input length in tokens.
    """

    models: dict[str, dict[str, Any]]
    long: int
    groups: int
    words: int
    rows: int
    length: int


BERT = {"vocab_size": 30522, "max_position_embeddings": 512}
FULL = Sizes(
    models={
        "bert_small": BERT
        | {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
        | {"intermediate_size": 1024},
        "bert_large": BERT
        | {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
        | {"intermediate_size": 4096},
        "roberta_base": {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
        "bart_large": {"vocab_size": 50265},
        "llama_1b": {"vocab_size": 32000, "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32}
        | {"num_key_value_heads": 8, "intermediate_size": 8192, "max_position_embeddings": 2048},
    },
    long=700,
    groups=256,
    words=1_000_000,
    rows=12_000,
    length=512,
)
NARROW = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
TINY = Sizes(
    models={
        "bert_small": BERT | NARROW,
        "bert_large": BERT | NARROW,
        "roberta_base": {"vocab_size": 9000, "max_position_embeddings": 514, "type_vocab_size": 1} | NARROW,
        "bart_large": {"vocab_size": 9000, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1}
        | {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
        "llama_1b": {"vocab_size": 9000, "max_position_embeddings": 512} | NARROW,
    },
    long=70,
    groups=40,
    words=40_000,
    rows=400,
    length=64,
)


def make_all(folder: Path, sizes: Sizes, device: str) -> dict[str, Any]:
    """Write models, tokenizers and texts to a folder, and return the sizes of the models.

    Args:
        folder: Folder to write to.
        sizes: Sizes of models and texts.
        device: Device on which the weights are initialised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    groups = read_groups("embedded/people")
    write_texts(folder, groups, sizes)
    tokenizers = {"word_pieces": word_pieces(groups, sizes.length), "byte_pairs": byte_pairs(groups, sizes.length)}
    return {name: make_model(name, folder / name, values, tokenizers, device) for name, values in sizes.models.items()}


def make_model(
    name: str, folder: Path, values: dict[str, Any], tokenizers: dict[str, Any], device: str
) -> dict[str, int]:
    """Save a random model with its tokenizer, and return the number of layers, the width and the numbers of weights."""
    import torch
    import transformers

    kinds = {"bert": "Bert:ForMaskedLM", "roberta": "Roberta:ForMaskedLM", "bart": "Bart:ForConditionalGeneration"}
    family, head = (kinds | {"llama": "Llama:ForCausalLM"})[name.split("_")[0]].split(":")
    tokenizer = tokenizers["word_pieces" if family == "Bert" else "byte_pairs"]
    ids = {key: getattr(tokenizer, f"{key}_token_id") for key in ("pad", "bos", "eos")}
    given = {f"{key}_token_id": value for key, value in ids.items() if value is not None}
    if family == "Bart":
        given |= {"decoder_start_token_id": ids["eos"], "forced_eos_token_id": None}
    config = getattr(transformers, f"{family}Config")(**values, **given)
    torch.manual_seed(0)
    with torch.device(device):
        model = getattr(transformers, f"{family}{head}")(config)
    if family == "Llama":
        model = model.to(torch.bfloat16)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    body = model.base_model
    embeddings = {one.weight for one in body.modules() if isinstance(one, torch.nn.Embedding)}  # counts tied ones once
    weights = sum(one.numel() for one in body.parameters())
    return {
        "weights": sum(one.numel() for one in model.parameters()),
        "multiplied": weights - sum(one.numel() for one in embeddings),
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "vocabulary": config.vocab_size,
    }


def word_pieces(groups: list[Group], length: int) -> Any:
    """Train a BERT tokenizer on the texts of the groups."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertTokenizerFast

    made = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"]))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=list(SPECIAL.values()), show_progress=False)
    made.train_from_iterator((text for group in groups for text in group.texts), trainer)
    cls, sep = SPECIAL["cls"], SPECIAL["sep"]
    made.post_processor = processors.BertProcessing((sep, made.token_to_id(sep)), (cls, made.token_to_id(cls)))
    return BertTokenizerFast(tokenizer_object=made, model_max_length=length, do_lower_case=True)


def byte_pairs(groups: list[Group], length: int) -> Any:
    """Train a byte-level BPE tokenizer with RoBERTa's special tokens on the texts of the groups."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=list(names.values()), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator((text for group in groups for text in group.texts), trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    special = {f"{key}_token": value for key, value in names.items()} | {"cls_token": "<s>", "sep_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=length, **special)


def write_texts(folder: Path, groups: list[Group], sizes: Sizes) -> None:
    """Write groups with long, mixed and short texts, running text, labelled texts, and pairs for two tasks."""
    drawn = random.Random(0)
    long = [join_groups(k, groups, drawn, sizes.long) for k in range(sizes.groups)]
    mixed = [join_groups(k, groups, drawn, round(sizes.long * drawn.betavariate(1, 3))) for k in range(sizes.groups)]
    write_rows(folder / "long.jsonl", long)
    write_rows(folder / "mixed.jsonl", mixed)
    write_rows(folder / "short.jsonl", [join_groups(k, groups, drawn, 1) for k in range(sizes.groups)])
    words = 0
    with (folder / "running.txt").open("w", encoding="utf-8") as file:
        while words < sizes.words:
            text = drawn.choice(groups).versions[drawn.choice(("man", "woman"))]
            words += len(text.split())
            file.write(text + ("\n\n" if drawn.random() < 0.05 else " "))
    rows = [(drawn.choice(groups), drawn.random() < 0.5) for _ in range(sizes.rows)]
    write_rows(folder / "pairs.jsonl", pairs([group for group, _ in rows]))
    for part, some in (("train", rows), ("dev", rows[: len(rows) // 10])):
        lines = [f"{group.versions['man' if man else 'woman']}\t{int(man)}\n" for group, man in some]
        (folder / "labelled").mkdir(exist_ok=True)
        (folder / "labelled" / f"{part}.tsv").write_text("sentence\tlabel\n" + "".join(lines), encoding="utf-8")
    write_crows_pairs(folder / "crows_pairs.csv", groups[:120])


def join_groups(number: int, groups: list[Group], drawn: random.Random, words: int) -> dict[str, Any]:
    """Return a counterfactual group whose texts have at least ``words`` words, made by joining random groups."""
    versions: dict[str, str] = {}
    while not versions or len(versions["neutral"].split()) < words:
        other = drawn.choice(groups)
        versions = {name: f"{versions.get(name, '')} {text}".strip() for name, text in other.versions.items()}
    return {"id": str(number), "axis": "gender", "versions": versions}


def pairs(groups: list[Group]) -> Iterator[dict[str, str]]:
    """Yield pairs in the columns of PANDA. The selected word is the first one that differs."""
    for group in groups:
        man, woman = group.versions["man"], group.versions["woman"]
        for word, other in zip(man.split(), woman.split(), strict=False):
            if word != other and word.isalpha():
                yield {"original": man, "selected_word": word, "target_attribute": "woman", "perturbed": woman}
                break


def write_rows(path: Path, rows: Any) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_crows_pairs(path: Path, groups: list[Group]) -> None:
    """Write the versions of groups as sentence pairs in the columns of CrowS-Pairs."""
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"])
        for number, group in enumerate(groups):
            writer.writerow([number, group.versions["man"], group.versions["woman"], "stereo", "gender"])
