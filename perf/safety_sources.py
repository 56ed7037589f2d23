"""Speed of scoring texts from HateCheck and the madlibs with an ensemble of four offline sources.

In the plain way, torch's LSTM runs over each text with padding to 100 words, as in Keras. fairlab (*ours*) writes the
columns as ``fairlab score`` does. All other sources and the models are the same. Both ways use one process with one
thread, score 1,000 texts at a time, and must give the same scores. The models are fitted on random labels of these
texts, with the default numbers of trees, leaves and kernel values. Texts are sampled from both datasets without
duplicates.

    python perf/safety_sources.py FOLDER [--texts 10000] [--repeats 3] [--write]

FOLDER contains the unpacked packages tox_block and toxic_classifier.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from fairlab.data.safety_readers import read_safety
from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.exported.export import Ensemble, load_ensemble, save_ensemble
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.pairing import paired_logistic
from fairlab.methods.safety_ensemble.passes import Trainer
from fairlab.methods.safety_ensemble.sources.bilstm import LENGTH, OUTPUTS, TEXTS, BiLSTM
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.profanity import Profanity
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from harness import machine, results

RESULTS = results("safety_sources")
PART = 1_000  # number of texts scored at a time
FITTED = 4_000  # number of texts on which the models are fitted
Array = np.ndarray


class PlainBiLSTM(BiLSTM):
    """BiLSTM source computed with torch's LSTM over all words and padding."""

    def __init__(self, *, package: str, folder: str | None = None) -> None:
        super().__init__(package=package, folder=folder)
        ours = self.network
        width, units = ours.embedding.shape[1], ours.forwards.recurrent.shape[1]
        self.embedding = nn.Embedding.from_pretrained(torch.from_numpy(ours.embedding))
        self.lstm = nn.LSTM(width, units, batch_first=True, bidirectional=True)
        state = {}
        for direction, suffix in ((ours.forwards, ""), (ours.backwards, "_reverse")):
            state[f"weight_ih_l0{suffix}"] = torch.from_numpy(direction.kernel)
            state[f"weight_hh_l0{suffix}"] = torch.from_numpy(direction.recurrent)
            state[f"bias_ih_l0{suffix}"] = torch.from_numpy(direction.bias)
            state[f"bias_hh_l0{suffix}"] = torch.zeros(4 * units)
        self.lstm.load_state_dict(state)

    def score(self, texts: Sequence[str]) -> Array:
        """Return the scores (N, 6), in [0, 1]."""
        ids = [self._ids(text) for text in texts]
        padded = torch.tensor([[0] * (LENGTH - len(one)) + one for one in ids]).reshape(-1, LENGTH)
        (hidden, hidden_bias), (last, last_bias) = (map(torch.from_numpy, layer) for layer in self.network.dense)
        found = [np.empty((0, len(OUTPUTS)))]
        with torch.inference_mode():
            for part in padded.split(TEXTS):
                states, _ = self.lstm(self.embedding(part))
                pooled = torch.relu(states.amax(dim=1) @ hidden.T + hidden_bias)
                found.append(torch.sigmoid(pooled @ last.T + last_bias).double().numpy())
        return np.concatenate(found)


def texts_of(count: int) -> list[str]:
    """Sample distinct texts from both datasets, in random order."""
    found = dict.fromkeys(text.text for name in ("hatecheck", "bias_madlibs") for text in read_safety(name))
    return random.Random(0).sample(list(found), min(count, len(found)))


def sources_of(folder: str, kind: type[BiLSTM]) -> Sources:
    """Create the four sources."""
    networks = [kind(package=package, folder=folder) for package in ("tox_block", "toxic_classifier")]
    return Sources([Profanity(), Sentiment(), *networks])


