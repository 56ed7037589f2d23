"""Duration of the quickstart by stage, and the share that its matrix products take at the processor's peak speed.

The command from the README's first page runs in a new process, once in float32 and once in mixed precision. The seconds
per stage come from its record. It then runs once more while all matrix products are counted.

    python perf/quickstart.py [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from harness import machine, matmul_peak, results

RESULTS = results("quickstart")
COMMAND = ["+experiment=ccd_bert"]
WAYS = {"float32": [], "mixed precision": ["training=mixed"]}
SHOWN = {"cced/embedded/gap": "CCED's gap", "stsb/dev/spearman": "STS-B, Spearman"}
FIRST_ITEMS = "items/before/*.safetensors"  # written as soon as a benchmark is measured
UNBUFFERED = os.environ | {"PYTHONUNBUFFERED": "1"}  # otherwise, all lines arrive at the end
COUNTED = """
import json, sys
from torch.utils.flop_counter import FlopCounterMode
from fairlab.train import main
file, sys.argv = sys.argv[1], ["train", *sys.argv[2:]]
with FlopCounterMode(display=False) as counter:
    main()
json.dump(counter.get_total_flops(), open(file, "w"))
"""


def run(overrides: list[str], folder: Path) -> dict[str, object]:
    """Run the quickstart as a user does, and return its durations and readings.

    The durations are the seconds until the first line of output, per stage, and in total.
    """
    command = [sys.executable, "-m", "fairlab.train", *COMMAND, *overrides, f"hydra.run.dir={folder}"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=UNBUFFERED) as process:
        process.stdout.readline()
        first_line = time.perf_counter() - started
        while process.poll() is None and not any(folder.glob(FIRST_ITEMS)):
            time.sleep(0.05)
        first_items = time.perf_counter() - started
        process.stdout.read()
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"the quickstart failed: {' '.join(command)}")
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    stages = {name: stage["seconds"] for name, stage in record["provenance"]["stages"].items()}
    after = [reading for reading in record["readings"] if reading["phase"] == "after"]
    values = {"/".join(one[key] for key in ("benchmark", "subset", "quantity")): one["value"] for one in after}
    return {
        "seconds": seconds,
        "seconds_to_first_line": first_line,
        "parts": parts(stages, first_items, seconds),
        "peak_bytes": max(stage["peak_bytes"] for stage in record["provenance"]["stages"].values()),
        "after": {name: values[name] for name in SHOWN},
    }


def parts(stages: dict[str, float], first_items: float, seconds: float) -> dict[str, float]:
    """Return the seconds of each part that a user would name.

    Args:
        stages: Seconds of each stage in the record, in order.
        first_items: Seconds until the items of the first benchmark were stored.
        seconds: Total seconds of the run.
    """
    before = [value for name, value in stages.items() if name.startswith("before/")]
    found = {
        "start": first_items - stages["loading"] - before[0],
        "loading": stages["loading"],
        "before": sum(before),
        "training": stages["training"],
        "after": sum(value for name, value in stages.items() if name.startswith("after/")),
        "export and report": stages["export"] + stages["report"],
    }
    return found | {"end": seconds - sum(found.values())}


def flops(folder: Path) -> int:
    """Return the FLOPs of all matrix products in one run."""
    file = folder / "flops.json"
    command = [sys.executable, "-c", COUNTED, str(file), *COMMAND, f"hydra.run.dir={folder / 'counted'}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return int(json.loads(file.read_text(encoding="utf-8")))


def measure() -> dict[str, object]:
    """Measure and return all figures of the script.

    The peak speed is measured before and after the runs, and the higher value is used.
    """
    peak = matmul_peak(torch.float32)
    with tempfile.TemporaryDirectory() as name:
        ways = {way: run(overrides, Path(name) / way) for way, overrides in WAYS.items()}
        peak = max(peak, matmul_peak(torch.float32))
        counted = flops(Path(name))
    return {"machine": machine() | {"matmul_peak": peak}, "flops": counted, "ways": ways}


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_, ways = result["machine"], result["ways"]
    least = result["flops"] / machine_["matmul_peak"]
    names = list(next(iter(ways.values()))["parts"])
    lines = [
        f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}; measured matmul peak "
        f"{machine_['matmul_peak'] / 1e9:.0f} GFLOP/s in float32, at which the {result['flops'] / 1e12:.1f} TFLOP of a "
        f"run's matrix products would take {least:.0f} s.",
        "",
        f"| {' | '.join(['precision', 'seconds', 'seconds to first line', *names, 'memory, GB', *SHOWN.values()])} |",
        "|---" * (4 + len(names) + len(SHOWN)) + "|",
    ]
    for way, row in ways.items():
        cells = [f"{row['seconds']:.0f}", f"{row['seconds_to_first_line']:.1f}"]
        cells += [f"{row['parts'][name]:.0f}" for name in names]
        cells += [f"{row['peak_bytes'] / 1e9:.1f}", *(f"{row['after'][name]:.4g}" for name in SHOWN)]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure()
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
