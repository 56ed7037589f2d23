"""Debiasing of a model with a limit on the loss of utility."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fairlab.api.arguments import checked
from fairlab.api.auditing import as_audited
from fairlab.api.debiasing import named_model
from fairlab.api.loading import load
from fairlab.api.results import Results, copied
from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.mending import FILE, mended, read_rule
from fairlab.mend.outcome import CHOSEN, MODEL, PROVEN, MendOutcome
from fairlab.mend.running import mend_model
from fairlab.record import Record
from fairlab.types import FairlabError


@dataclass(frozen=True)
class Mended:
    """Result of ``fairlab.mend``, with the debiased model if there is one.

    Attributes:
        outcome: Answer and judgements; its folder contains the model, the report, the citations and all records.
    """

    outcome: MendOutcome
    kept: Any = field(default=None, repr=False)  # temporary folder, deleted with this object
    original: AnyClassifier | None = field(default=None, repr=False)

    @property
    def folder(self) -> Path:
        """Return the folder that contains the model, the report and the records."""
        return self.outcome.folder

    @property
    def is_mended(self) -> bool:
        """Return whether a method was chosen and then confirmed on the headline benchmarks."""
        return self.outcome.is_mended

    @property
    def sentence(self) -> str:
        """Return the answer as one sentence."""
        return self.outcome.sentence

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self.outcome.lines])

    @cached_property
    def results(self) -> Results:
        """Return the readings of the confirmation or, if no method was selected, the readings for the selection."""
        places = (self.folder / PROVEN, self.folder / CHOSEN)
        return Results(Record.load(next(place for place in places if place.is_dir())), self.kept)

    @cached_property
    def model(self) -> Any:
        """Return the debiased model: an encoder, or a classifier that :func:`fairlab.audit` accepts.

        Raises:
            FairlabError: No method was successful.
        """
        if not self.is_mended:
            raise FairlabError(f"there is no debiased model: {self.sentence}")
        if self.original is None:
            return load(self.folder / MODEL)
        if (self.folder / FILE).is_file():
            return mended(self.original, read_rule(self.folder / FILE))
        return as_audited(str(self.folder / MODEL))

    @checked
    def save(self, folder: str | Path) -> Path:
        """Copy the model, the report and all records to a new folder.

        Raises:
            FairlabError: The folder is not empty, or the disk is full.
        """
        return copied(self.folder, Path(folder))


@checked
def mend(model: Any, axis: Any = "gender", keep: str | None = None, *, data: Any = None, **settings: Any) -> Mended:
    """Debias a model without losing more utility than allowed, as ``fairlab mend`` does.

    All methods that fit the model are tried. One method is selected by readings that appear in no table, and is then
    confirmed on the headline benchmarks. Both steps compare the debiased model with the original: at least one reading
    must become significantly fairer, no reading may become significantly less fair, and the 95 % interval of the change
    in utility must be above the limit ``keep``.

    Args:
        model: Encoder, as accepted by :func:`fairlab.debias`; with ``data``, a classifier, as accepted by
            :func:`fairlab.audit`.
        axis: Demographic axis, such as ``gender``. A classifier accepts a list of several axes.
        keep: Largest accepted loss of utility, as ``NAME:CHANGE``. The default is ``stsb:-0.5`` for
            encoders and ``accuracy:-2`` for classifiers.
        data: Labelled rows for a classifier, of which a third is held out for confirmation; None for an encoder.
        settings: ``methods``, ``scale``, ``seed``, ``limit``, ``name`` and ``output`` (a new folder, or the folder of
            an interrupted run to resume; if it is None, all files are deleted together with the returned object). For
            encoders also ``groups`` and ``benchmarks``; for classifiers also ``field``, ``label``, ``group``,
            ``labels`` and ``mode``.

    Raises:
        FairlabError: The model, the data or a setting is invalid, or no method fits the model.

    Example:
        >>> rows = [{"text": f"{('He', 'She')[k % 2]} came on day {k}.", "label": k % 2} for k in range(400)]
        >>> found = fairlab.mend(lambda texts: [0.6] * len(texts), data=rows, mode="lexical")  # doctest: +SKIP
        >>> found.is_mended  # doctest: +SKIP
        False
    """
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    given = {"axis": axis, "keep": keep, "output": Path(kept.name) / "mend"}
    given |= {name: value for name, value in settings.items() if value is not None}
    if data is None:
        return Mended(mend_model(named_model(model, Path(kept.name)), given), kept)
    classifier = as_audited(model)
    return Mended(mend_model(classifier, given, data), kept, classifier)
