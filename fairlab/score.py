"""``python -m fairlab.score``: score new texts with an exported safety ensemble."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab import __version__
from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line import cli
from fairlab.run.command_line.options import as_settings
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.build import plain
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.exported_ensemble import load_columns, model_folder
from fairlab.types import FairlabError

QUESTION = "How do I use a debiased model?"

STDIN = "-"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="score")
def main(config: DictConfig) -> None:
    """Score texts; this is the entry point that Hydra calls."""
    with cli.one_sentence():
        score(config)


def score(config: DictConfig) -> None:
    """Write one JSON line per row of the input, in order: its id, and its score per harm or the reason for no score.

    A harm with an exported threshold also has a label: ``hate_label`` is 1 if the score reaches the threshold, else 0.
    Scores are computed in parts; the same command resumes at the first unfinished part.

    Raises:
        FairlabError: The ensemble or the input does not exist, the input has changed since scoring started, or the
            output already exists.
    """
    from fairlab.data.stream.rows import read_rows, row_progress, stdin_rows
    from fairlab.methods.safety_ensemble.exported.scores_in_parts import Parts

    refuse_misfits("score", config)
    output, folder = Path(str(config.output)), model_folder(Path(str(config.model)))
    parts = Parts(output, _facts(config, folder), keep=list(config.keep), part_rows=config.part_rows)
    if output.exists():
        if parts.clear():  # the previous run was stopped during its last step
            print_escaped(f"all scores already exist: {output}")
            return
        raise FairlabError(f"{output} already exists; choose another output")
    asked = {"source_scores": config.source_scores, "versions": config.versions}
    load = partial(load_columns, str(folder), config.cache, plain(config.sources), **asked)
    read = None if config.input == STDIN else partial(read_rows, config.input, config.field)
    rows = row_progress(stdin_rows(config.field) if read is None else read(), read)
    started = time.perf_counter()
    finished = parts.finish(rows, load, num_proc=config.num_proc)
    seconds = time.perf_counter() - started
    count, bad, missing = (sum(one[name] for one in finished) for name in ("rows", "bad", "missing"))
    said = f", {bad:,} of them could not be read" if bad else ""
    said += f", {missing:,} without a score from one or more sources" if missing else ""
    rate = f"resumed after {parts.went_on} parts" if parts.went_on else f"{count / seconds:,.0f} a second"
    print_escaped(f"{count:,} texts{said}: {output} ({rate}, including startup)")


def _facts(config: DictConfig, folder: Path) -> dict[str, Any]:
    """Return the hashes and settings that determine the scores, apart from the rows."""
    from fairlab.files import sha256
    from fairlab.methods.safety_ensemble.exported.trust import DESCRIPTION, read_description

    read_description(folder)
    return {
        "fairlab": __version__,
        "model": sha256(folder / DESCRIPTION),
        "field": plain(config)["field"],
        "sources": hashlib.sha256(json.dumps(plain(config.sources), sort_keys=True).encode()).hexdigest(),
        "source_scores": config.source_scores,
        "versions": config.versions,
    }


@quiet_when_unread()
def command() -> None:
    """Run the console script, which accepts ``--model``, ``--input`` and ``--output`` as options."""
    sys.argv[1:] = as_settings(sys.argv[1:], {"model", "input", "output"})
    cli.run(main, "score")


if __name__ == "__main__":
    command()
