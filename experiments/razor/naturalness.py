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


def raised(symmetric: Path, ids: list[str]) -> np.ndarray:
    """Most that the exchange of each row raises the negative log-likelihood of a token, in nats, (N,)."""
    read = dataset_rows(str(symmetric), ["gold_evidence", "text"])
    fields = {row.id: row.fields for row in read if isinstance(row, Row)}
    both = [zip(fields[f"{name.rsplit('-', 1)[0]}-0"], fields[name], strict=True) for name in ids]
    changed = [tuple(zip(*((was, now) for was, now in one if was != now), strict=True)) for one in both]
    return np.array(rises(CausalLM(fairlab.load("smollm2")), changed))


def readings(odd: np.ndarray, rise: np.ndarray) -> list[Reading]:
    """Return the area under the ROC curve, and how many of those at or below the default read naturally."""
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
    """Measure, write the record and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("symmetric", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    record = record_in(arguments.out, "experiments/razor/naturalness.py")
    sheet = read_sheet("symmetric_sheet")
    odd = np.array([row["natural"] == "no" for row in sheet])
    record.readings = readings(odd, raised(arguments.symmetric, [row["id"] for row in sheet]))
    save(record, {})


if __name__ == "__main__":
    main()
