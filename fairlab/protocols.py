"""Interfaces between the parts of fairlab: of methods, data, augmentations and benchmarks.

A class implements an interface by deriving from it or by having its members; mypy checks both. Parts are distinguished
only by the interfaces they implement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from fairlab.lexicons import load_lexicon
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch is imported lazily so that --help is fast
    import numpy as np
    from numpy.typing import NDArray

    from fairlab.record import Note, Outcome, Reading
    from fairlab.text.fingerprints import Fingerprints
    from fairlab.types import Description, Group, ItemTexts, Made, Row

ROW_BY_ROW = "fairlab.run.augmenting.row_by_row.RowByRow"


class Method(Protocol):
    """Training method that changes a model.

    :class:`fairlab.methods.base.Trained` and ``Fitted`` implement everything that is not specific to one method. A
    method is called with the model, the values of its yaml by name, and ``seed``.

    Attributes:
        title: Name of the method in reports and model cards.
        limits: Limits of its readings, in one or two sentences for the model card.
        citation: BibTeX entry of its publication, or a sentence that credits its authors.
        epochs: Number of passes over the training data.
        validate_every: Number of training steps between two validations.
        steps: Maximum number of training steps; None trains for all epochs.
        monitor: Validation value whose minimum selects the weights.
        patience: Number of validations without a lower value after which training stops; None disables early stopping.
        measurable_before: Whether the model can be measured before training.
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
        """Return the facts about the trained model that the record holds in addition to its configuration."""

    def measured(self, phase: str) -> Any:
        """Return the model that benchmarks measure in a phase, ``before`` or ``after``."""

    def digest(self) -> str:
        """Return a hash of the trained part of the model, by which a run detects whether training changed it."""

    def finish(self, folder: Path) -> None:
        """Do the remaining work after training; files are written to the run folder."""

    def export(self, folder: Path, card: str) -> Path:
        """Write the model and its card to a folder, and return the path of its weights file."""


@runtime_checkable
class FittedMethod(Method, Protocol):
    """Method without training steps."""

    def fit(self, data: Any) -> None:
        """Compute the required change from the training data and apply it to the model."""


@runtime_checkable
class ChecksData(Protocol):
    """Method that can detect unsuitable data before training."""

    def check_data(self, data: Any) -> None:
        """Raise if the training data does not suit the method, without training.

        Raises:
            FairlabError: the data does not suit the method.
        """


class TrainingData(Protocol):
    """Training data of a method: a LightningDataModule.

    :class:`fairlab.data.batch_stream.Streamed` provides the batches. The class is called with the values of its yaml,
    and with each of ``encoder``, ``epochs``, ``seed`` and ``augmentation`` that its parameters include.

    Attributes:
        applies: Interfaces of the augmentations that the data applies itself.
        made_key: Setting that takes the output of ``fairlab.augment``; None if the data cannot read such output.
        epochs: Number of passes over the training items.
    """

    applies: ClassVar[tuple[type, ...]] = ()
    made_key: ClassVar[str | None] = None
    epochs: int

    @property
    def total_batches(self) -> int:
        """Number of training batches over all epochs."""

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the ``input`` of ``fairlab.augment`` that stands for this data, or None if there is no such input.

        Args:
            settings: Configuration of the data.
        """
        return None

    def facts(self) -> dict[str, Any]:
        """Return the facts about the data for the record: ``path``, ``sha256``, ``trained_on`` and sizes."""

    def sizes(self) -> dict[str, int]:
        """Return the numbers of items and tokens in one pass over the training items."""

    def write(self, folder: Path) -> None:
        """Write the training data to the run folder if it is not stored elsewhere."""
        return

    def fingerprints(self) -> Fingerprints | None:
        """Return hashes of the training texts, used to find overlap with benchmarks, or None if unknown."""
        return None

    def axes(self) -> frozenset[str]:
        """Return the axes of people, such as ``gender``, whose versions or words are trained on; possibly empty."""
        return frozenset()


@runtime_checkable
class GroupAugmentation(Protocol):
    """Augmentation of counterfactual groups."""

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups to train on instead of the given ones; some may be left out."""


@runtime_checkable
class TextAugmentation(Protocol):
    """Augmentation of plain text."""

    def texts(self, text: str) -> list[str]:
        """Return the texts that replace ``text``; an empty list removes it."""


@runtime_checkable
class BatchedTextAugmentation(TextAugmentation, Protocol):
    """Augmentation of plain text that is faster on many texts at once."""

    def all_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the replacements of each text, the same as :meth:`texts` gives for each."""


@runtime_checkable
class DescribedAugmentation(Protocol):
    """Augmentation that describes itself, so that its output can be reused."""

    def described(self) -> dict[str, Any]:
        """Return all values that decide its output for a text."""


@runtime_checkable
class ExpandingAugmentation(Protocol):
    """Augmentation that can predict which texts it will expand."""

    def expands(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the augmentation produces any output from it."""


@runtime_checkable
class ExampleAugmentation(Protocol):
    """Augmentation that adds labelled examples derived from an existing one."""

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """Return fields and labels of the examples to add; an empty list if the example cannot be augmented."""


@runtime_checkable
class SubgroupAugmentation(Protocol):
    """Augmentation of texts that mention a subgroup."""

    def versions(self, text: str, category: str, subgroup: str) -> dict[str, str]:
        """Return the text rewritten for every other subgroup of its category, by ``category:subgroup``."""


