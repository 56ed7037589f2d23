"""Interfaces of methods, data, augmentations and benchmarks.

A class implements an interface by deriving from it or by having its members; mypy checks both. Parts are distinguished
only by the interfaces that they implement.
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
    method is called with the model, the values of its yaml as keywords, and ``seed``.

    Attributes:
        title: Name of the method in reports and model cards.
        limits: Limits of its readings, in one or two sentences for the model card.
        citation: BibTeX entry of its publication, or a sentence that credits its authors.
        epochs: Number of passes over the training data.
        validate_every: Number of training steps between two validations.
        steps: Maximum number of training steps; None trains for all epochs.
        monitor: Name of the validation value by whose minimum the weights are selected.
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
        """Return the facts about the trained model that are recorded in addition to its configuration."""

    def measured(self, phase: str) -> Any:
        """Return the model to measure in a phase: ``before`` or ``after`` training."""

    def digest(self) -> str:
        """Return a hash of the trained weights, which shows whether training changed them."""

    def finish(self, folder: Path) -> None:
        """Complete the method after training, writing any files to the run folder."""

    def export(self, folder: Path, card: str) -> Path:
        """Write the model and its card to a folder, and return the path of its weights file."""


@runtime_checkable
class FittedMethod(Method, Protocol):
    """Method that is fitted without training steps."""

    def fit(self, data: Any) -> None:
        """Compute the change from the training data and apply it to the model."""


@runtime_checkable
class ChecksData(Protocol):
    """Method that detects unsuitable data before training."""

    def check_data(self, data: Any) -> None:
        """Raise if the training data does not suit the method."""


class TrainingData(Protocol):
    """Training data of a method, a LightningDataModule.

    :class:`fairlab.data.batch_stream.Streamed` provides the batches. The class is called with the values of its yaml,
    and with each of ``encoder``, ``epochs``, ``seed`` and ``augmentation`` that it has a parameter for.

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
        """Return the number of training batches in all epochs."""

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the ``input`` with which ``fairlab.augment`` reads this data, or None if it cannot be augmented.

        Args:
            settings: Configuration of the data.
        """
        return None

    def facts(self) -> dict[str, Any]:
        """Return facts about the data for the record: ``path``, ``sha256``, ``trained_on`` and sizes."""

    def sizes(self) -> dict[str, int]:
        """Return the number of items and of tokens per epoch."""

    def write(self, folder: Path) -> None:
        """Write the training data to the run folder if it is not stored elsewhere."""
        return

    def fingerprints(self) -> Fingerprints | None:
        """Return hashes of the training texts, used to find overlap with benchmarks, or None if they are unknown."""
        return None

    def axes(self) -> frozenset[str]:
        """Return the demographic axes, such as ``gender``, whose versions or words are in the training data."""
        return frozenset()


@runtime_checkable
class GroupAugmentation(Protocol):
    """Augmentation of counterfactual groups."""

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups to train on instead of the given ones.

        Groups may be omitted.
        """


@runtime_checkable
class TextAugmentation(Protocol):
    """Augmentation of plain text."""

    def texts(self, text: str) -> list[str]:
        """Return the texts that replace ``text``; an empty list removes it."""


@runtime_checkable
class BatchedTextAugmentation(TextAugmentation, Protocol):
    """Augmentation of plain text that is faster on many texts at once."""

    def all_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the replacements of every text; they are the same as those that :meth:`texts` returns."""


@runtime_checkable
class DescribedAugmentation(Protocol):
    """Augmentation that describes itself, so that its output can be reused."""

    def described(self) -> dict[str, Any]:
        """Return all values that determine the augmentation's output for a text."""


@runtime_checkable
class ExpandingAugmentation(Protocol):
    """Augmentation that can predict which texts it will expand."""

    def expands(self, texts: Sequence[str]) -> list[bool]:
        """Return, for each text, whether the augmentation produces any output."""


@runtime_checkable
class ExampleAugmentation(Protocol):
    """Augmentation of labelled examples, which adds new examples derived from existing ones."""

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """Return the fields and the label of each example to add; empty if the example cannot be augmented."""


@runtime_checkable
class SubgroupAugmentation(Protocol):
    """Augmentation of texts that mention a demographic subgroup."""

    def versions(self, text: str, category: str, subgroup: str) -> dict[str, str]:
        """Return the text rewritten for every other subgroup of the category, by ``category:subgroup``."""


