"""Verifiers of counterfactual rewrites. Each describes the fault in the versions of a text, if there is one."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from fairlab.backbones.embedded_encoder import embedded_encoder
from fairlab.lexicons import Lexicon
from fairlab.lexicons.names import load_names
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request, chat, object_schema
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.marked import counterparts
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.rewriting.english.ages import find_ages
from fairlab.rewriting.english.pronouns import AMBIGUOUS, case_by_neighbours, cases_of
from fairlab.text.difference import stretches
from fairlab.text.fields import SEPARATOR
from fairlab.text.folding import fold
from fairlab.text.view import read_view
from fairlab.text.words import WORD, Span, TermFinder, word_pieces
from fairlab.types import FairlabError, Row

HARMS = Path(__file__).with_name("harms.yaml")
# Words that change because of neighbouring words, not because of an attribute.
AGREEING = set("a an am is are was were isn aren wasn weren has have hasn haven does do doesn don s re ve d t".split())
LABEL = "label"  # field of a row, and the verifier's name
LEAST_COSINE = 0.5
VERDICT = object_schema({"reason": {"type": "string"}, "kept": {"type": "boolean"}})
STEM = 3  # letters that two forms of one verb share


class TextVerifier(ABC):
    """Verifier of rewritten texts.

    Attributes:
        name: Name of the verifier, reported as the reason for rejecting a row.
    """

    name: str

    def check(self, rows: Sequence[Row], made: Sequence[Mapping[str, str]]) -> list[str | None]:
        """Return, for every row, the fault in the versions of its text, or None if there is no fault."""
        return [self.fault(row.text, versions) for row, versions in zip(rows, made, strict=True)]

    @abstractmethod
    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault in the versions of ``source``, or None if there is no fault."""


class PolarityVerifier(TextVerifier):
    """Verifier that each version has the polarity after which it is named.

    Source: Deng et al. 2024 (CCD), section 3.3 and equations 6 and 7.
    """

    name = "wrong polarity"

    def __init__(self, lexicon: Lexicon) -> None:
        self.polarity = Polarity(lexicon)

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault: each version with a wrong polarity, its actual polarity, and the words that show it."""
        found = {name: self.polarity(text) for name, text in versions.items()}
        wrong = [
            f"'{name}' reads as {read}{self._name_words(versions[name], name)}"
            for name, read in found.items()
            if read != name
        ]
        return "; ".join(wrong) or None

    def _name_words(self, text: str, name: str) -> str:
        """Return a phrase that lists the words of other attributes in a version, or an empty string."""
        marks, finder = self.polarity.marks, self.polarity.finder
        words = dict.fromkeys(text[span.start : span.end] for span in finder.find(text) if marks[span.term] != name)
        return f" by {', '.join(words)}" if words else ""


class WordsVerifier(TextVerifier):
    """Verifier that only words of the axis change, and the grammar that depends on them.

    Source and version are aligned word by word. On the source's side, every span that differs must consist only of
    words of the lexicon, first names, articles and verbs whose form changed. On the axis age, an age in figures or
    words may change too. If words are only added, this applies to the added words. Punctuation is not compared.
    """

    name = "other words changed"

    def __init__(self, lexicon: Lexicon) -> None:
        forms = {form for entry in lexicon.entries for form in entry.forms}
        self.free = (
            AGREEING
            | {piece for form in forms for piece in word_pieces(form)}
            | {piece for name in load_names() for piece in word_pieces(name)}
        )
        self.ages = bool(lexicon.figures)

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault: the first word that should not have changed, and its version."""
        old = _folded_words(source)
        ages = (source[start:end] for start, end in find_ages(source)) if self.ages else ()
        free = self.free.union(*map(_folded_words, ages))
        for name, text in versions.items():
            for removed, added in stretches(old, _folded_words(text)):
                if removed == added:
                    continue
                for word in removed or added:
                    other = added if removed else []
                    if word not in free and not any(word[:STEM] == verb[:STEM] for verb in other):
                        return f"'{word}' changed in '{name}'"
        return None