class Planned:
    """Augmentation that ``fairlab.augment`` can run.

    Attributes:
        title: Name of the augmentation for people.
        limits: Limits of its output, in one or two sentences for the data card.
        citation: BibTeX entry of its publication, or a sentence that credits its authors.
        name: Name of the augmentation in its rows and in reports.
        plan: Dotted name of the class that runs the augmentation; it implements :class:`Plan`.
        needs_rewriter: Whether the augmentation produces no output without a rewriter.
    """

    title: ClassVar[str]
    limits: ClassVar[str]
    citation: ClassVar[str]
    name: ClassVar[str]
    plan: ClassVar[str] = ROW_BY_ROW
    needs_rewriter: ClassVar[bool] = True

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that decide an output apart from its texts and seed, for its manifest.

        By default these are the lexicon of the axis and its attributes.

        Args:
            values: Configuration of ``fairlab.augment``, as plain containers.
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
    """Augmentation of rows, one by one."""

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the result of every row, in order."""
        raise NotImplementedError


class Plan(Protocol):
    """Procedure by which ``fairlab.augment`` runs an augmentation.

    A plan is called with the configuration as plain containers, a function that rereads the rows of the input, and the
    record. Its methods are called in the order in which they are defined.
    """

    def made_by(self) -> dict[str, Any]:
        """Return the values that decide the output apart from its texts and seed, for its manifest.

        Raises:
            FairlabError: a setting does not suit the augmentation.
        """

    def prepare(self) -> tuple[Iterator[Any], partial[Any]] | None:
        """Do all work that precedes the writing of rows; return the rows and a builder of the augmentation for workers.

        Returns:
            Rows and builder, or None if only the preceding work was requested.
        """

    def provenance(self) -> dict[str, Any]:
        """Return the record's entry about the rewriter that was used."""

    def report(self, manifest: Any, made: int) -> tuple[list[Reading], list[Note]]:
        """Return readings and notes for the record; ``made`` is the number of rows before ``limit`` was applied."""


@runtime_checkable
class Measurement(Protocol):
    """Benchmark of models or of data, described by its class.

    Attributes:
        version: Version of the benchmark's definition; it rises with every change of a value or an interval.
        description: Description of the benchmark; an instance whose name depends on its settings has its own.
    """

    version: ClassVar[int]
    description: Description

    @property
    def name(self) -> str:
        """Name of the benchmark in the keys of its readings."""
        return self.description.name

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description for readings of a name (without a protocol); None for names of other benchmarks."""
        return cls.description if cls.description.name == name else None

    def texts(self) -> list[ItemTexts]:
        """Return the items with their texts, part by part; empty if there are no texts to show.

        Raises:
            FairlabError: the texts cannot be read.
        """
        return []

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the values (N, V) to show for N items, from the array that is stored for them."""
        return values.reshape(len(values), -1)


@runtime_checkable
class Benchmark(Measurement, Protocol):
    """Measurement of models."""

    def measure(self, backbone: Any, before: Any = None) -> Outcome:
        """Measure a model.

        Args:
            backbone: Model to measure.
            before: ``items`` of an earlier measurement, for paired comparisons; None measures without comparisons.
        """


@runtime_checkable
class DataBenchmark(Measurement, Protocol):
    """Measurement of data.

    Attributes:
        vectors: Embedder of the texts: a backbone's name, a run or model folder, or ``spacy:NAME``; None if texts are
            not embedded.
    """

    vectors: str | None

    def check_data(self, dataset: str, field: Any) -> None:
        """Raise if the dataset certainly cannot be measured; a benchmark without such a check accepts all.

        Raises:
            FairlabError: the dataset cannot be measured.
        """

    def measure_data(self, dataset: str, field: Any, embed: Any, folder: Path) -> Outcome:
        """Measure the texts of a dataset; ``folder`` stores data that does not fit into memory."""


class Rewriter(Protocol):
    """Rewriter of texts; the derived interfaces define the input of each kind.

    ``GroupRewriter`` gives all versions of a text, ``WordRewriter`` rewrites one selected person, ``LabelledRewriter``
    keeps a label. All are in :mod:`fairlab.rewriting`.
    """

    @property
    def provenance(self) -> dict[str, Any]:
        """Columns with the origin of a row: ``rewriter``, and a seed, a model or the hash of a prompt."""


class Verifier(Protocol):
    """Check of rewrites.

    Attributes:
        name: Short name for the kind of fault it finds, under which rejected rows are counted.
    """

    name: str

    def check(self, rows: Sequence[Row], made: Sequence[Mapping[str, str]]) -> list[str | None]:
        """Return for each row the fault in the versions of its text, or None if they pass the check."""


class RowAugmentationOnAxes(RowAugmentation):
    """Augmentation of rows that works on several axes at once, ``augmentation.axes``."""

    needs_rewriter = False

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the axes with their lexicons and the settings of word sampling.

        Raises:
            FairlabError: ``axis`` or ``attributes`` was set as for other augmentations.
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
    """Raise if an axis or attributes were given to an augmentation that does not take them.

    Raises:
        FairlabError: an axis or attributes were given; the message begins with ``why``.
    """
    if values["axis"] != "gender" or values["attributes"] is not None:
        raise FairlabError(f"{why}; omit axis and attributes")