class Planned:
    """Augmentation that ``fairlab.augment`` can run.

    Attributes:
        title: Name of the augmentation in texts for readers.
        limits: Limits of its output, in one or two sentences for the data card.
        citation: BibTeX entry of its publication, or a sentence that credits its authors.
        name: Name of the augmentation in its rows and in reports.
        plan: Dotted name of the class that runs the augmentation; the class implements :class:`Plan`.
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
        """Return the values that determine the output, apart from the texts and the seed, for the manifest.

        By default, these are the lexicon of the axis and its attributes.

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
    """Augmentation of one row at a time."""

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the output for every row, in order."""
        raise NotImplementedError


class Plan(Protocol):
    """Procedure by which ``fairlab.augment`` runs an augmentation.

    A plan is called with the configuration as plain containers, a function that reads the rows of the input again, and
    the record. Its methods are called in the order in which they are defined.
    """

    def made_by(self) -> dict[str, Any]:
        """Return the values that determine the output, apart from the texts and the seed, for the manifest.

        Raises:
            FairlabError: A setting does not suit the augmentation.
        """

    def prepare(self) -> tuple[Iterator[Any], partial[Any]] | None:
        """Do all work before rows are written, and return the rows and a builder of the augmentation for workers.

        Returns:
            Rows and builder, or None if no rows are to be written.
        """

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the rewriter for the record."""

    def report(self, manifest: Any, made: int) -> tuple[list[Reading], list[Note]]:
        """Return readings and notes for the record; ``made`` is the number of rows before ``limit`` is applied."""


@runtime_checkable
class Measurement(Protocol):
    """Benchmark of models or of data, described by its class.

    Attributes:
        version: Version of the benchmark's definition; it is raised whenever a value or an interval changes.
        description: Description of the benchmark; an instance whose name depends on its settings has its own.
    """

    version: ClassVar[int]
    description: Description

    @property
    def name(self) -> str:
        """Return the name of the benchmark in the keys of its readings."""
        return self.description.name

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description for readings with a given name, without its protocol; None for other benchmarks."""
        return cls.description if cls.description.name == name else None

    def texts(self) -> list[ItemTexts]:
        """Return the items with their texts, per part of the benchmark.

        The result is empty if there are no texts to show.

        Raises:
            FairlabError: The texts cannot be read.
        """
        return []

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the values (N, V) to show for N items, computed from the array that is stored for them."""
        return values.reshape(len(values), -1)


@runtime_checkable
class Benchmark(Measurement, Protocol):
    """Benchmark of models."""

    def measure(self, backbone: Any, before: Any = None) -> Outcome:
        """Measure a model.

        Args:
            backbone: Model to measure.
            before: ``items`` of an earlier measurement, for paired comparisons; None makes no comparisons.
        """


@runtime_checkable
class DataBenchmark(Measurement, Protocol):
    """Benchmark of datasets.

    Attributes:
        vectors: Embedder of the texts: a backbone's name, a run or model folder, or ``spacy:NAME``; None if texts are
            not embedded.
    """

    vectors: str | None

    def check_data(self, dataset: str, field: Any) -> None:
        """Raise if the dataset clearly cannot be measured; by default, all datasets are accepted."""

    def measure_data(self, dataset: str, field: Any, embed: Any, folder: Path) -> Outcome:
        """Measure the texts of a dataset; ``folder`` is for temporary data that does not fit into memory."""


class Rewriter(Protocol):
    """Rewriter of texts; the derived interfaces define the input of each kind of rewriter.

    ``GroupRewriter`` returns all versions of a text, ``WordRewriter`` rewrites one selected person, and
    ``LabelledRewriter`` keeps a label. All are in :mod:`fairlab.rewriting`.
    """

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the columns with the origin of a row: ``rewriter``, and a seed, a model or a prompt's hash."""


class RowAugmentationOnAxes(RowAugmentation):
    """Augmentation of rows along several axes at once, which are set by ``augmentation.axes``."""

    needs_rewriter = False

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the axes with their lexicons, and the settings of word sampling.

        Raises:
            FairlabError: ``axis`` or ``attributes`` was set, as for other augmentations.
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
    """Raise if an axis or attributes are set for an augmentation that does not take them, for the reason ``why``."""
    if values["axis"] != "gender" or values["attributes"] is not None:
        raise FairlabError(f"{why}; omit axis and attributes")