def _folded_words(text: str) -> list[str]:
    return [fold(word) for word in WORD.findall(read_view(text).text)]


class KindsVerifier(TextVerifier):
    """Verifier that a pronoun becomes a pronoun of its case, and another word does not become a pronoun.

    It detects faults such as *They Smith* and *for he wife*. Polarity does not detect them, because it counts wrong
    and right pronouns alike. The case of *her* and *his* is inferred from the following words.
    """

    name = "another kind of word"

    def __init__(self, lexicon: Lexicon) -> None:
        self.finder = TermFinder(term for attribute in lexicon.attributes for term in lexicon.terms(attribute))

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault: the first word with a wrong replacement, the replacement, and its version."""
        spans = list(self.finder.find(source))
        for span, (word, *others) in zip(spans, counterparts(source, spans, versions), strict=True):
            wanted = _possible_cases(source, span)
            for name, new in zip(versions, others, strict=True):
                found = cases_of(new)  # a word merged into another, as in *he or she*, has no replacement
                if new and (wanted or found) and wanted.isdisjoint(found):
                    return f"'{word}' became '{new}' in '{name}'"
        return None


def _possible_cases(source: str, span: Span) -> frozenset[str]:
    """Return the cases that a word may have in its context, or an empty set if it is not a pronoun."""
    word = source[span.start : span.end].casefold()
    following = re.match(r"(\W*)(\w*)\W*(\w*)", source[span.end :])
    if word not in AMBIGUOUS or following is None:
        return cases_of(word)
    gap, first, second = following.groups()
    return frozenset((case_by_neighbours(word, gap, first.casefold(), second.casefold()),))


class SeparatorVerifier(TextVerifier):
    """Verifier that a version has the same number of field separators as its source, so that it can be split again.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2.
    """

    name = "field separators changed"

    def __init__(self, lexicon: Lexicon) -> None:
        del lexicon  # identical on every axis

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault: the first version with a wrong number of separators, and both numbers."""
        expected = source.count(SEPARATOR)
        for name, text in versions.items():
            if (found := text.count(SEPARATOR)) != expected:
                return f"'{name}' has {found} {SEPARATOR} instead of {expected}"
        return None


class HarmVerifier(TextVerifier):
    """Verifier that rewriting creates no slur against another group, and does not make another group an oppressor.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendix E; the words are in ``harms.yaml``.
    """

    name = "harmful phrase"

    def __init__(self, lexicon: Lexicon) -> None:
        self.finder = TermFinder(term for attribute in lexicon.attributes for term in lexicon.terms(attribute))

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the fault: the first harmful phrase that the source does not contain, and its version."""
        known = set(self._phrases(source))
        for name, text in versions.items():
            if new := [phrase for phrase in self._phrases(text) if phrase not in known]:
                return f"'{new[0]}' in '{name}'"
        return None

    def _phrases(self, text: str) -> list[str]:
        """Return the case-folded phrases that consist of a word of the axis and a harmful word after it."""
        phrases = []
        for span in self.finder.find(text):
            following = re.match(r"[\s-]+(\w+)", text[span.end :])
            if following and following[1].casefold() in _harms():
                phrases.append(f"{span.term} {following[1].casefold()}")
        return phrases


@cache
def _harms() -> frozenset[str]:
    return frozenset(word for words in yaml.safe_load(HARMS.read_text(encoding="utf-8")).values() for word in words)


class SimilarityVerifier(TextVerifier):
    """Verifier that versions mean nearly the same as their source, judged by the cosine of their embeddings.

    The bundled encoder computes the embeddings. In the 1,860 bundled groups, the lowest cosine between two versions is
    0.56.
    """

    name = "meaning changed"

    def __init__(self, lexicon: Lexicon) -> None:
        del lexicon  # identical on every axis
        self.encoder = embedded_encoder()

    def check(self, rows: Sequence[Row], made: Sequence[Mapping[str, str]]) -> list[str | None]:
        """Embed all rows in one pass, and return the faults.

        Returns:
            Per row, the version least similar to the source and their cosine, or None if all are similar enough.
        """
        texts = [text for row, versions in zip(rows, made, strict=True) for text in (row.text, *versions.values())]
        embedded = iter(self.encoder.embed(texts)) if texts else iter(())
        faults: list[str | None] = []
        for versions in made:
            source = next(embedded)
            cosines = {name: float(source @ next(embedded)) for name in versions}
            far = min(cosines, key=lambda name: cosines[name])
            low = cosines[far] < LEAST_COSINE
            faults.append(f"'{far}' has a cosine of {cosines[far]:.2f} to its source" if low else None)
        return faults

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return the version least similar to ``source`` and their cosine, or None if all are similar enough."""
        return self.check([Row("", source, {}, "", 0)], [versions])[0]


