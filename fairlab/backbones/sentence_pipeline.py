"""Models with the embedding pipeline of sentence-transformers: modules, prompt and length of a published folder.

The modules are the classes of sentence-transformers; only the classes that :mod:`fairlab.backbones.trust` lists are
built.
Shape letters: N texts, T tokens, H width of the transformer, D width of the embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling
from torch import Tensor, nn
from transformers import PreTrainedModel

from fairlab.backbones.trust import SentenceModule, is_safe, sentence_modules, weights_files
from fairlab.checks.foreign import read_object
from fairlab.types import FairlabError

LINEAR = ("cls", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
SIZE = "get_embedding_dimension"
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Pooling, Dense, Normalize, LayerNorm, Dropout)}
AT_ONCE = 1024  # maximum number of texts padded together during tokenization
SETTINGS = "config_sentence_transformers.json"


class SentencePipeline:
    """Modules around a transformer in a sentence-transformers folder.

    Args:
        sentence: Complete model; its first module reads texts, the others compute embeddings from hidden states.

    Attributes:
        prompt: Text prepended to every text, or None if the folder has no default prompt.
        readout: Modules after the transformer, in order; they are not trained.
    """

    def __init__(self, sentence: SentenceTransformer) -> None:
        self.sentence = sentence
        self.prompt = sentence.prompts.get(sentence.default_prompt_name or "") or None
        self.readout = nn.ModuleList(list(sentence)[1:]).requires_grad_(False)
        # Number of prompt tokens, which some poolings leave out.
        self.prompt_length = sentence.preprocess(["."], prompt=self.prompt).get("prompt_length")

    @property
    def width(self) -> int:
        """Return the length D of an embedding."""
        modules: list[Any] = list(self.readout)
        sizes = [int(module.get_embedding_dimension()) for module in modules if hasattr(module, SIZE)]
        return min(sizes[-1], self.sentence.truncate_dim or sizes[-1])

    @property
    def is_linear(self) -> bool:
        """Return whether an embedding is a weighted sum of hidden states, optionally scaled to unit length."""
        kinds = [type(module) for module in self.readout if not isinstance(module, Dropout)]
        return kinds in ([Pooling], [Pooling, Normalize]) and self.sums and not self.sentence.truncate_dim

    @property
    def sums(self) -> bool:
        """Return whether the pooling is a weighted sum of hidden states."""
        return isinstance(self.readout[0], Pooling) and self.readout[0].pooling_mode in LINEAR

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids that sentence-transformers computes for texts with the prompt, without padding."""
        found = []
        for start in range(0, len(texts), AT_ONCE):
            features = self.sentence.preprocess(list(texts[start : start + AT_ONCE]), prompt=self.prompt)
            for ids, mask in zip(features["input_ids"], features["attention_mask"], strict=True):
                found.append(ids[mask.bool()].tolist())
        return found

    def pool(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """Return embeddings (N, D) of last hidden states (N, T, H) with a mask that is 0 at padding."""
        features: dict[str, Any] = {"token_embeddings": hidden, "attention_mask": attention_mask}
        if self.prompt_length is not None:
            features["prompt_length"] = self.prompt_length
        for module in self.readout:
            features = module(features)
        embedding: Tensor = features["sentence_embedding"]
        return embedding[:, : self.sentence.truncate_dim]

    def save(self, transformer: nn.Module, projection: Tensor | None, folder: Path) -> None:
        """Write the transformer, tokenizer, modules, prompt and length, with a projection as a dense layer."""
        modules: list[Any] = list(self.readout)
        if projection is not None:
            width = len(projection)
            weight = projection.detach().cpu()
            modules.insert(1, Dense(width, width, bias=False, activation_function=nn.Identity(), init_weight=weight))
        first: Any = self.sentence[0]
        first.model = transformer
        like = self.sentence
        whole = assembled([first, *modules], like.prompts, like.default_prompt_name, like.truncate_dim)
        whole.similarity_fn_name = like.similarity_fn_name
        whole.save(str(folder), create_model_card=False)


def is_pooled_transformer(sentence: SentenceTransformer) -> bool:
    """Return whether a model consists of one transformer followed by known modules, including a pooling."""
    first, *others = sentence
    known = tuple(KINDS.values())
    pools = any(isinstance(module, Pooling) for module in others)
    return isinstance(first, Transformer) and pools and all(isinstance(module, known) for module in others)


def load_published(
    folder: Path, model: PreTrainedModel | None, dtype: torch.dtype, normalize: bool | None
) -> SentencePipeline:
    """Load the sentence-transformers modules around a model.

    Args:
        folder: Folder that contains ``modules.json``.
        model: Transformer with the folder's weights, or None to let sentence-transformers load it.
        dtype: Dtype of the weights.
        normalize: Whether embeddings are scaled to unit length, or None for the published setting.

    Raises:
        FairlabError: If a module is not on the list of permitted modules.
    """
    first, *others = sentence_modules(folder)
    modules: list[Any] = [_transformer(folder / first.path, model, dtype), *later_modules(folder, others)]
    if normalize is not None:
        modules = [module for module in modules if not isinstance(module, Normalize)]
        modules += [Normalize()] * normalize
    published = SentencePipeline(with_settings(folder, modules))
    _refuse_other_width(folder, published)
    return published


def later_modules(folder: Path, modules: Sequence[SentenceModule]) -> list[Any]:
    """Load the modules of a folder that follow the module that reads texts."""
    return [
        KINDS[module.kind].load(str(folder), subfolder=module.path, local_files_only=True, trust_remote_code=False)
        for module in modules
    ]


def with_settings(folder: Path, modules: list[Any]) -> SentenceTransformer:
    """Combine modules with a folder's prompts and embedding length.

    Raises:
        FairlabError: If the length is not a number of dimensions.
    """
    file = folder / SETTINGS
    settings = read_object(file) if file.is_file() else {}
    prompts = {str(name): str(prompt) for name, prompt in (settings.get("prompts") or {}).items()}
    truncate_dim = settings.get("truncate_dim")
    if truncate_dim is not None and (not isinstance(truncate_dim, int) or truncate_dim < 1):
        raise FairlabError(f"{file}: truncate_dim must be a number of dimensions, at least 1, not {truncate_dim!r}")
    sentence = assembled(modules, prompts, settings.get("default_prompt_name"), truncate_dim).eval()
    if (similarity := settings.get("similarity_fn_name")) in sentence.SUPPORTED_SIMILARITY_FN_NAMES:
        sentence.similarity_fn_name = similarity
    return sentence


def _refuse_other_width(folder: Path, published: SentencePipeline) -> None:
    """Raise if the widths of the modules do not match, or differ from the embedding length they declare."""
    first: Any = published.sentence[0]
    weights = next(first.parameters())
    hidden = weights.new_zeros(1, 2, first.get_embedding_dimension())
    width = published.pool(hidden, torch.ones(1, 2, device=weights.device)).shape[1]
    if width != published.width:
        raise FairlabError(
            f"the modules of {folder} make embeddings of length {width}, but their settings say {published.width}; put "
            "a whole copy of the folder there"
        )


def assembled(
    modules: list[Any], prompts: dict[str, Any], default_prompt_name: str | None, truncate_dim: int | None
) -> SentenceTransformer:
    """Combine modules into one sentence-transformers model, on their current device."""
    device = str(next(modules[0].parameters()).device)
    return SentenceTransformer(
        modules=modules,
        device=device,
        prompts=prompts,
        default_prompt_name=default_prompt_name,
        truncate_dim=truncate_dim,
        local_files_only=True,
    )


def _transformer(folder: Path, model: PreTrainedModel | None, dtype: torch.dtype) -> Transformer:
    class Given(Transformer):
        def _load_model(self, *arguments: Any, **options: Any) -> PreTrainedModel:
            return super()._load_model(*arguments, **options) if model is None else model

    settings = {"dtype": dtype, "use_safetensors": is_safe(weights_files(folder))}
    made = Given.load(str(folder), local_files_only=True, trust_remote_code=False, model_kwargs=settings)
    made.__class__ = Transformer  # identical to one except for how it was loaded, and saved as one
    return made
