"""Ability of a small causal language model to distinguish natural from unnatural word exchanges.

    python experiments/razor/naturalness.py SYMMETRIC OUT

SYMMETRIC is an output of ``augmentation=symmetric`` for the study's claims, made without a language model, from which
``symmetric_sheet.csv`` was sampled. For each row of the sheet, SmolLM2 computes the rise: the largest increase in the
negative log-likelihood of any token due to the exchange. The script writes ``record.json`` to OUT with two readings:
the area under the ROC curve of the rise for detecting rows annotated as unnatural, and the share of natural rows among
those whose rise is at most the default of ``augmentation.rise``.
"""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import fairlab
from experiments.over_seeds import record_in, save
from experiments.razor.tables import read_sheet
from fairlab.augmentation.symmetric import Symmetric, rises
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.stream.manifest import dataset_rows
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Reading
from fairlab.types import Row

RISE = inspect.signature(Symmetric).parameters["rise"].default


def compute_rises(symmetric: Path, ids: list[str]) -> np.ndarray:
    """Return the rise (N,) of each row in nats: the largest increase in a token's negative log-likelihood."""
    read = dataset_rows(str(symmetric), ["gold_evidence", "text"])
    fields = {row.id: row.fields for row in read if isinstance(row, Row)}
    both = [zip(fields[f"{name.rsplit('-', 1)[0]}-0"], fields[name], strict=True) for name in ids]
    changed = [tuple(zip(*((was, now) for was, now in one if was != now), strict=True)) for one in both]
    return np.array(rises(CausalLM(fairlab.load("smollm2")), changed))


def readings(odd: np.ndarray, rise: np.ndarray) -> list[Reading]:
    """Return the area under the ROC curve, and the share of natural rows among those with a rise up to the default."""
    resampled = np.random.default_rng(0).integers(0, len(odd), (2000, len(odd)))
    bounds = percentile_interval(np.array([roc_auc_score(odd[some], rise[some]) for some in resampled]))
    area, natural = float(roc_auc_score(odd, rise)), ~odd[rise <= RISE]
    low, high = (100.0 * bound for bound in wilson_interval(int(natural.sum()), len(natural)))
    share = 100.0 * float(natural.mean())
    return [
        Reading("symmetric", "all", "area under the ROC curve", area, "", 0.5, len(odd), *bounds, phase="data"),
        Reading("symmetric", "at_or_below_rise", "natural", share, "%", 100.0, len(natural), low, high, phase="data"),
    ]


def main() -> None:
    """Measure, and write and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("symmetric", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    record = record_in(arguments.out, "experiments/razor/naturalness.py")
    sheet = read_sheet("symmetric_sheet")
    odd = np.array([row["natural"] == "no" for row in sheet])
    record.readings = readings(odd, compute_rises(arguments.symmetric, [row["id"] for row in sheet]))
    save(record, {})


if __name__ == "__main__":
    main()
