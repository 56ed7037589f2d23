"""Perturbation of streamed rows, or of labelled examples in memory, with stored choices.

The choices (number of the row, hash of its text, word, axis, target) form a manifest that can be shared without the
texts. The manifest reproduces the same texts from the same data with the same rewriter.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fairlab.augmentation.perturbation import CHOICE, Perturbation, text_sha256
from fairlab.data.published.tasks import Example
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.manifest import data_files
from fairlab.rewriting.word_rewriters import Selection
from fairlab.text.fields import join_fields
from fairlab.text.reading import read_json_lines
from fairlab.types import DataUnavailable, FairlabError, Row

CHOICES = "choices.jsonl"


def with_choices(rows: Iterable[Row | BadRow], file: Path) -> Iterator[Row | BadRow]:
    """Yield all rows, with the choices from a manifest added to the rows that they belong to.

    The choices must be in the order of the rows.

    Raises:
        DataUnavailable: There is no such file.
        FairlabError: The file is not a manifest of choices, or belongs to other rows.
    """
    choices = read_choices(file)
    following = next(choices, None)
    for row in rows:
        if isinstance(row, Row):
            row = _without_choice(row, file)
        if isinstance(row, BadRow) or following is None or row.number != following[0]:
            yield row
            continue
        number, digest, choice = following
        if text_sha256(row.text) != digest:
            raise FairlabError(
                f"{file} chooses a word of a text that differs from row {number}; "
                "give the data for which the file was made"
            )
        yield replace(row, extra={**row.extra, CHOICE: asdict(choice)})
        following = next(choices, None)
    if following is not None:
        raise FairlabError(
            f"{file} chooses a word of row {following[0]}, which is missing; give the data for which the file was made"
        )


def _without_choice(row: Row, file: Path) -> Row:
    """Return a row without the choice of an earlier perturbation, which belongs to an earlier text.

    Raises:
        FairlabError: The row has another column of this name, which would be lost.
    """
    earlier = row.extra.get(CHOICE)
    if not isinstance(earlier, Mapping | None):
        raise FairlabError(
            f"{row.place}: the column '{CHOICE}' would be lost, because {file} fills it; rename the column"
        )
    return replace(row, extra={name: value for name, value in row.extra.items() if name != CHOICE})


def read_choices(file: Path) -> Iterator[tuple[int, str, Selection]]:
    """Yield the row number, the hash of the text and the choice from each line of a manifest."""
    if not file.is_file():
        raise DataUnavailable(f"{file} is not a file; give the {CHOICES} of an earlier perturbation")
    for place, row in read_json_lines(file):
        try:
            yield row.pop("number"), row.pop("sha256"), Selection(**row)
        except (KeyError, TypeError, AttributeError) as error:
            raise FairlabError(f"{place} is not a choice of a perturbation; make the file again") from error


@dataclass(frozen=True)
class PerturbedExamples:
    """Labelled examples after perturbation, with their axes and counts.

    Attributes:
        examples: Examples in the original order, with unchanged labels.
        axes: Axis of each changed example; empty for the others.
        counts: Numbers of examples, of examples with a choice, and of each outcome.
    """

    examples: list[Example]
    axes: list[str]
    counts: dict[str, int]

    @property
    def changed(self) -> list[int]:
        """Return the positions of the changed examples."""
        return [k for k, axis in enumerate(self.axes) if axis]


def perturb_examples(examples: Sequence[Example], perturbation: Perturbation) -> PerturbedExamples:
    """Change one person in each example to another attribute, and keep the label.

    The texts are the same as those that ``fairlab.augment`` makes from the task's split.
    """
    texts = [join_fields(example.fields) for example in examples]
    if perturbation.choices is None:
        drawn = perturbation.choose(texts, range(1, len(texts) + 1), perturbation.weights(texts))
        chosen = {k: choice for k, choice in enumerate(drawn) if choice is not None}
    else:
        rows = [Row(str(k), text, {}, f"row {k}", k) for k, text in enumerate(texts, start=1)]
        named = (row for row in with_choices(rows, perturbation.choices) if isinstance(row, Row))
        chosen = {row.number - 1: Selection(**row.extra[CHOICE]) for row in named if CHOICE in row.extra}
    made = perturbation.rewrite([examples[k].fields for k in chosen], list(chosen.values())) if chosen else []
    perturbed, axes = list(examples), [""] * len(examples)
    counts = Counter(examples=len(examples), chosen=len(chosen))
    for (k, choice), found in zip(chosen.items(), made, strict=True):
        counts[found.fault[0] or f"perturbed/{choice.axis}"] += 1
        if not found.fault[0]:
            perturbed[k], axes[k] = examples[k].with_fields(found.fields), choice.axis
    return PerturbedExamples(perturbed, axes, dict(counts))


def read_perturbed(folder: Path, examples: Sequence[Example], names: Sequence[str]) -> PerturbedExamples:
    """Read the examples that ``fairlab.augment`` perturbed with any rewriter.

    Raises:
        DataUnavailable: There is no finished output.
        FairlabError: The output belongs to other examples.
    """
    rows = [row for file in data_files(folder) for _, row in read_json_lines(file)]
    other = f"{folder} is not a perturbation of these {len(examples)} examples; run fairlab.augment on this split"
    if len(rows) != len(examples) or not all({*names, "perturbed"}.issubset(row) for row in rows):
        raise FairlabError(other)
    perturbed, axes = [], []
    for row, example in zip(rows, examples, strict=True):
        fields = [row[name] for name in names]
        source = row["source_text"] if row["perturbed"] else join_fields(fields)
        if source != join_fields(example.fields):
            raise FairlabError(f"{other}: row {row['id']} is a different text")
        perturbed.append(example.with_fields(fields))
        axes.append(row[CHOICE]["axis"] if row["perturbed"] else "")
    counts = Counter(f"perturbed/{axis}" for axis in axes if axis)
    return PerturbedExamples(perturbed, axes, {"examples": len(rows), **counts})
