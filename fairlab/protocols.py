"""What the parts of fairlab ask of one another: the contracts that a method, data, augmentation or benchmark meets.

A class of your own meets a contract by deriving from it, or by having what it lists; mypy checks both. Which contract
an object meets is the only thing by which parts are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from fairlab.lexicons import load_lexicon
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch is imported where it is used: --help answers at once
    import numpy as np
    from numpy.typing import NDArray

    from fairlab.record import Note, Outcome, Reading
    from fairlab.text.fingerprints import Fingerprints
    from fairlab.types import Description, Group, ItemTexts, Made, Row

ROW_BY_ROW = "fairlab.run.augmenting.row_by_row.RowByRow"


class Method(Protocol):
    """What changes a model; :class:`fairlab.methods.base.Trained` and ``Fitted`` give all but what is a method's own.

    It is called with the model, the values of its yaml by name, and ``seed``.

    Attributes:
        title: Name of the method in reports and model cards.
        limits: What its readings do not show, in one or two sentences for the model card.
        citation: BibTeX entry of its publication, or a sentence that says whose work it is.
        epochs: number of passes over the training data.
        validate_every: number of training steps between two validations.
        steps: most training steps; None trains for all epochs.
        monitor: the validation value whose lowest chooses the weights.
        patience: number of validations without a lower value after which training stops; None never stops it.
        measurable_before: whether the model can be measured before training.
    """

    title: str
    limits: str
    citation: str
    epochs: int
    validate_every: int
    steps: int | None
    monitor: str
    patience: int | None
    measurable_before: bool

    def facts(self) -> dict[str, object]:
        """What the record holds about the trained model beside its configuration."""
        ...

    def measured(self, phase: str) -> Any:
        """The model that benchmarks measure in a phase, ``before`` or ``after``."""
        ...

    def digest(self) -> str:
        """A hash of what is trained, by which a run tells whether anything was learned."""
        ...

    def finish(self, folder: Path) -> None:
        """What is left to do after training; files go into the run folder."""
        ...

    def export(self, folder: Path, card: str) -> Path:
        """Write the model with its card into a folder, and return the file of its weights."""
        ...


@runtime_checkable
class FittedMethod(Method, Protocol):
    """A method without training steps."""

    def fit(self, data: Any) -> None:
        """Find what is to be changed from the training data, and change the model."""
        ...


class TrainingData(Protocol):
    """What a method trains on: a LightningDataModule; :class:`fairlab.data.batch_stream.Streamed` gives the batches.

    It is called with the values of its yaml, and with those of ``encoder``, ``epochs``, ``seed`` and ``augmentation``
    that it has parameters for.

    Attributes:
        applies: the contracts of augmentations that it applies by itself.
        made_key: the setting that takes what ``fairlab.augment`` wrote; None where it reads no such output.
        epochs: number of passes over the training items.
    """

    applies: ClassVar[tuple[type, ...]] = ()
    made_key: ClassVar[str | None] = None
    epochs: int

    @property
    def total_batches(self) -> int:
        """Number of training batches over all epochs."""
        ...

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """What an augmentation of rows reads, as ``input`` of ``fairlab.augment``; None where that makes no sense.

        Args:
            settings: the data's configuration.
        """
        return None

    def facts(self) -> dict[str, Any]:
        """What the record holds about the data: ``path``, ``sha256``, ``trained_on`` and sizes."""
        ...

    def sizes(self) -> dict[str, int]:
        """Numbers of items and tokens that one pass over the training items goes through."""
        ...

    def write(self, folder: Path) -> None:
        """Write into the run folder what was trained on, where that stands nowhere else."""
        return

    def fingerprints(self) -> Fingerprints | None:
        """Hashes of the training texts, to tell what a benchmark shares with them; None where they are not known."""
        return None

    def axes(self) -> frozenset[str]:
        """The axes of people, such as ``gender``, whose versions or words are trained on; empty for data of none."""
        return frozenset()


@runtime_checkable
class GroupAugmentation(Protocol):
    """An augmentation of counterfactual groups."""

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """The groups to train on in place of those given; some may be left out."""
        ...


@runtime_checkable
class TextAugmentation(Protocol):
    """An augmentation of plain text."""

    def texts(self, text: str) -> list[str]:
        """The texts that take the place of one; none leaves it out."""
        ...


@runtime_checkable
class BatchedTextAugmentation(TextAugmentation, Protocol):
    """An augmentation of plain text that is faster on many texts at once."""

    def all_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """For every text, what takes its place, as one by one."""
        ...


@runtime_checkable
class DescribedAugmentation(Protocol):
    """An augmentation that tells what it does, so that what it made can be used again."""

    def described(self) -> dict[str, Any]:
        """All values that decide what it makes of a text."""
        ...


@runtime_checkable
class ExpandingAugmentation(Protocol):
    """An augmentation that can tell beforehand what it will expand."""

    def expands(self, texts: Sequence[str]) -> list[bool]:
        """Whether anything becomes of each text."""
        ...


@runtime_checkable
class ExampleAugmentation(Protocol):
    """An augmentation that adds labelled examples made of one."""

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """Fields and labels of the examples to be added; none where nothing can be made."""
        ...


@runtime_checkable
class SubgroupAugmentation(Protocol):
    """An augmentation of texts that mention a subgroup."""

    def versions(self, text: str, category: str, subgroup: str) -> dict[str, str]:
        """The text turned to every other subgroup of its category, by ``category:subgroup``."""
        ...


class Planned:
    """An augmentation that ``fairlab.augment`` can be asked for.

    Attributes:
        title: Name of the augmentation for people.
        limits: What its output does not show, in one or two sentences for the data card.
        citation: BibTeX entry of its publication, or a sentence that says whose work it is.
        name: what its rows and reports call it.
        plan: the class that carries it out, by its dotted name; it meets :class:`Plan`.
        needs_rewriter: whether it makes nothing without a rewriter.
    """

    title: ClassVar[str]
    limits: ClassVar[str]
    citation: ClassVar[str]
    name: ClassVar[str]
    plan: ClassVar[str] = ROW_BY_ROW
    needs_rewriter: ClassVar[bool] = True

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """What makes an output beside its texts and its seed, for its manifest: the lexicon of the axis by default.

        Args:
            values: the configuration of ``fairlab.augment``, as plain containers.
        """
        lexicon = load_lexicon(values["axis"])
        lexicon = lexicon if values["attributes"] is None else lexicon.only(values["attributes"])
        return {
            "axis": lexicon.axis,
            "attributes": list(lexicon.attributes),
            "lexicon_sha256": lexicon.sha256,
            "rewrites_by_rules": {lexicon.axis: lexicon.error_rate},
        }


class RowAugmentation(Planned):
    """An augmentation of rows, one by one."""

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """What becomes of every row, in order."""
        raise NotImplementedError


class Plan(Protocol):
    """How ``fairlab.augment`` carries an augmentation out.

    It is called with the configuration as plain containers, a function that reads the input's rows anew, and the
    record; its methods are called in the order they stand in.
    """

    def made_by(self) -> dict[str, Any]:
        """What makes the output beside its texts and its seed, for its manifest.

        Raises:
            FairlabError: a setting does not suit the augmentation.
        """
        ...

    def prepare(self) -> tuple[Iterator[Any], partial[Any]] | None:
        """All work that comes before rows are written: the rows, and what builds the augmentation in a worker.

        None where the work before is all that was asked for.
        """
        ...

    def provenance(self) -> dict[str, Any]:
        """What the record says of the rewriter that was used."""
        ...

    def report(self, manifest: Any, made: int) -> tuple[list[Reading], list[Note]]:
        """Readings and notes for the record; ``made`` rows were there before ``limit`` left some out."""
        ...


@runtime_checkable
class Measurement(Protocol):
    """A benchmark of models or of data; its class says what it is.

    Attributes:
        version: version of the benchmark's definition; it rises with every change of a value or an interval.
        description: what it is; an instance whose name depends on its settings has one of its own.
    """

    version: ClassVar[int]
    description: Description

    @property
    def name(self) -> str:
        """Name of the benchmark in the keys of its readings."""
        return self.description.name

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description of readings of a name, without a protocol; None if they are another benchmark's."""
        return cls.description if cls.description.name == name else None

    def texts(self) -> list[ItemTexts]:
        """Return the items with their texts, part by part; empty if they have no texts to be shown.

        Raises:
            FairlabError: the texts cannot be read.
        """
        return []

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the values (N, V) to be shown of N items, from the array that is kept of them."""
        return values.reshape(len(values), -1)


@runtime_checkable
class Benchmark(Measurement, Protocol):
    """A measurement of models."""

    def measure(self, backbone: Any, before: Any = None) -> Outcome:
        """Measure a model.

        Args:
            backbone: model to be measured.
            before: ``items`` of an earlier measurement, for paired comparisons; None for none.
        """
        ...


@runtime_checkable
class DataBenchmark(Measurement, Protocol):
    """A measurement of data.

    Attributes:
        vectors: what embeds the texts: a backbone's name, a run or model folder, or ``spacy:NAME``; None embeds none.
    """

    vectors: str | None

    def measure_data(self, dataset: str, field: Any, embed: Any, folder: Path) -> Outcome:
        """Measure a data set's texts; ``folder`` holds what memory cannot."""
        ...


