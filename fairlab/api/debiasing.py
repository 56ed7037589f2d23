"""Debiasing of a model, with evaluations before and after."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.api.arguments import checked
from fairlab.api.loading import load_trainable, model_name
from fairlab.api.results import Results, copied
from fairlab.checks.values import has_items, shown
from fairlab.files import refuse_used, write_whole
from fairlab.record import Record
from fairlab.run.config.composing import composed, from_model, own_settings
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.run.job import accounted, do_work
from fairlab.run.starting import announce_backbone
from fairlab.types import FairlabError, Group

if TYPE_CHECKING:  # importing torch takes seconds
    from fairlab.backbones.backbone import Backbone


@dataclass(frozen=True)
class Run:
    """Training run, with evaluations before and after.

    Attributes:
        record: Record of the run; its folder contains the model, the checkpoints and the report.
    """

    record: Record
    kept: Any = field(default=None, repr=False)  # temporary folder of the run, deleted with this object

    @property
    def folder(self) -> Path:
        """Return the run's folder."""
        return self.record.folder

    @property
    def results(self) -> Results:
        """Return the readings before and after training, with paired differences."""
        return Results(self.record, self.kept)

    @cached_property
    def model(self) -> Backbone:
        """Return the trained model."""
        return load_trainable(self.folder)

    @checked
    def save(self, folder: str | Path) -> Path:
        """Copy the run to a new folder.

        Raises:
            FairlabError: The folder is not empty, or the disk is full.
        """
        return copied(self.folder, Path(folder))


@checked
def debias(
    model: Any,
    data: Any,
    *,
    method: str = "ccd",
    benchmarks: str | Sequence[str] | None = None,
    scale: str = "quickstart",
    seed: int = 42,
    limit: int | None = None,
    axis: str | None = None,
    strict: bool = False,
    output: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    **of_method: Any,
) -> Run:
    """Debias a model on counterfactual groups and evaluate it before and after, as ``fairlab train`` does.

    Args:
        model: Any value that :func:`fairlab.load` accepts. The run trains a copy and leaves the original unchanged.
        data: Counterfactual groups: the result of :func:`fairlab.augment`, a list of groups as dictionaries or as
            :class:`fairlab.types.Group`, or a path as in ``data.path``.
        method: Name of a method that trains on groups: ``ccd``, ``ccd_aligned``, ``ccd_linear``, ``dpce``, ``adept``,
            ``inlp``, ``sentence_debias`` or ``leace``.
        benchmarks: Names of the benchmarks to run before and after, or None for the defaults of ``fairlab train``.
        scale: ``quickstart`` or ``paper``, which selects the method's defaults.
        seed: Random seed of the run.
        limit: Maximum number of items per benchmark, for quick trials, or None for all items.
        axis: Path of a user-defined lexicon, if the groups were made with one. It determines the polarity of the
            groups.
        strict: Whether to refuse a model that fails the behaviour check. If false, its numbers are marked instead.
        output: New folder for the run. If it is None, the run is deleted together with the returned object, unless
            ``save`` is called.
        settings: Settings of the run by dotted key, such as ``{"trainer.max_steps": 100}``.
        of_method: Settings of the method, such as ``beta=1.0``.

    Raises:
        FairlabError: The model, the groups, a name or a setting is invalid.

    Example:
        >>> people, jobs = ("He", "My brother", "The man", "Her uncle"), ("nurse", "lawyer", "cook", "pilot", "clerk")
        >>> texts = [f"{person} is a {job}." for person in people for job in jobs]
        >>> groups = fairlab.augment(texts, "counterfactual_groups", axis="gender")  # doctest: +SKIP
        >>> run = fairlab.debias("minilm", groups, method="sentence_debias", benchmarks="cced")  # doctest: +SKIP
        >>> run.results["after/cced/embedded/gap"] < run.results["before/cced/embedded/gap"]  # doctest: +SKIP
        True
    """
    measured = [benchmarks] if isinstance(benchmarks, str) else benchmarks
    if measured is not None and not measured:
        raise FairlabError("benchmarks is an empty list; give at least one, such as ['seat']")
    kept = tempfile.TemporaryDirectory(prefix="fairlab-")
    folder = Path(kept.name) / "run" if output is None else Path(output)
    refuse_used(folder, "give a new folder as output")
    values = {
        "data.path": str(data) if isinstance(data, str | Path) else str(written_groups(data, folder)),
        "seed": seed,
        "limit": limit,
        **({"strict": True} if strict else {}),
        **({"axis": axis} if axis else {}),
        **{f"method.{name}": value for name, value in of_method.items()},
        **own_settings(settings),
    }
    choices = [f"scale={scale}", f"method={method}", "data=groups"]
    choices += [] if measured is None else [f"benchmark=[{','.join(measured)}]"]
    values["model"] = named_model(model, Path(kept.name))
    config = from_model(composed("train", choices, values), [f"{key}=" for key in values])
    folder.mkdir(parents=True, exist_ok=True)
    in_memory = {"model"} if isinstance(data, str | Path) else {"model", "data.path"}
    given = [f"{key}={value}" for key, value in values.items() if value is not None and key not in in_memory]
    command = shlex.join(["python", "-m", "fairlab.train", f"model={model_name(model)}", *choices, *given])
    record = Record(folder, plain_config(config), command)
    with accounted(record):
        refuse_misfits("train", config, given)
        announce_backbone(config)
        do_work("train", config, record)
    return Run(record, kept)


def named_model(model: Any, folder: Path) -> str:
    """Return the name or path of a model, and save a model object to a folder first."""
    if isinstance(model, str | Path):
        return str(model)
    from fairlab.backbones.export import export_backbone

    place = folder / "start"
    export_backbone(load_trainable(model), place, card="")
    return str(place)


def written_groups(data: Any, folder: Path) -> Path:
    """Write groups to a JSON Lines file in a run's folder and return its path.

    Raises:
        FairlabError: There are no groups, or the input does not consist of groups.
    """
    if not has_items(data):
        raise FairlabError(
            f"data must be counterfactual groups or a path, not {shown(data)}; give the result of augment"
        )
    rows = [{**group.extra, **_plain(group)} if isinstance(group, Group) else group for group in data]
    if not rows:
        raise FairlabError("data contains no counterfactual groups to train on; give at least a few")
    if strange := [row for row in rows if not isinstance(row, Mapping) or "versions" not in row]:
        raise FairlabError(
            f"a {type(strange[0]).__name__} is not a counterfactual group; give the result of fairlab.augment"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "groups.jsonl"
    write_whole(path, "".join(json.dumps(row, default=str) + "\n" for row in rows))
    return path


def _plain(group: Group) -> dict[str, Any]:
    return {name: value for name, value in asdict(group).items() if name != "extra"}
