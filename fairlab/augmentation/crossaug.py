"""CrossAug: a claim that the evidence supports, contradicted, and evidence changed to support the contradiction.

Source: Lee et al. 2021, "CrossAug: A Contrastive Data Augmentation Method for Debiasing Fact Verification Models",
section 3. The generator of negative claims by rules is ours, for use without the authors' model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from fairlab.rewriting.labelled.label_keeping import CONTRASTS
from fairlab.text.negation import negated
from fairlab.types import FairlabError

TOKEN = re.compile(r"\w+|[^\w\s]")
LONGEST = 3  # tokens of a span that is exchanged
BEAMS = 5
RULES = "rules"


class CrossAug:
    """Adds up to three examples to every supported one: (e, c') refuted, (e', c) refuted, (e', c') supported.

    c' is the contradicted claim. e' is the evidence with the span in which c and c' differ exchanged, which is made
    where either span has 1 to 3 tokens and the evidence holds that of c exactly once. Other labels add nothing.

    Args:
        generator: ``rules`` (:func:`fairlab.text.negation.negated`), or the folder or hub name of an encoder-decoder
            that negates claims, such as ``minwhoo/bart-base-negative-claim-generation``.
    """

    title = "contrastive claims and evidence (CrossAug)"
    limits = "Made evidence may contradict the world; negation by rules makes contradictions of a few kinds."
    citation = """@inproceedings{lee2021crossaug,
  title = {{CrossAug}: A Contrastive Data Augmentation Method for Debiasing Fact Verification Models},
  author = {Lee, Minwoo and Won, Seungpil and Kim, Juae and Lee, Hwanhee and Park, Cheoneum and Jung, Kyomin},
  booktitle = {Proceedings of CIKM},
  year = {2021}
}"""
    name = "crossaug"

    def __init__(self, *, generator: str) -> None:
        self.generator = generator

    @cached_property
    def negate(self) -> Callable[[str], str | None]:
        """Gives a claim that contradicts one, or None."""
        return negated if self.generator == RULES else generated_by(self.generator)

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """The examples to be added.

        Raises:
            FairlabError: the example has no second text.
        """
        if len(fields) != 2:
            raise FairlabError("augmentation=crossaug works on claims with evidence, or hypotheses with premises")
        evidence, claim = fields
        contradiction = self.negate(claim) if label in CONTRASTS else None
        if contradiction is None or contradiction == claim:
            return []
        refuted = CONTRASTS[label]
        made = [([evidence, contradiction], refuted)]
        if (changed := exchanged(evidence, claim, contradiction)) is not None:
            made += [([changed, claim], refuted), ([changed, contradiction], label)]
        return made


def exchanged(evidence: str, claim: str, contradiction: str) -> str | None:
    """The evidence with the span of the claim that differs exchanged for that of its contradiction, or None."""
    one, other = ([match.span() for match in TOKEN.finditer(text)] for text in (claim, contradiction))
    words = [[text[start:end] for start, end in spans] for text, spans in ((claim, one), (contradiction, other))]
    before = _shared(*words)
    after = _shared(*([*reversed(found[before:])] for found in words))
    spans = [spans[before : len(spans) - after] for spans in (one, other)]
    if not all(1 <= len(span) <= LONGEST for span in spans):
        return None
    old, new = (text[span[0][0] : span[-1][1]] for text, span in zip((claim, contradiction), spans, strict=True))
    found = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", evidence))
    return evidence[: found[0].start()] + new + evidence[found[0].end() :] if len(found) == 1 else None


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two sequences begin with alike."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def generated_by(name: str) -> Callable[[str], str]:
    """A generator of negative claims: an encoder-decoder, searched with five beams as the authors do."""
    from fairlab.backbones.loading import load_backbone

    backbone = load_backbone(name, pooling="mean", max_length=None, normalize=False)
    model: Any = backbone.model

    def negate(claim: str) -> str:
        inputs = backbone.tokenizer(claim, truncation=True, max_length=backbone.max_length, return_tensors="pt")
        with backbone.measuring():
            made = model.generate(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], num_beams=BEAMS
            )
        return str(backbone.tokenizer.decode(made[0], skip_special_tokens=True)).strip()

    return negate
