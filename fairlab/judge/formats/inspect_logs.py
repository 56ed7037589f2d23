"""Reader of inspect logs: ``.eval`` archives and ``.json`` files in version 2 of the log format."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairlab.judge.opening import LARGEST, as_object, beginning, json_object, number, parsed, part, parts
from fairlab.judge.scores import TaskScores, ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "inspect"
CITATION = r"""
@software{inspect_ai,
  title = {Inspect {AI}: Framework for Large Language Model Evaluations},
  author = {{UK AI Security Institute}},
  year = {2024},
  url = {https://github.com/UKGovernmentBEIS/inspect_ai},
}
"""
VERSION = 2
HEADER, SAMPLES = "header.json", "samples/"
ZSTANDARD = 93  # ZIP compression method
LOCAL_HEADER = 30  # number of bytes before a member's name
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
GROUPS = ("cluster", "group", "passage")  # metadata keys that name a sample's group


def recognises(path: Path) -> bool:
    """Return whether a file is an inspect log."""
    if path.suffix == ".eval":
        return True
    head = beginning(path) if path.suffix == ".json" else ""
    return '"eval"' in head and '"status"' in head and '"version"' in head


def read(path: Path) -> ToolRun:
    """Read the scores of all samples of a log.

    Raises:
        FairlabError: The log has an unsupported version, belongs to an unfinished run, or contains no scored sample.
    """
    header, samples = _read_archive(path) if path.suffix == ".eval" else _read_json(path)
    evaluation, results = header.get("eval"), part(header, "results")
    if header.get("version") != VERSION or not isinstance(evaluation, dict):
        raise FairlabError(f"{path} has version {header.get('version')} of inspect's log format; {VERSION} can be read")
    if header.get("status") != "success":
        raise FairlabError(f"{path} is the log of a run that ended as '{header.get('status')}'; finish it first")
    rows: dict[str, list[tuple[str, float, str, str]]] = {}
    unscored: Counter[str] = Counter()
    failed = 0
    for sample in samples:
        failed += sample.get("error") is not None
        text, group = text_hash(_input(sample.get("input"))), _group(sample)
        for scorer, score in part(sample, "scores").items():
            found = _values(str(scorer), score.get("value")) if isinstance(score, dict) else {}
            for name, value in found.items():
                unscored[name] += value is None
                if value is not None:
                    rows.setdefault(name, []).append((str(sample.get("id")), value, text, group))
    task = str(evaluation.get("task"))
    if not rows:
        words = (
            "its scores are words; score again with a scorer that gives numbers" if unscored else "keep samples in it"
        )
        raise FairlabError(f"{path} contains no sample with a numeric score; {words}")
    reported = _reported(results)
    tasks = tuple(
        _scores(task, scorer, some, reported, evaluation, failed, unscored[scorer]) for scorer, some in rows.items()
    )
    version = part(evaluation, "packages").get("inspect_ai", "of an unknown version")
    return ToolRun(str(evaluation.get("model")), f"{TOOL} {version}", path, tasks)


def _input(given: Any) -> str:
    """Return a sample's input without the ids of its messages, which differ between runs."""
    if not isinstance(given, list):
        return str(given)
    messages = [one if isinstance(one, dict) else {"content": one} for one in given]
    return json.dumps([[one.get("role"), one.get("content")] for one in messages], sort_keys=True)


def _values(scorer: str, value: Any) -> dict[str, float | None]:
    """Return the values of a score, keyed by name. A value is None if it is not numeric.

    A single value has the name of the scorer. If there are several values, each name consists of the scorer and the
    name of the value.
    """
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value, 1)
        return {f"{scorer}, {name}": _number(one) for name, one in named}
    return {scorer: _number(value)}


def _number(value: Any) -> float | None:
    """Convert a value to a number as inspect's ``value_to_float`` does.

    Letters, yes or no, true or false, and numbers as text are converted. The result is None for any other value.
    """
    if isinstance(value, str) and number(value) is None:
        word = value.strip().lower()
        if word in WORDS:
            return WORDS[word]
        try:
            return number(float(word))
        except ValueError:
            return None
    return number(value)


def _scores(
    task: str,
    scorer: str,
    rows: list[tuple[str, float, str, str]],
    reported: Mapping[str, float | None],
    evaluation: Mapping[str, Any],
    failed: int,
    unscored: int,
) -> TaskScores:
    found = {
        "version of the task": evaluation.get("task_version"),
        "arguments of the task": evaluation.get("task_args") or None,
        "solver": evaluation.get("solver"),
        "epochs": part(evaluation, "config").get("epochs"),
        "samples that ended with an error": failed or None,
        "temperature": part(evaluation, "model_generate_config").get("temperature"),
    }
    settings = {name: str(value) for name, value in found.items() if value is not None}
    return item_scores(
        task, scorer, rows, higher_is_better=True, reported=reported.get(scorer), settings=settings, unscored=unscored
    )


def _reported(results: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the accuracy or mean that the log reports for each scorer.

    Scores are left out if epochs were reduced by a method other than the mean.
    """
    found: dict[str, float | None] = {}
    for score in parts(results, "scores"):
        if score.get("reducer") not in (None, "mean"):
            continue
        metrics = part(score, "metrics")
        metric = part(metrics, "accuracy") or part(metrics, "mean")
        found[str(score.get("name"))] = number(metric.get("value"))
    return found


def _group(sample: Mapping[str, Any]) -> str:
    metadata = part(sample, "metadata")
    return next((str(metadata[key]) for key in GROUPS if metadata.get(key) is not None), "")


def _read_json(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    content = json_object(path)
    return content, iter(parts(content, "samples"))


def _read_archive(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    with _one_error(path):
        archive = zipfile.ZipFile(path)
    header = as_object(parsed(_member(archive, HEADER, path), str(path)), str(path))

    def samples() -> Iterator[dict[str, Any]]:
        with archive:
            for name in archive.namelist():
                if name.startswith(SAMPLES) and name.endswith(".json"):
                    yield as_object(parsed(_member(archive, name, path), str(path)), str(path))

    return header, samples()


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    """Convert any exception in the context to one sentence, because damaged bytes can cause any kind of exception."""
    try:
        yield
    except FairlabError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FairlabError(f"{path} is cut off or damaged ({reason}); copy the log again") from error


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """Return the text of an archive member, which can be stored, deflated or compressed with Zstandard.

    Raises:
        FairlabError: The member is missing, too large or damaged.
    """
    with _one_error(path):
        return _unpack(archive, name, path).decode("utf-8")


def _unpack(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Return the uncompressed bytes of an archive member.

    Before Python 3.14, ``zipfile`` does not support Zstandard, so pyarrow decompresses such members.
    """
    info = archive.getinfo(name)
    if info.file_size > LARGEST:
        raise FairlabError(f"{path} holds {name}, which is larger than {LARGEST >> 30} GiB; give a smaller log")
    if info.compress_type != ZSTANDARD:
        return archive.read(name)
    import pyarrow

    with path.open("rb") as file:
        file.seek(info.header_offset)
        header = file.read(LOCAL_HEADER)
        lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        file.seek(info.header_offset + LOCAL_HEADER + lengths)
        packed = file.read(info.compress_size)
    unpacked: bytes = pyarrow.Codec("zstd").decompress(packed, info.file_size, asbytes=True)
    if zlib.crc32(unpacked) != info.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 of {name}")
    return unpacked
