"""CrossAug: contradictions of supported claims, and evidence changed to support the contradiction.

Source: Lee et al. 2021, "CrossAug: A Contrastive Data Augmentation Method for Debiasing Fact Verification Models",
section 3. The rule-based generator of negative claims is an addition, for use without the authors' model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from fairlab.rewriting.labelled.label_keeping import CONTRASTS
from fairlab.text.negation import negated
from fairlab.types import FairlabError

TOKEN = re.compile(r"\w+|[^\w\s]")
LONGEST = 3  # maximum tokens of an exchanged span
BEAMS = 5
RULES = "rules"


class CrossAug:
    """Augmentation that adds up to three examples for each supported claim c with evidence e.

    The added examples are (e, c'), refuted; (e', c), refuted; and (e', c'), supported. The claim c' contradicts c. The
    evidence e' is e in which the span that differs between c and c' is exchanged. e' is made only if both spans have 1
    to 3 tokens and e contains the span of c exactly once. Examples with other labels are not augmented.

    Args:
        generator: Generator of negative claims: ``rules`` (:func:`fairlab.text.negation.negated`), or the folder or hub
            name of an encoder-decoder that negates claims, such as ``minwhoo/bart-base-negative-claim-generation``.
    """

    title = "contrastive claims and evidence (CrossAug)"
    limits = "Generated evidence may contradict reality; negation by rules makes only a few kinds of contradictions."
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
        """Return the function from a claim to its contradiction, or None if it cannot be contradicted."""
        return negated if self.generator == RULES else load_generator(self.generator)

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """Return the new examples made from an example.

        Raises:
            FairlabError: The example has no second text.
        """
        if len(fields) != 2:
            raise FairlabError(
                "augmentation=crossaug needs claims with evidence, or hypotheses with premises; "
                "give field=[EVIDENCE,CLAIM]"
            )
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
    """Replace the differing span of the claim in the evidence by the corresponding span of the contradiction.

    Returns:
        Changed evidence, or None if the spans are too long or the evidence does not contain the claim's span exactly
        once.
    """
    one, other = ([match.span() for match in TOKEN.finditer(text)] for text in (claim, contradiction))
    words = [[text[start:end] for start, end in spans] for text, spans in ((claim, one), (contradiction, other))]
    before = _common_prefix(*words)
    after = _common_prefix(*(found[before:][::-1] for found in words))
    spans = [spans[before : len(spans) - after] for spans in (one, other)]
    if not all(1 <= len(span) <= LONGEST for span in spans):
        return None
    old, new = (text[span[0][0] : span[-1][1]] for text, span in zip((claim, contradiction), spans, strict=True))
    found = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", evidence))
    return evidence[: found[0].start()] + new + evidence[found[0].end() :] if len(found) == 1 else None


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common prefix of two sequences of words."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def load_generator(name: str) -> Callable[[str], str]:
    """Return a function that negates claims with an encoder-decoder and five beams, as in the authors' code."""
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