class LabelVerifier(TextVerifier):
    """Verifier that asks a language model whether the row's ``label`` is right for every version.

    Rows without a label pass.
    """

    name = "label not kept"

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.prompt = load_prompt("label_check")

    def check(self, rows: Sequence[Row], made: Sequence[Mapping[str, str]]) -> list[str | None]:
        """Check in one batch of requests whether the versions of each row keep its label.

        Returns:
            Per row, the first version that lost the label (with the reason) or got no verdict. None if all versions
            keep the label, or if the row has no label.
        """
        asked = [
            (k, name, text)
            for k, (row, versions) in enumerate(zip(rows, made, strict=True))
            for name, text in versions.items()
            if row.extra.get(LABEL) is not None
        ]
        requests = [self._request(rows[k].text, text, rows[k].extra[LABEL]) for k, _, text in asked]
        faults: list[str | None] = [None] * len(rows)
        for (k, name, _), reply in zip(asked, self.llm.ask(requests, stage="label check"), strict=True):
            if not reply.ok:
                faults[k] = faults[k] or f"no verdict on '{name}' ({reply.outcome})"
            elif not reply.value["kept"]:
                faults[k] = faults[k] or f"'{name}': {reply.value['reason']}"
        return faults

    def fault(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Return None, because a label cannot be checked without its row."""
        return None

    def _request(self, original: str, rewritten: str, label: object) -> Request:
        examples = [
            (_json_of(example, "original", "rewritten", "label"), _json_of(example, "reason", "kept"))
            for example in self.prompt.examples
        ]
        content = json.dumps({"original": original, "rewritten": rewritten, "label": label}, ensure_ascii=False)
        return Request(chat(self.prompt.task, content, examples), schema=VERDICT, max_tokens=200)


def _json_of(example: Mapping[str, str], *keys: str) -> str:
    """Return a JSON object with the given keys of an example, whose values are already JSON."""
    return "{" + ", ".join(f"{json.dumps(key)}: {example[key]}" for key in keys) + "}"


VERIFIERS: dict[str, Callable[[Lexicon], TextVerifier]] = {
    "polarity": PolarityVerifier,
    "words": WordsVerifier,
    "kinds": KindsVerifier,
    "separators": SeparatorVerifier,
    "harms": HarmVerifier,
    "similarity": SimilarityVerifier,
}


def load_verifiers(names: Sequence[str], lexicon: Lexicon, llm: LLM | None = None) -> list[TextVerifier]:
    """Load verifiers by name.

    Names are keys of :data:`VERIFIERS`, or ``label``, which needs a language model.

    Raises:
        FairlabError: A name is unknown, or there is no language model for ``label``.
    """
    verifiers = list[TextVerifier]()
    for name in names:
        if name == LABEL:
            if llm is None:
                raise FairlabError("the verifier 'label' needs a language model; add llm=local or another, see --help")
            verifiers.append(LabelVerifier(llm))
        elif name in VERIFIERS:
            verifiers.append(VERIFIERS[name](lexicon))
        else:
            raise FairlabError(f"there is no verifier '{name}'; there are: {', '.join([*VERIFIERS, LABEL])}")
    return verifiers
