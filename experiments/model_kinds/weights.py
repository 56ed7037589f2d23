"""Tiny random models in all common formats."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from fairlab.backbones.loading import EMBEDDED, find_weights
from tests.tiny_models import SIZE, byte_tokenizer

POSITIONS = 512
APART = {"initializer_range": 0.2}  # spreads texts as far apart as a trained model does
GROUPS = [
    {"id": str(k), "axis": "gender", "versions": {who: f"{word} {what}" for who, word in SUBJECTS.items()}}
    for SUBJECTS in [{"neutral": "They", "man": "He", "woman": "She"}]
    for k, what in enumerate(f"{verb} the {thing}." for verb in ("saw", "sold") for thing in ("car", "tree", "house"))
]


class Weights:
    """Folders of tiny models, each written on first use.

    Args:
        place: Folder that holds the model folders.
    """

    def __init__(self, place: Path) -> None:
        self.place = place

    def _save(self, name: str, make: Any, tokenizer: Any) -> Path:
        """Return the folder of a model, which is written with its tokenizer if it is missing."""
        import torch

        folder = self.place / name
        if not (folder / "tokenizer_config.json").is_file():
            torch.manual_seed(0)
            make().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        return folder

    @cached_property
    def pieces(self) -> Any:
        """Return BERT's tokenizer."""
        from transformers import AutoTokenizer

        found = AutoTokenizer.from_pretrained(find_weights("sentence-transformers/all-MiniLM-L6-v2", package=EMBEDDED))
        found.model_max_length = POSITIONS
        return found

    @property
    def of_bert(self) -> Any:
        """Return the configuration of a small BERT."""
        from transformers import BertConfig

        return BertConfig(vocab_size=len(self.pieces), max_position_embeddings=POSITIONS, **SIZE, **APART)

    @property
    def masked(self) -> Path:
        """Return the folder of a masked LM."""
        from transformers import BertForMaskedLM

        return self._save("masked", lambda: BertForMaskedLM(self.of_bert), self.pieces)

    @property
    def causal(self) -> Path:
        """Return the folder of a Llama model whose tokenizer has one token for both beginning and end."""
        from tokenizers.processors import TemplateProcessing
        from transformers import LlamaConfig, LlamaForCausalLM

        tokenizer = byte_tokenizer()
        tokenizer.model_max_length = POSITIONS
        begin = [(tokenizer.bos_token, 0)]
        before = TemplateProcessing(single=f"{tokenizer.bos_token} $A", special_tokens=begin)
        tokenizer.backend_tokenizer.post_processor = before
        sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": POSITIONS, **SIZE, **APART}
        ends = {"bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": False}
        return self._save("causal", lambda: LlamaForCausalLM(LlamaConfig(**sizes, **ends)), tokenizer)

    @property
    def classifier(self) -> Path:
        """Return the folder of a classifier with two labels."""
        from transformers import BertForSequenceClassification

        config = self.of_bert
        config.id2label = {0: "negative", 1: "positive"}
        return self._save("classifier", lambda: BertForSequenceClassification(config), self.pieces)

    @property
    def sentence(self) -> Path:
        """Return the folder of a SentenceTransformer."""
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.base.modules import Normalize, Transformer
        from sentence_transformers.sentence_transformer.modules import Pooling
        from transformers import BertModel

        folder = self.place / "sentence"
        if not (folder / "modules.json").is_file():
            body = self._save("body", lambda: BertModel(self.of_bert), self.pieces)
            modules = [Transformer(str(body), max_seq_length=128), Pooling(SIZE["hidden_size"], "mean"), Normalize()]
            SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
        return folder

    @property
    def adapters(self) -> Path:
        """Return the folder of LoRA adapters for the causal LM, as saved by PEFT."""
        import peft
        import torch
        from transformers import AutoModelForCausalLM

        folder = self.place / "adapters"
        if not (folder / "adapter_config.json").is_file():
            torch.manual_seed(1)
            settings = peft.LoraConfig(target_modules=["q_proj", "v_proj"], init_lora_weights=False)
            peft.get_peft_model(AutoModelForCausalLM.from_pretrained(self.causal), settings).save_pretrained(folder)
        return folder

    @property
    def gguf(self) -> Path:
        """Return the causal LM as a GGUF file in float32."""
        file = self.place / "gguf" / "tiny.gguf"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_gguf(self.causal, file)
        return file

    @property
    def groups(self) -> Path:
        """Return a file of counterfactual groups."""
        file = self.place / "groups.jsonl"
        if not file.is_file():
            self.place.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(json.dumps(group) + "\n" for group in GROUPS), encoding="utf-8")
        return file


def write_gguf(folder: Path, file: Path) -> None:
    """Write a Llama model with a byte-level vocabulary to a GGUF file.

    The file requests the start token before every text.

    Args:
        folder: Folder of the model in transformers format.
        file: GGUF file to write.
    """
    import gguf
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder)
    config = model.config
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_pooling_type(gguf.PoolingType.MEAN)  # otherwise, a server returns a vector for each token
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    tokens = sorted(vocabulary["vocab"], key=vocabulary["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL if k else gguf.TokenType.CONTROL for k in range(len(tokens))])
    writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in vocabulary["merges"]])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    writer.add_add_bos_token(True)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, tensor in model.state_dict().items():
        values = tensor.numpy()
        if count := next((count for part, count in heads.items() if part in name), 0):
            # llama.cpp rotates neighbouring dimensions of a head together, transformers dimensions half a head apart.
            halves = values.reshape(count, 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
