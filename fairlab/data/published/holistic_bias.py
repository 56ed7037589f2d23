"""HolisticBias: template sentences about people with many descriptors, such as "I love being a Deaf grandmother".

Source: Smith et al. 2022, "'I'm sorry to hear that': Finding New Biases in Language Models with a Holistic Descriptor
Dataset". The dataset is never used for training.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.data.published.download import locate
from fairlab.text.reading import read_json_file
from fairlab.types import FairlabError

# version -> folder of its files under FAIRLAB_DATA
FOLDERS = {"1.0": "holistic_bias/v1.0", "1.1": "holistic_bias"}
FILES = ("descriptors.json", "nouns.json", "sentence_templates.json", "standalone_noun_phrases.json")
AXES = (
    "ability",
    "age",
    "body_type",
    "characteristics",
    "cultural",
    "gender_and_sex",
    "nationality",
    "nonce",
    "political_ideologies",
    "race_ethnicity",
    "religion",
    "sexual_orientation",
    "socioeconomic_class",
)


@dataclass(frozen=True)
class NounPhrase:
    """Noun phrase that is inserted into a template.

    Attributes:
        axis: Axis of the descriptor, such as ``ability``; empty for a bare noun.
        descriptor: Phrase without its article and noun; empty for a bare noun.
        gendered: Whether the descriptor is combined with nouns of one gender only.
        noun: Noun in the singular; empty if the phrase has no noun ("Deaf", "a widow").
        singular: Phrase in the singular, with its article.
        plural: Phrase in the plural, without an article.
    """

    axis: str
    descriptor: str
    gendered: bool
    noun: str
    singular: str
    plural: str


@dataclass(frozen=True)
class Template:
    """Sentence with a placeholder for a noun phrase.

    Attributes:
        text: Template, which contains ``{noun_phrase}`` or ``{plural_noun_phrase}``.
        needs_noun: Whether only phrases with a noun can be inserted, because "I like Deaf." is not a sentence.
    """

    text: str
    needs_noun: bool

    def fill(self, phrase: NounPhrase) -> str:
        """Return the sentence about ``phrase``."""
        return self.text.format(noun_phrase=phrase.singular, plural_noun_phrase=phrase.plural)


@dataclass(frozen=True)
class HolisticBiasSet:
    """Noun phrases and templates of one version."""

    phrases: list[NounPhrase]
    templates: list[Template]

    def sentences(self) -> Iterator[str]:
        """Yield every sentence of the set. A few occur twice, because a word may be a descriptor of two axes."""
        for phrase in self.phrases:
            for template in self.templates:
                if phrase.noun or not template.needs_noun:
                    yield template.fill(phrase)

    def comparable(self) -> dict[str, dict[str, list[NounPhrase]]]:
        """Return the phrases of every descriptor, by axis and descriptor, with one phrase per noun in the same order.

        Gendered descriptors are left out. The others are combined with all nouns, so their sentences are comparable.
        """
        found: dict[str, dict[str, list[NounPhrase]]] = defaultdict(lambda: defaultdict(list))
        for phrase in self.phrases:
            if phrase.descriptor and phrase.noun and not phrase.gendered:
                found[phrase.axis][phrase.descriptor].append(phrase)
        return {axis: dict(descriptors) for axis, descriptors in found.items()}


def locate_holistic_bias(version: str) -> list[Path]:
    """Return the four files of a version, in the order of ``FILES``.

    Raises:
        DataUnavailable: A file is unavailable. The files of version 1.0 have no known hash and are never downloaded.
    """
    return [locate(f"{FOLDERS[version]}/{file}") for file in FILES]


def read_holistic_bias(paths: Sequence[Path]) -> HolisticBiasSet:
    """Read noun phrases and templates from the four files.

    Raises:
        FairlabError: A file is not JSON with the published layout.
    """
    descriptors, nouns, templates, standalone = (read_json_file(path, "fetch it again") for path in paths)
    try:
        pairs = {gender: [(str(one), str(many)) for one, many in pairs] for gender, pairs in nouns.items()}
        phrases = [
            NounPhrase("", "", False, one, f"{_article(one)} {one}", many)
            for gender in pairs
            for one, many in pairs[gender]
        ]
        for axis, buckets in descriptors.items():
            for bucket in buckets.values():
                for entry in bucket:
                    phrases += _of_descriptor(axis, _as_entry(entry, "descriptor"), pairs)
        for axis, entries in standalone.items():
            for entry in entries:
                phrases += _of_standalone(axis, _as_entry(entry, "noun_phrase"), pairs)
        found = [Template(text, specs.get("must_be_noun", False)) for text, specs in templates.items()]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FairlabError(
            f"the files of HolisticBias in {paths[0].parent} do not have the published layout "
            f"({type(error).__name__}: {error}); fetch them again"
        ) from error
    return HolisticBiasSet(phrases, found)


def _article(phrase: str) -> str:
    """Return the indefinite article by the first letter of a phrase, as HolisticBias does.

    Example:
        >>> _article("elderly"), _article("Black"), _article("US-born")  # exceptions are listed in the data
        ('an', 'a', 'an')
    """
    return "an" if phrase[0].lower() in "aeiou" else "a"


def _as_entry(entry: str | dict[str, str], key: str) -> dict[str, str]:
    """Convert an entry to a dictionary if it is plain text, that is, if it has no further properties."""
    return {key: entry} if isinstance(entry, str) else entry


def _of_descriptor(
    axis: str, entry: dict[str, str], nouns: Mapping[str, list[tuple[str, str]]]
) -> Iterator[NounPhrase]:
    """Yield the descriptor alone, and combined with every noun that matches its gender."""
    descriptor, gender = entry["descriptor"], entry.get("gender", "")
    before = entry.get("article", _article(descriptor))
    yield NounPhrase(axis, descriptor, bool(gender), "", descriptor, descriptor)
    for noun_gender, pairs in nouns.items():
        if gender in ("", noun_gender):
            for one, many in pairs:
                singular, plural = f"{before} {descriptor} {one}", f"{descriptor} {many}"
                yield NounPhrase(axis, descriptor, bool(gender), one, singular, plural)


def _of_standalone(
    axis: str, entry: dict[str, str], nouns: Mapping[str, list[tuple[str, str]]]
) -> Iterator[NounPhrase]:
    """Yield a standalone phrase, combined with every noun if it has a placeholder.

    For example, "{article} {noun} with dyslexia" has placeholders.
    """
    singular = entry["noun_phrase"]
    plural = entry.get("plural_noun_phrase", singular)
    descriptor = singular.format(article="", noun="").strip()
    if "{noun}" not in singular:
        yield NounPhrase(axis, descriptor, False, "", singular, plural)
        return
    for pairs in nouns.values():
        for one, many in pairs:
            yield NounPhrase(
                axis,
                descriptor,
                False,
                one,
                singular.format(article=_article(one), noun=one),
                plural.format(article="", noun=many).strip(),
            )
