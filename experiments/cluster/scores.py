"""Stored scores of three simulated classifiers for all texts that the safety ensemble is trained or measured on."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

OUTPUTS = {
    "detoxify": ["toxicity", "severe_toxicity", "obscene", "threat", "insult", "identity_attack"],
    "second": [f"second_{number}" for number in range(14)],  # the paper gives neither their number nor their names
    "third": [f"third_{number}" for number in range(14)],
}


def write_scores(folder: Path) -> None:
    """Write one file per classifier, with scores computed from a hash of the text."""
    from fairlab.augmentation.identity import Identity
    from fairlab.data.safety import SafetyData

    data = SafetyData(
        name="counterfactual_safety", path=None, held_out=[], folds=5, repeats=1, seed=0, augmentation=Identity()
    )
    texts = dict.fromkeys(text.text for text in data.texts)
    folder.mkdir(parents=True, exist_ok=True)
    for name, outputs in OUTPUTS.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(["text", *outputs])
            for text in texts:
                drawn = hashlib.sha256(f"{name} {text}".encode()).digest()
                writer.writerow([text, *(round(byte / 255, 3) for byte in drawn[: len(outputs)])])
