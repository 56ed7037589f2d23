"""Judge that decides from the context whether a word such as *French* or *Catholic* describes people or things.

The judge is a logistic regression on the token vectors of the bundled encoder, trained on mentions in natural sentences
that were labelled one by one (``experiments/rewriting/mentions``). It replaces rules on axes whose words describe
things as often as people: *a French teacher*, *a French film*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.sentences import sentence_spans
from fairlab.types import NEUTRAL, FairlabError

if TYPE_CHECKING:
    from torch import Tensor

    from fairlab.backbones.backbone import Backbone

WEIGHTS = Path(__file__).with_name("people_judge.safetensors")
LAYERS = (2, 4, 6)  # layers of the encoder whose hidden states are concatenated
RECENT = 512  # number of texts whose judgements are cached, because each text is queried several times
Spans = Sequence[tuple[int, int]]


class PeopleJudge:
    """Judge of whether the words of an axis describe people.

    Args:
        axis: Name of the axis.
        sections: Sections of the lexicon whose words are judged. Words of other sections, such as *church*, count only
            in texts with a person of the same attribute.

    Raises:
        FairlabError: The judge was not trained on the axis, or the bundled encoder is not installed.
    """

    def __init__(self, axis: str, sections: Collection[str]) -> None:
        self.axis, self.sections = axis, frozenset(sections)
        self.weight, self.bias = read_weights(axis)
        self._recent: dict[str, frozenset[int]] = {}

    def judges(self, sense: Sense) -> bool:
        """Return whether words with this sense are judged by their context. Neutral words are not."""
        return sense.entry is not None and sense.entry.section in self.sections and sense.attribute != NEUTRAL

    def asked(self, words: Iterable[Any]) -> Spans:
        """Return the spans of the words that have a judged sense."""
        return [(one.start, one.end) for one in words if any(map(self.judges, one.senses))]

    def attributes(self, senses: Iterable[Sense]) -> frozenset[str]:
        """Return the attributes of the judged senses, and ``neutral``."""
        return frozenset({NEUTRAL, *(sense.attribute for sense in senses if self.judges(sense))})

    def people(self, text: str, spans: Spans) -> frozenset[int]:
        """Return the starts of the spans that describe people with a probability above one half."""
        if text not in self._recent:
            if len(self._recent) >= RECENT:
                self._recent.clear()
            logits = token_vectors([text] * len(spans), spans) @ self.weight + self.bias
            pairs = zip(spans, logits.tolist(), strict=True)
            self._recent[text] = frozenset(start for (start, _), logit in pairs if logit > 0)
        return self._recent[text]


@cache
def read_weights(axis: str) -> tuple[Tensor, float]:
    """Load the weights (H,) and the bias of the judge for an axis.

    Raises:
        FairlabError: The judge was not trained on the axis.
    """
    from safetensors.torch import load_file

    arrays = load_file(WEIGHTS)
    axes = sorted(name.removeprefix("bias.") for name in arrays if name.startswith("bias."))
    if axis not in axes:
        raise FairlabError(
            f"'judged' needs an axis of {', '.join(axes)}, not '{axis}'; remove 'judged' from the lexicon"
        )
    return arrays["weight"], float(arrays[f"bias.{axis}"])


def token_vectors(texts: Sequence[str], spans: Spans) -> Tensor:
    """Return the vector of each span in the context of its sentence, (N, H).

    The vector concatenates the means over the span's tokens in each of :data:`LAYERS`. A span beyond the encoder's
    maximum length gets NaN, so it is not judged to be a person.
    """
    import torch

    encoder = _encoder()
    placed = [_in_sentence(text, start, end) for text, (start, end) in zip(texts, spans, strict=True)]
    found = torch.full((len(placed), len(LAYERS) * encoder.hidden_width), torch.nan)
    for sentence in dict.fromkeys(sentence for sentence, _, _ in placed):
        read = encoder.tokenizer(
            sentence, return_tensors="pt", truncation=True, max_length=encoder.max_length, return_offsets_mapping=True
        )
        offsets = read.pop("offset_mapping")[0]
        with torch.inference_mode():
            hidden = encoder.reader(**read, output_hidden_states=True).hidden_states
        for index, (own, start, end) in enumerate(placed):
            if own == sentence:
                inside = (offsets[:, 0] < end) & (offsets[:, 1] > start)  # added tokens end at 0
                if inside.any():
                    found[index] = torch.cat([hidden[layer][0][inside].mean(0) for layer in LAYERS])
    return found


@cache
def _encoder() -> Backbone:
    from fairlab.backbones.embedded_encoder import embedded_encoder  # slow to import, so only when words are judged

    return embedded_encoder()


def _in_sentence(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Return the sentence that contains a span, and the span within it."""
    for first, last in sentence_spans(text):
        if first <= start < last:
            return text[first:last], start - first, min(end, last) - first
    return text, start, end
