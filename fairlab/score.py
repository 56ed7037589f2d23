"""``python -m fairlab.score``: score new texts with an exported safety ensemble."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig

from fairlab.run import cli
from fairlab.run.build import build, plain
from fairlab.run.schema import refuse_misfits
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported where they are used: --help answers at once
    from fairlab.ensemble.export import Ensemble
    from fairlab.ensemble.sources import Sources


STDIN = "-"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="score")
def main(config: DictConfig) -> None:
    """Hydra's entry."""
    with cli.one_sentence():
        score(config)


def score(config: DictConfig) -> None:
    """Write one JSON line a row of the input, in order: its id, and its score by harm or why it has none.

    A harm with an exported threshold has a label as well: ``hate_label``, 1 from the threshold upwards and else 0.

    Raises:
        FairlabError: there is no such ensemble or input, or the output is there already.
    """
    from fairlab.data.stream.rows import read_rows, stdin_rows
    from fairlab.ensemble.scoring import score_stream
    from fairlab.files import no_space_is_one_sentence, replaced_when_written

    refuse_misfits("score", config)
    output = Path(config.output)
    if output.exists():
        raise FairlabError(f"{output} is there already; give another output")
    load = partial(scorer, str(model_folder(Path(config.model))), config.cache, plain(config.sources))
    rows = stdin_rows(config.field) if config.input == STDIN else read_rows(config.input, config.field)
    started, count, bad = time.perf_counter(), 0, 0
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        no_space_is_one_sentence(output),
        replaced_when_written(output) as temporary,
        temporary.open("w", encoding="utf-8") as lines,
    ):
        scored = score_stream(
            rows, lambda row: row.text if isinstance(row, Row) else "", load, num_proc=config.num_proc
        )
        for row, scores in scored:
            count += 1
            if isinstance(row, Row):
                line: dict[str, Any] = {"id": row.id, **_kept(row, config.keep), **scores}
            else:
                bad += 1
                line = {"id": row.place, "error": row.reason}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
    seconds = time.perf_counter() - started
    unread = f", {bad} of them could not be read" if bad else ""
    print(f"{count:,} texts{unread}: {output} ({count / seconds:,.0f} a second, starting included)")


def _kept(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    if missing := [name for name in columns if name not in row.extra]:
        has = ", ".join(row.extra) or "none"
        raise FairlabError(f"{row.place} has no column '{missing[0]}' to keep; beside text and id it has: {has}")
    return {name: row.extra[name] for name in columns}


def model_folder(path: Path) -> Path:
    """The exported ensemble: the folder itself, or ``model`` in the folder of a run."""
    return path / "model" if (path / "record.json").is_file() else path


def scorer(
    folder: str, cache: str | None, given: Mapping[str, Mapping[str, Any]]
) -> Callable[[list[str]], list[dict[str, float]]]:
    """What scores a list of texts by the ensemble in a folder."""
    ensemble, sources = load_with_sources(folder, cache, given)

    def scores(texts: list[str]) -> list[dict[str, float]]:
        by_harm = ensemble.score(sources, texts)
        columns: dict[str, list[float]] = {}
        for harm, values in by_harm.items():
            columns[harm] = [round(float(value), 6) for value in values]
            if harm in ensemble.thresholds:
                columns[f"{harm}_label"] = [int(value >= ensemble.thresholds[harm]) for value in values]
        return [{name: values[k] for name, values in columns.items()} for k in range(len(texts))]

    return scores


def load_with_sources(
    folder: str, cache: str | None = None, given: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[Ensemble, Sources]:
    """An exported ensemble with its sources.

    Args:
        folder: of the ensemble.
        cache: a file that keeps source scores; None keeps none.
        given: settings of its sources by name that stand over those in the folder, such as their addresses.

    Raises:
        FairlabError: there is none, or it names what may not be built.
    """
    from fairlab.ensemble.export import load_ensemble
    from fairlab.ensemble.sources import Sources
    from fairlab.ensemble.trust import read_sources

    ensemble = load_ensemble(Path(folder))
    nodes = read_sources(Path(folder), given or {})
    return ensemble, Sources([build(node) for node in nodes.values()], cache=cache)


def command() -> None:
    """The console script's entry."""
    cli.run(main, "score")


if __name__ == "__main__":
    command()
