"""Estimates of training seconds beside what committed records measured.

What is compared: records of one thread and one kind of processor whose training took at least 20 steps. Measured are
the seconds of training that their throughput says: steps times items of a step by items a second. The calibration of
those days was not recorded, so the FLOP/s that a run reaches is the median over all other experiments of its precision,
each of which counts once, however many records it has; an estimate never sees its own experiment.
"""

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

from fairlab.files import read_record, record_file, run_folders
from fairlab.run.planning.sizes import model_size
from fairlab.run.planning.work import training_flops

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
# In the system of records of a faster machine, whose processor bears the same name and multiplies bfloat16 itself.
OTHER_KIND = "fc-v509"
MINILM = {"name": "sentence-transformers/all-MiniLM-L6-v2"}  # of folders that runs made on other machines


def measured_runs():
    """Experiment, record, and seconds and tokens of its training."""
    for folder in run_folders(EXPERIMENTS):
        if "records" not in folder.parts:
            continue
        record = json.loads(read_record(record_file(folder)))
        found = record["provenance"].get("throughput")
        hardware = record["provenance"]["hardware"]
        if not found or hardware["threads"] != 1 or "backbone" not in record["config"]:
            continue
        if OTHER_KIND in hardware["system"]:
            continue
        steps = max((row["step"] for row in record["history"] if "train/loss" in row), default=0)
        (unit,) = (name for name in found if name != "tokens_per_second")
        seconds = steps * record["config"]["data"]["batch_size"] / found[unit]
        if steps >= 20:
            yield folder.relative_to(EXPERIMENTS).parts[0], record, seconds, seconds * found["tokens_per_second"]


def errors_of(estimated):
    """Relative errors of estimated seconds, by the rates of all other experiments in a precision, which count alike."""
    rates = defaultdict(lambda: defaultdict(list))
    for experiment, precision, flops, seconds in estimated:
        rates[precision][experiment].append(flops / seconds)
    errors = []
    for experiment, precision, flops, seconds in estimated:
        others = median(median(of_name) for name, of_name in rates[precision].items() if name != experiment)
        errors.append(abs(flops / others - seconds) / seconds)
    return errors


def flops_of(record, tokens):
    size = model_size(record["config"]["backbone"]) or model_size(MINILM)
    masked = record["config"]["method"].get("mask_share", 0.0)  # of masked-LM training, whose head reads those alone
    words = round(masked * size.vocabulary * size.width)
    return training_flops(size.multiplied + words, tokens, adapters=bool(record["config"]["method"].get("rank")))


def test_flops_of_the_tokens_that_were_read_give_their_seconds():
    estimated = [
        (name, record["config"]["trainer"]["precision"], flops_of(record, tokens), seconds)
        for name, record, seconds, tokens in measured_runs()
    ]
    errors = errors_of(estimated)
    print(f"{len(errors)} runs of {len({name for name, *_ in estimated})} experiments, median {median(errors):.0%}")
    assert len(errors) >= 12
    assert median(errors) < 0.25