def ensemble_of(sources: Sources, texts: list[str]) -> Ensemble:
    """Fit an ensemble for two harms, with a random forest and a logistic regression each, on random labels."""
    features = sources.score(texts[:FITTED])
    rng, ones, sets = np.random.default_rng(0), np.ones(len(features)), np.arange(len(features)) // 4
    models = {}
    for harm in ("hate", "violence"):
        truth = (features[:, -1] + rng.random(len(features)) > 0.9).astype(int)
        forest = Trainer("forest", 100, 5).fitted(features, truth, ones, 0, leaf=10, sets=len(features) // 4)
        models[harm] = HarmModel([forest, paired_logistic(features, truth, sets, ones, 1.0)], 1.0, 0.0)
    versions = {source.name: source.version for source in sources.sources}
    harms: dict[str, Any] = {harm: {} for harm in models}
    return Ensemble(models, {"features": sources.features, "sources": versions, "harms": harms})


def export_and_load(ensemble: Ensemble, sources: Sources) -> Ensemble:
    """Export an ensemble and load it again, as for scoring."""
    with tempfile.TemporaryDirectory() as place:
        save_ensemble(ensemble.models, sources, Path(place))
        return load_ensemble(Path(place))


def time_scoring(score: Callable[[list[str]], list[dict[str, Any]]], texts: list[str]) -> tuple[float, float, Array]:
    """Score texts, and return the wall time, the CPU time and the scores."""
    started, busy = time.perf_counter(), time.process_time()
    rows = [row for first in range(0, len(texts), PART) for row in score(texts[first : first + PART])]
    wall, cpu = time.perf_counter() - started, time.process_time() - busy
    return wall, cpu, np.array([[row["hate"], row["violence"]] for row in rows])


def measure(folder: str, count: int, repeats: int) -> dict[str, object]:
    """Measure the texts per second of both ways in wall time and CPU time, and the time of each source."""
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    texts = texts_of(count)
    sources = {"plain": sources_of(folder, PlainBiLSTM), "ours": sources_of(folder, BiLSTM)}
    ensemble = export_and_load(ensemble_of(sources["ours"], texts), sources["ours"])
    ways = {name: Columns(ensemble, found) for name, found in sources.items()}
    rates: dict[str, dict[str, list[float]]] = {name: {"wall": [], "cpu": []} for name in ways}
    for way in ways.values():
        time_scoring(way, texts[:PART])
    for _ in range(repeats):
        scores = {}
        for name, way in ways.items():
            wall, cpu, scores[name] = time_scoring(way, texts)
            rates[name]["wall"].append(len(texts) / wall)
            rates[name]["cpu"].append(len(texts) / cpu)
        apart = float(np.abs(scores["plain"] - scores["ours"]).mean())
        if apart > 1e-4:  # single scores can differ, because rounding can change a rank
            raise SystemExit(f"the two ways differ by {apart:.2g} on average")
    return {
        "machine": machine(),
        "load": load,
        "settings": {"texts": len(texts), "repeats": repeats, "words": float(np.mean([len(t.split()) for t in texts]))},
        "texts_per_second": {
            name: {clock: statistics.median(found) for clock, found in of.items()} for name, of in rates.items()
        },
        "ratios": [ours / plain for ours, plain in zip(rates["ours"]["cpu"], rates["plain"]["cpu"], strict=True)],
        "apart": apart,
        "microseconds": shares(sources["ours"], ensemble, texts),
    }


def shares(sources: Sources, ensemble: Ensemble, texts: list[str]) -> dict[str, float]:
    """Return the microseconds of CPU time per text, for each source and for the models."""
    found = {}
    for source in sources.sources:
        busy = time.process_time()
        for first in range(0, len(texts), PART):
            source.score(texts[first : first + PART])
        found[source.name] = 1e6 * (time.process_time() - busy) / len(texts)
    features = sources.score(texts)
    busy = time.process_time()
    for first in range(0, len(texts), PART):
        ensemble.of_features(features[first : first + PART])
    return found | {"models": 1e6 * (time.process_time() - busy) / len(texts)}


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, rate = result["settings"], result["texts_per_second"]
    ratio, parts = statistics.median(result["ratios"]), result["microseconds"]
    return "\n".join(
        [
            f"{result['machine']['processor']}; {settings['texts']:,} texts of {settings['words']:.0f} words on "
            f"average, medians of {settings['repeats']} repeats, one process with one thread; the load of the machine "
            f"was {result['load']:.1f} before; scores differ by {result['apart']:.1g} on average.",
            "",
            "| implementation | texts per second of processor time | texts per second of wall time | speedup |",
            "|---|---|---|---|",
            f"| plain | {rate['plain']['cpu']:,.0f} | {rate['plain']['wall']:,.0f} | 1 |",
            f"| ours | {rate['ours']['cpu']:,.0f} | {rate['ours']['wall']:,.0f} | {ratio:.2f} "
            f"({min(result['ratios']):.2f} to {max(result['ratios']):.2f}) |",
            "",
            "Microseconds of processor time per text: "
            + ", ".join(f"{name} {value:.0f}" for name, value in parts.items())
            + ".",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.folder, arguments.texts, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
