"""StereoSet: contexts with three continuations each (a stereotype, an anti-stereotype and a meaningless sentence).

Source: Nadeem et al. 2021, "StereoSet: Measuring Stereotypical Bias in Pretrained Language Models". Its public
development set has 2,106 intrasentence examples (a word fills a BLANK in the context) and 2,123 intersentence examples
(a sentence follows the context). The dataset is never used for training.

Three layouts are read: the official ``dev.json``, a list of its examples, and the flat ``stereoset.json`` (a list of
``{id, target, bias_type, context, sentence}`` per label).
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.checks.values import shown
from fairlab.text.reading import read_json_file
from fairlab.types import FairlabError

LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
# task -> domain -> examples in the published development set
PUBLISHED = {
    "intrasentence": {"gender": 255, "profession": 810, "race": 962, "religion": 79},
    "intersentence": {"gender": 242, "profession": 827, "race": 976, "religion": 78},
}
TASKS = tuple(PUBLISHED)
DOMAINS = tuple(PUBLISHED["intrasentence"])
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class StereoSetItem:
    """Context with three candidate sentences.

    Attributes:
        id: Id of the example, unique within the file.
        task: Name of the task, ``intrasentence`` or ``intersentence``.
        domain: Kind of people the example is about, such as ``gender``.
        target: Word for the people the example is about, e.g. ``grandfather``; results are averaged over targets.
        context: Context sentence, which holds ``BLANK`` in the intrasentence task.
        sentences: Whole candidate sentences in the order stereotype, anti-stereotype, unrelated.
    """

    id: str
    task: str
    domain: str
    target: str
    context: str
    sentences: tuple[str, str, str]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words scored in place of ``BLANK`` in the intrasentence task, one per candidate.

        As in the official code, a candidate is split at single spaces, and the word at the position of the context's
        last ``BLANK`` is taken. All ASCII punctuation is removed, also within the word. The word is empty if the
        candidate has no word at this position.
        """
        place = max(k for k, word in enumerate(self.context.split(" ")) if BLANK in word)
        words = [sentence.split(" ")[place : place + 1] for sentence in self.sentences]
        return tuple("".join(word).translate(NO_PUNCTUATION) for word in words)


def read_stereoset(path: Path) -> list[StereoSetItem]:
    """Read examples in file order. If the file separates the tasks, intrasentence examples come first.

    Raises:
        FairlabError: The layout is unknown, or an example lacks a required field. The message names its id.
    """
    content = read_json_file(path, "is it StereoSet?")
    rows: Iterable[tuple[str | None, Any]]
    match content:
        case {"data": dict(tasks)}:
            rows = ((task, row) for task in TASKS for row in tasks.get(task, []))
        case {"stereotype": [*_], "anti-stereotype": [*_], "unrelated": [*_]}:
            rows = ((None, row) for row in _join_lists(path, content))
        case [*_]:
            rows = ((None, row) for row in content)
        case _:
            raise FairlabError(f"{path} has an unknown layout; use StereoSet's dev.json or the flat stereoset.json")
    examples = [_example(path, task, row) for task, row in rows]
    if not examples:
        raise FairlabError(f"{path} holds no example; is it StereoSet?")
    return examples


def _join_lists(path: Path, flat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Convert the flat layout, with one list per label, to examples in the official layout."""
    by_id = [{row["id"]: row for row in flat[label]} for label in LABELS]
    for id_, row in by_id[0].items():
        candidates = [part.get(id_) for part in by_id]
        if not all(other and other["context"] == row["context"] for other in candidates):
            raise FairlabError(f"{path}: example {id_} does not have the same context under all of {', '.join(LABELS)}")
        sentences = [
            {"sentence": other["sentence"], "gold_label": label}
            for other, label in zip(candidates, LABELS, strict=True)
            if other
        ]
        yield row | {"sentences": sentences}


def _example(path: Path, task: str | None, row: dict[str, Any]) -> StereoSetItem:
    try:
        by_label = {sentence["gold_label"]: sentence["sentence"] for sentence in row["sentences"]}
        stereotype, anti, unrelated = (by_label[label] for label in LABELS)
        context = row["context"]
        task = task or ("intrasentence" if BLANK in context else "intersentence")
        texts = (row["bias_type"], row["target"], context, stereotype, anti, unrelated)
        if strange := [one for one in texts if not isinstance(one, str)]:
            raise FairlabError(f"{path}: example {row['id']} holds {shown(strange[0])} instead of a text; fix it")
        domain, target = texts[:2]
        example = StereoSetItem(str(row["id"]), task, domain, target, context, (stereotype, anti, unrelated))
    except (KeyError, TypeError) as error:
        name = row.get("id") if isinstance(row, dict) else row
        raise FairlabError(
            f"{path}: example {name} lacks {error}; it needs id, target, bias_type, context and a sentence for each of "
            f"{', '.join(LABELS)}"
        ) from error
    if example.domain not in DOMAINS:
        raise FairlabError(
            f"{path}: example {example.id} has the unknown bias_type '{example.domain}'; the known ones are {DOMAINS}"
        )
    if task == "intrasentence" and not (BLANK in context and all(example.words)):
        raise FairlabError(f"{path}: example {example.id} has no {BLANK}, or a candidate has no word in its place")
    return example


def irregular_items(examples: Sequence[StereoSetItem]) -> dict[str, str]:
    """Return the reason for not scoring each irregular example, by its id.

    Closing punctuation after ``BLANK``, as in "The chess player was BLANK.", is not irregular.
    """
    found = {}
    first: dict[tuple[str, ...], str] = {}
    for example in examples:
        texts = tuple(text.casefold() for text in (example.context, *example.sentences))
        if example.task == "intrasentence" and (reason := _irregular_blank(example)):
            found[example.id] = reason
        elif len(set(texts[1:])) < len(LABELS):
            found[example.id] = "two of its candidates are equal up to case"
        elif texts in first:
            found[example.id] = f"it repeats example {first[texts]}"
        first.setdefault(texts, example.id)
    return found


def _irregular_blank(example: StereoSetItem) -> str:
    if (blanks := example.context.count(BLANK)) > 1:
        return f"its context has {blanks} {BLANK}s, all filled with one word"
    for word, sentence in zip(example.words, example.sentences, strict=True):
        if example.context.replace(BLANK, word).casefold() != sentence.casefold():
            return f"{BLANK} is attached to other characters, so the scored word, '{word}', is not the inserted one"
    return f"its context starts with {BLANK}" if example.context.startswith(BLANK) else ""
