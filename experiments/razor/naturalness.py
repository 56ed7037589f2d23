"""How well a small causal LM tells exchanges that read naturally from those that do not.

    python experiments/razor/naturalness.py SYMMETRIC OUT

SYMMETRIC is an output of ``augmentation=symmetric`` of the study's claims, without a language model: the data that
``symmetric_sheet.csv`` was drawn from. For each row of that sheet SmolLM2 gives the most that the exchange raises the
negative log-likelihood of a token in a text. OUT gets a ``record.json`` with the area under the ROC curve of that for
what the sheet calls unnatural, and the share of natural rows among those at or below the default of
``augmentation.rise``.
"""

from __future__ import annotations

import argparse
import inspect
import shlex
import sys
from pathlib import Path

import numpy as np
import yaml
from sklearn.metrics import roc_auc_score

from experiments.razor.tables import read_sheet
from fairlab.augmentation.symmetric import Symmetric
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.stream.manifest import dataset_rows
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Reading, Record
from fairlab.run.build import build
from fairlab.run.cli import conf_dir
from fairlab.run.environment import environment
from fairlab.types import Row

RISE = inspect.signature(Symmetric).parameters["rise"].default


def rises(symmetric: Path, ids: list[str]) -> np.ndarray:
    """Most that the exchange of each row raises the negative log-likelihood of a token, in nats, (N,)."""
    read = dataset_rows(str(symmetric), ["gold_evidence", "text"])
    fields = {row.id: row.fields for row in read if isinstance(row, Row)}
    node = yaml.safe_load((Path(conf_dir()) / "backbone" / "smollm2.yaml").read_text(encoding="utf-8"))
    model = CausalLM(build(node))
    found = []
    for name in ids:
        was, now = fields[f"{name.rsplit('-', 1)[0]}-0"], fields[name]
        changed = [pair for pair in zip(was, now, strict=True) if pair[0] != pair[1]]
        before, after = (model.log_likelihoods(texts).means for texts in zip(*changed, strict=True))
        found.append(float(np.max(before - after)))
    return np.array(found)


def readings(odd: np.ndarray, raised: np.ndarray) -> list[Reading]:
    """The area under the ROC curve, and how many of those at or below the default read naturally."""
    resampled = np.random.default_rng(0).integers(0, len(odd), (2000, len(odd)))
    bounds = percentile_interval(np.array([roc_auc_score(odd[some], raised[some]) for some in resampled]))
    area, natural = float(roc_auc_score(odd, raised)), ~odd[raised <= RISE]
    low, high = (100.0 * bound for bound in wilson_interval(int(natural.sum()), len(natural)))
    share = 100.0 * float(natural.mean())
    return [
        Reading("symmetric", "all", "area under the ROC curve", area, "", 0.5, len(odd), *bounds, phase="data"),
        Reading("symmetric", "at_or_below_rise", "natural", share, "%", 100.0, len(natural), low, high, phase="data"),
    ]


def main() -> None:
    """Measure, write the record and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("symmetric", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.out, {}, shlex.join(["python", *sys.argv]))
    sheet = read_sheet("symmetric_sheet")
    odd = np.array([row["natural"] == "no" for row in sheet])
    record.readings = readings(odd, rises(arguments.symmetric, [row["id"] for row in sheet]))
    record.provenance |= environment()
    record.status = "finished"
    record.save()
    for one in record.readings:
        print(one.key, round(one.value, 3), one.n)


if __name__ == "__main__":
    main()