class Rewriter(Protocol):
    """A rewriter of texts; what each kind rewrites is said by the contracts that derive from it.

    ``GroupRewriter`` gives all versions of a text, ``WordRewriter`` turns one selected person, ``LabelledRewriter``
    keeps a label; all in :mod:`fairlab.rewriting`.
    """

    @property
    def provenance(self) -> dict[str, Any]:
        """Columns that tell how a row was made: ``rewriter``, and a seed, a model or a prompt's hash."""
        ...


class Verifier(Protocol):
    """A check of rewrites.

    Attributes:
        name: a few words on what it objects to; the reason under which rejected rows are counted.
    """

    name: str

    def check(self, rows: Sequence[Row], made: Sequence[Mapping[str, str]]) -> list[str | None]:
        """For every row and the versions made of its text, what is wrong with them; None where nothing is."""
        ...


class RowAugmentationOnAxes(RowAugmentation):
    """An augmentation of rows that works on several axes at once, ``augmentation.axes``."""

    needs_rewriter = False

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The axes with their lexicons, and how words are drawn.

        Raises:
            FairlabError: an axis or attributes were given as for the other augmentations.
        """
        refuse_axis(values, "this augmentation takes its axes from augmentation.axes, such as augmentation.axes=[race]")
        node = values["augmentation"]
        lexicons = [load_lexicon(axis) for axis in node["axes"]]
        return {
            "axis": ", ".join(lexicon.axis for lexicon in lexicons),
            **{name: node[name] for name in ("sampling", "at_least") if name in node},
            "lexicon_sha256": [lexicon.sha256 for lexicon in lexicons],
            "rewrites_by_rules": {lexicon.axis: lexicon.error_rate for lexicon in lexicons},
        }


def refuse_axis(values: Mapping[str, Any], why: str) -> None:
    """Raise where an axis or attributes were given to an augmentation that takes none.

    Raises:
        FairlabError: they were; the message begins with ``why``.
    """
    if values["axis"] != "gender" or values["attributes"] is not None:
        raise FairlabError(f"{why}; leave out axis and attributes")
