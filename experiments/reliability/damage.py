"""Thirty kinds of damage to a model's folder, ten of which were not used until the gate was finished.

Each function changes the weights, configuration or tokenizer in a copy of a healthy folder, as a faulty conversion or
merge, a lost file or a wrong setting would.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

WEIGHTS = "model.safetensors"
WORDS = "embeddings.word_embeddings.weight"
PLACES = "embeddings.position_embeddings.weight"


class Copy:
    """Copy of a model's folder whose parts can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = torch.Generator().manual_seed(0)
        self.weights = load_file(folder / WEIGHTS)

    def save(self) -> None:
        """Write the weights back to the folder."""
        held = {name: tensor.contiguous().clone() for name, tensor in self.weights.items()}
        save_file(held, self.folder / WEIGHTS, metadata={"format": "pt"})

    def edit(self, name: str, **values: object) -> None:
        """Change keys of a JSON file."""
        file = self.folder / name
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")

    def find(self, *parts: str) -> list[str]:
        """Return the names of weights that contain all ``parts``."""
        return [name for name in self.weights if all(part in name for part in parts)]

    def matrices(self, *parts: str) -> list[str]:
        """Return the names of the layers' matrices that contain all ``parts``."""
        return [name for name in self.find("layer", *parts) if self.weights[name].dim() == 2]

    def draw(self, name: str, scale: float = 0.02) -> Tensor:
        """Return random weights with the shape of the named weights."""
        return torch.randn(self.weights[name].shape, generator=self.random) * scale

    def shuffle(self, name: str) -> None:
        """Put the rows of a matrix into a random order."""
        rows = self.weights[name]
        self.weights[name] = rows[torch.randperm(len(rows), generator=self.random)]

    def lower_text(self, lowers: bool) -> None:
        """Set whether the tokenizer lower-cases text and removes accents."""
        file = self.folder / "tokenizer.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        content["normalizer"] |= {"lowercase": lowers, "strip_accents": lowers}
        file.write_text(json.dumps(content), encoding="utf-8")
        self.edit("tokenizer_config.json", do_lower_case=lowers, strip_accents=lowers)

    def edit_vocabulary(self, change: Callable[[dict[str, int]], dict[str, int]]) -> None:
        """Replace the WordPiece vocabulary of the tokenizer."""
        file = self.folder / "tokenizer.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        content["model"]["vocab"] = change(content["model"]["vocab"])
        file.write_text(json.dumps(content), encoding="utf-8")


@dataclass(frozen=True)
class Damage:
    """Kind of damage.

    Attributes:
        name: Description of the damage for tables.
        model: Name of the healthy model.
        kept_back: Whether the damage was not used while the gate was developed.
        apply: Function that changes a copy of the model's folder.
    """

    name: str
    model: str
    kept_back: bool
    apply: Callable[[Copy], object]


DAMAGES: list[Damage] = []


def damage(name: str, model: str = "minilm", *, kept_back: bool = False) -> Callable[[Callable[[Copy], object]], None]:
    """Register the decorated function as a kind of damage."""

    def register(apply: Callable[[Copy], object]) -> None:
        DAMAGES.append(Damage(name, model, kept_back, apply))

    return register


