"""BibTeX citations for runs, and a paragraph on how the runs were made, for the appendix of a paper."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from fairlab import __version__
from fairlab.checks.redaction import without_secrets
from fairlab.judge.reading import readers
from fairlab.record import DATA, Record
from fairlab.reporting.exports.measured_model import OWNED, model_given, weights_of
from fairlab.reporting.headlines import benchmark_title, description
from fairlab.reporting.tables.grouping import identity
from fairlab.reporting.tables.marks import marks_beside
from fairlab.reporting.tables.rendering import escaped
from fairlab.reporting.tables.tool_records import results_file

YEAR = "2026"  # year of this version of fairlab, as in CITATION.cff
KEY = re.compile(r"@\w+\{\s*([^,\s]+)\s*,")
# packages whose classes may have citations
PARTS = ("fairlab.methods.", "fairlab.augmentation.", "fairlab.rewriting.", "fairlab.data.")
# configuration groups that name a class
NAMED = ("method", "then", "augmentation", "rewriter", "data")


def bibtex(records: Sequence[Record]) -> str:
    """Return BibTeX entries for the methods, benchmarks, models and data of runs, and for fairlab.

    Each key occurs once. Names of runs, and credits that are not BibTeX entries, are written as comments.
    """
    entries: dict[str, str] = {}
    names = dict.fromkeys(record.name for record in records if record.name)
    credits: dict[str, None] = {_comment(f"Of: {', '.join(names)}"): None} if names else {}
    for record in records:
        parts = [_component_citations, _benchmark_citations, _tool_citations, _model_entries, _data_entries]
        for citation in chain.from_iterable(part(record) for part in parts):
            if found := KEY.match(citation):
                entries.setdefault(found[1], citation)
            else:
                credits[_comment(citation)] = None
    entries["fairlab"] = _entry(
        "fairlab",
        title="{fairlab}: a research framework for fairness in natural language processing",
        author="{The fairlab contributors}",
        version=", ".join(_versions(records)),
        year=YEAR,
    )
    return without_secrets("\n\n".join([*credits, *entries.values()]) + "\n")


def _comment(text: str) -> str:
    """Return a text as a BibTeX comment, with at signs spelled out, because an at sign would start an entry."""
    return f"% {' '.join(text.replace('@', ' at ').split())}"


def _component_citations(record: Record) -> Iterable[str]:
    """Yield the citations of a run's components: first from the record, then from fairlab's classes."""
    if said := record.provenance.get("method", {}).get("citation"):
        yield str(said).strip()
    for name in NAMED:
        node = record.config.get(name)
        target = node.get("_target_") if isinstance(node, dict) else None
        if isinstance(target, str) and target.startswith(PARTS) and (said := _citation(target)):
            yield said


def _citation(target: str) -> str:
    """Return the citation of a class of fairlab, or an empty string if the class does not exist."""
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError:
        return ""
    citation = getattr(found, "citation", "")
    return citation.strip() if isinstance(citation, str) else ""


def _benchmark_citations(record: Record) -> Iterable[str]:
    for reading in record.readings:
        found = description(reading)
        if found is not None and found.citation.strip():
            yield found.citation.strip()


def _tool_citations(record: Record) -> Iterable[str]:
    """Yield the citation of the tool that measured the run, unless this tool is fairlab."""
    if results_file(record) is not None:
        tool = str(record.config.get("tool", ""))
        yield from (
            said.strip()
            for reader in readers()
            if tool.startswith(reader.TOOL) and (said := getattr(reader, "CITATION", ""))
        )


def _model_entries(record: Record) -> Iterable[str]:
    for name, facts in _models(record).items():
        note = f"Weights with SHA-256 {facts['sha256']}" if facts.get("sha256") else ""
        on_hub = OWNED.fullmatch(name) and facts.get("sha256")  # a local path can look the same
        where = rf"\url{{https://huggingface.co/{name}}}" if on_hub else ""
        yield _entry(
            f"model-{_slug(name)}", key=_slug(name), title=f"{{{escaped(name)}}}", howpublished=where, note=note
        )


def _models(record: Record) -> dict[str, dict[str, Any]]:
    """Return facts about the weights of a run's models, by name.

    A model in a local folder is listed by its label or the name of the folder.
    """
    facts = weights_of(record)
    if found := {_short(str(one["name"]), label): dict(one) for label, one in facts.items()}:
        return found
    given = model_given(record)
    if isinstance(given, dict):
        return {_short(str(name), label): {} for label, name in given.items()}
    return {str(name): {} for name in (given if isinstance(given, list) else [given]) if name}


def _short(name: str, label: str) -> str:
    """Return the name of a model, or its label or folder name if the name is an absolute path."""
    return label or Path(name).name if Path(name).is_absolute() else name


def _data_entries(record: Record) -> Iterable[str]:
    facts = record.provenance.get("data")
    if isinstance(facts, dict) and isinstance(facts.get("path"), str):
        size = str(facts.get("trained_on", ""))
        note = ", ".join(filter(None, (size, f"SHA-256 {facts['sha256']}" if facts.get("sha256") else "")))
        yield _entry(f"data-{_slug(facts['path'])}", key="data", title=f"{{{escaped(facts['path'])}}}", note=note)


def _entry(name: str, /, **fields: str) -> str:
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items() if value]
    return "\n".join([f"@misc{{{name},", *lines, "}"])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[-60:]


def _versions(records: Sequence[Record]) -> list[str]:
    found = [str(record.provenance.get("versions", {}).get("fairlab", "")) for record in records]
    return list(dict.fromkeys(filter(None, found))) or [__version__]


def methods_paragraph(records: Sequence[Record]) -> str:
    """Return LaTeX text for an appendix on how runs were made and judged, with their command lines.

    Runs that differ only in their seed are described together.
    """
    grouped: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in records:
        grouped.setdefault(tuple(sorted(identity(record).items())), []).append(record)
    told = [_describe_runs(runs) for runs in grouped.values()]
    said = (
        "Intervals (95\\,\\%) resample items; over several seeds they add the variance between seeds. "
        "Differences are paired by item, and p-values of headline readings are adjusted by Holm's method. A reading is "
        "called even, or kept, only if its interval is within the margin that its benchmark states."
    )
    return without_secrets("\n\n".join([*told, said]) + "\n")


def _describe_runs(runs: Sequence[Record]) -> str:
    first = runs[0]
    called = escaped(", ".join(dict.fromkeys(run.name for run in runs if run.name)))
    seeds = [str(run.config.get("seed")) for run in runs if run.config.get("seed") is not None]
    purpose = _describe_purpose(first)
    what = f"\\textbf{{{called}}}: {purpose}" if called else purpose[:1].upper() + purpose[1:]
    data = first.provenance.get("data") or {}
    trained = f", trained on {escaped(str(data['trained_on']))}" if data.get("trained_on") else ""
    several = f", seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}" if seeds else ""
    used = f" with fairlab {', '.join(_versions(runs))}"
    marks = dict.fromkeys(mark for run in runs for reading in run.readings for mark in marks_beside(run, reading))
    spoiled = f" Of these models: {escaped('; '.join(marks))}." if marks else ""
    commands = "\n".join(dict.fromkeys(in_lines(run.command.replace("\\end{verbatim}", "")) for run in runs))
    verbatim = f"\\begin{{verbatim}}\n{commands}\n\\end{{verbatim}}"
    return f"{what}{trained}{several}{used}. {_describe_benchmarks(first)}{spoiled}\n{verbatim}"


def _describe_purpose(record: Record) -> str:
    """Describe in LaTeX what a run did, and with which models."""
    method, models = record.provenance.get("method", {}).get("title"), escaped(", ".join(_models(record)))
    if method:
        return f"{escaped(method)}{f' on {models}' if models else ''}"
    made = str((record.config.get("augmentation") or {}).get("_target_", "")).rpartition(".")[2]
    if made and not models:
        return f"data made by {escaped(made)}"
    measured = models or escaped(str(record.config.get("dataset") or "a model that the record does not name"))
    return f"measured {measured}"


def in_lines(command: str, width: int = 64) -> str:
    r"""Wrap a command into lines of up to ``width`` characters, joined by backslashes. A single word can be longer.

    Example:
        >>> print(in_lines("train 'a b' c=1", 11))
        train \
          'a b' \
          c=1
    """
    lines: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}" if lines else word)
    return " \\\n".join(lines)


def _describe_benchmarks(record: Record) -> str:
    """Describe in LaTeX the benchmarks of a run, each with its version and number of items."""
    found: dict[str, tuple[int, int]] = {}
    for reading in record.readings:
        if reading.phase != DATA:
            name = benchmark_title(reading)
            version, n = found.get(name, (reading.version, 0))
            found[name] = version, max(n, reading.n)
    said = [f"{escaped(name)} (definition {version or 1}, up to {n:,} items)" for name, (version, n) in found.items()]
    return f"Benchmarks: {', '.join(said)}." if said else "Nothing was measured."
