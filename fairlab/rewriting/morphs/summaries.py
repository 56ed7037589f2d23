"""Downshift of a text to a summary, which is abstractive if there is a model and extractive otherwise.

Source: Mondal and Lipizzi 2024, section 3.1, "downshifted to a summary" by a BART model. (The paper attributes the
model to spaCy, which has no such function.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from fairlab.backbones.loading import find_weights
from fairlab.text.sentences import sentence_spans
from fairlab.text.words import WORD

KEPT = 3  # one sentence in three is kept
_SMALL = frozenset(
    """
    a an the and or but of in on at to for from with by as is are was were be been it its this that these those we our
    you your he she they his her their i my not no so if then than there here have has had do does did will would can
    """.split()
)

Held = Callable[[str], list[tuple[int, int]]]


class ExtractiveSummary:
    """Extractive summary: a third of the sentences, chosen by the text's most frequent words and kept in order.

    No words are added, and a text of one sentence stays unchanged. If the text has a word of the axis, so does one of
    the selected sentences. ``held`` returns the spans of the axis's words in a text.
    """

    name = "extractive"

    def __init__(self, held: Held) -> None:
        self.held = held

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Summarise every text."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> str:
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        words = [[word for word in WORD.findall(one.casefold()) if word not in _SMALL] for one in sentences]
        counts = Counter(word for one in words for word in one)
        scores = [sum(counts[word] for word in set(one)) / len(set(one)) if one else 0.0 for one in words]
        best = sorted(range(len(sentences)), key=lambda place: (-scores[place], place))
        kept = best[: math.ceil(len(sentences) / KEPT)]
        telling = [place for place in best if self.held(sentences[place])]
        if telling and not set(telling) & set(kept):
            kept[-1] = telling[0]
        return " ".join(sentences[place] for place in sorted(kept))


class ModelSummary:
    """Abstractive summary by a sequence-to-sequence model, with the beam search set in the model's configuration.

    Args:
        name: Folder or hub name of the model, such as ``facebook/bart-large-cnn``.
        batch_size: Number of texts in a forward pass.

    Raises:
        FairlabError: The weights are not available.
    """

    def __init__(self, name: str, batch_size: int = 8) -> None:
        folder = find_weights(name)
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        self.name, self.batch_size = name, batch_size
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder, use_safetensors=True, trust_remote_code=False).eval()

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Summarise every text.

        A summary has at most half the tokens of the longest text in its batch, or 8 if that is more.

        Inputs are truncated at the model's maximum length.
        """
        import torch

        made: list[str] = []
        for start in range(0, len(texts), self.batch_size):
            given = self.tokenizer(
                list(texts[start : start + self.batch_size]), return_tensors="pt", padding=True, truncation=True
            )
            longest = max(8, given["input_ids"].shape[1] // 2)
            read = {name: given[name] for name in ("input_ids", "attention_mask")}
            with torch.no_grad():
                found = self.model.generate(**read, max_length=longest, min_length=0, do_sample=False)
            made += [text.strip() for text in self.tokenizer.batch_decode(found, skip_special_tokens=True)]
        return made