@contextmanager
def damaged(one: Damage, healthy: Path) -> Iterator[Path]:
    """Yield the folder of a damaged copy, which is deleted at the end of the context."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(healthy, folder)
        copy = Copy(folder)
        one.apply(copy)
        copy.save()
        yield folder


@damage("configuration with 2 of 6 layers")
def _(copy: Copy) -> None:
    copy.edit("config.json", num_hidden_layers=2)


@damage("configuration with 6 of 12 heads")
def _(copy: Copy) -> None:
    copy.edit("config.json", num_attention_heads=6)


@damage("all weights random")
def _(copy: Copy) -> None:
    for name in [name for name in copy.weights if copy.weights[name].dim() == 2]:
        copy.weights[name] = copy.draw(name)


@damage("one layer random")
def _(copy: Copy) -> None:
    for name in copy.matrices("layer.3."):
        copy.weights[name] = copy.draw(name)


@damage("attention matrices transposed")
def _(copy: Copy) -> None:
    for name in [name for name in copy.matrices("attention") if len(set(copy.weights[name].shape)) == 1]:
        copy.weights[name] = copy.weights[name].T


@damage("rows of the word embeddings shuffled")
def _(copy: Copy) -> None:
    copy.shuffle(WORDS)


@damage("last LayerNorm zero")
def _(copy: Copy) -> None:
    copy.weights["encoder.layer.5.output.LayerNorm.weight"].zero_()


@damage("output nearly constant")
def _(copy: Copy) -> None:
    copy.weights["encoder.layer.5.output.LayerNorm.weight"].mul_(1e-4)
    copy.weights["encoder.layer.5.output.LayerNorm.bias"].add_(1.0)


@damage("layers quantised to one bit, scales lost")
def _(copy: Copy) -> None:
    for name in copy.matrices():
        tensor = copy.weights[name]
        copy.weights[name] = tensor.sign() * tensor.abs().mean() * 3


@damage("tokens of the vocabulary in another order")
def _(copy: Copy) -> None:
    def change(vocabulary: dict[str, int]) -> dict[str, int]:
        words = [word for word in vocabulary if not word.startswith("[")]
        order = torch.randperm(len(words), generator=copy.random).tolist()
        return vocabulary | {words[k]: vocabulary[words[n]] for k, n in enumerate(order)}

    copy.edit_vocabulary(change)


@damage("vocabulary shifted by one")
def _(copy: Copy) -> None:
    def change(vocabulary: dict[str, int]) -> dict[str, int]:
        last = max(vocabulary.values())
        return {word: min(k + 1, last) if k >= 1000 else k for word, k in vocabulary.items()}

    copy.edit_vocabulary(change)


@damage("tokenizer keeps capitals, vocabulary has none")
def _(copy: Copy) -> None:
    copy.lower_text(False)


@damage("position embeddings zero")
def _(copy: Copy) -> None:
    copy.weights[PLACES].zero_()


@damage("first and last layer swapped")
def _(copy: Copy) -> None:
    for name in copy.find("layer.0."):
        other = name.replace("layer.0.", "layer.5.")
        copy.weights[name], copy.weights[other] = copy.weights[other], copy.weights[name]


@damage("one value that is not a number")
def _(copy: Copy) -> None:
    copy.weights[WORDS][2005, 7] = torch.nan


@damage("pooling by the maximum")
def _(copy: Copy) -> None:
    copy.edit("1_Pooling/config.json", pooling_mode="max", pooling_mode_max_tokens=True, pooling_mode_mean_tokens=False)


@damage("90 % of the weights pruned")
def _(copy: Copy) -> None:
    for name in copy.matrices():
        tensor = copy.weights[name]
        least = tensor.abs().flatten().kthvalue(int(0.9 * tensor.numel())).values
        copy.weights[name] = tensor * (tensor.abs() > least)


@damage("masked-LM head random", "minilm_mlm")
def _(copy: Copy) -> None:
    for name in copy.find("cls.predictions.transform"):
        copy.weights[name] = copy.draw(name)


@damage("last two layers random", "minilm_mlm")
def _(copy: Copy) -> None:
    for name in copy.matrices("layer.4.") + copy.matrices("layer.5."):
        copy.weights[name] = copy.draw(name)


@damage("attention matrices transposed", "smollm2")
def _(copy: Copy) -> None:
    for name in [name for name in copy.matrices("self_attn") if len(set(copy.weights[name].shape)) == 1]:
        copy.weights[name] = copy.weights[name].T


@damage("weights of the layers times 3", kept_back=True)
def _(copy: Copy) -> None:
    for name in copy.matrices():
        copy.weights[name] *= 3


@damage("noise of the weights' own size added", kept_back=True)
def _(copy: Copy) -> None:
    for name in copy.matrices():
        copy.weights[name] += copy.draw(name, float(copy.weights[name].std()))


@damage("queries and values exchanged", kept_back=True)
def _(copy: Copy) -> None:
    for name in copy.find("query."):
        other = name.replace("query.", "value.")
        copy.weights[name], copy.weights[other] = copy.weights[other], copy.weights[name]


@damage("second half of the word embeddings zero", kept_back=True)
def _(copy: Copy) -> None:
    copy.weights[WORDS][:, 192:] = 0


@damage("signs of the feed-forward matrices turned", kept_back=True)
def _(copy: Copy) -> None:
    for name in copy.matrices("intermediate"):
        copy.weights[name] = -copy.weights[name]


@damage("8-bit integers read as unsigned", kept_back=True)
def _(copy: Copy) -> None:
    for name in copy.matrices():
        scale = copy.weights[name].abs().max() / 127
        copy.weights[name] = (copy.weights[name] / scale).round().remainder(256) * scale


@damage("tokenizer that lowers a cased vocabulary", "distilbert_from_int8", kept_back=True)
def _(copy: Copy) -> None:
    copy.lower_text(True)


@damage("embeddings of the words shuffled, head not", "minilm_mlm", kept_back=True)
def _(copy: Copy) -> None:
    copy.weights["cls.predictions.decoder.weight"] = copy.weights["bert." + WORDS].clone()
    copy.edit("config.json", tie_word_embeddings=False)
    copy.shuffle("bert." + WORDS)


@damage("half of the layers missing", "smollm2", kept_back=True)
def _(copy: Copy) -> None:
    copy.edit("config.json", num_hidden_layers=15)


@damage("rotary base of another model", "smollm2", kept_back=True)
def _(copy: Copy) -> None:
    copy.edit("config.json", rope_theta=100.0, rope_parameters={"rope_theta": 100.0, "rope_type": "default"})
