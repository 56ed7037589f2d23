"""Check of everything that needs a GPU: fairlab's commands on random models of known sizes.

    python perf/gpu_check.py [--device cuda] [--tiny] [--parts NAME ...] [--seconds 480] [--folder DIR] [--write]

Neither weights nor a network are needed. Models with the sizes of BERT-large, RoBERTa-base, BART-large and a causal
language model with a billion weights are initialised at random, and texts consist of sentences that are bundled with
fairlab. Each command runs in its own process. Each part of the check prints its commands. Results are written after
each part, so that an interrupted check still has results.

With ``--write``, the figures are saved to ``perf/results/gpu_check.json``, or to ``perf/results/gpu_check_tiny.json``
for tiny models. ``--device cpu --tiny`` tests the check itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import gpu_models
import gpu_parts
from fairlab.record import Record
from gpu_parts import Command, Part
from harness import machine, matmul_peak, results

RESULTS, SMALL = results("gpu_check"), results("gpu_check_tiny")
HERE = Path(__file__).resolve().parent
LEAST = 5  # minimum number of remaining seconds to start a command
THREADS = 2  # threads per process if several run at the same time
CPU_PATIENCE = 5  # factor by which a part's time limit is multiplied on a CPU


def prepare(folder: Path, device: str, *, tiny: bool) -> dict[str, Any]:
    """Create models and texts, and measure the speed of matrix products on the device.

    Returns:
        Content of ``prepared.json``.
    """
    import torch

    started = time.perf_counter()
    models = gpu_models.make_all(folder / "made", gpu_models.TINY if tiny else gpu_models.FULL, device)
    seconds = time.perf_counter() - started
    sizes = {"sizes": (256,)} if tiny else {}
    peaks = {str(kind)[6:]: matmul_peak(kind, device=device, **sizes) for kind in (torch.bfloat16, torch.float32)}
    name = torch.cuda.get_device_name() if device == "cuda" else device
    return {
        "device": name,
        "tiny": tiny,
        "machine": machine(),
        "peaks": peaks,
        "models": models,
        "seconds_to_make": seconds,
    }


def run_part(part: Part, folder: Path, until: float) -> dict[str, Any]:
    """Run the commands of a part within its time limit, and return the commands and the final state.

    Args:
        part: Part to run.
        folder: Working folder of the commands.
        until: Time at which the whole check must end, in seconds since the epoch.
    """
    started = time.perf_counter()
    for name in {command.name for command in part.commands}:
        shutil.rmtree(folder / name, ignore_errors=True)  # left by an earlier check in the same folder
    result: dict[str, Any] = {"title": part.title, "commands": [], "state": "done"}
    try:
        for command in part.commands:
            left = min(part.seconds - (time.perf_counter() - started), until - time.time())
            if left < LEAST:
                raise subprocess.TimeoutExpired(command.name, left)
            called = " ".join(["python -m", command.entry, *command.given])
            result["commands"].append(called.replace(f"{folder}/", "").replace(str(folder), "."))
            run_command(command, folder, left, alone=part.alone)
    except subprocess.TimeoutExpired:
        result["state"] = "ran out of time" if result["commands"] else "no time was left"
    except RuntimeError as error:
        result |= {"state": "failed", "error": str(error)}
    return result | {"seconds": time.perf_counter() - started}


def with_figures(part: Part, result: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Add the figures of a part to its result. An error is recorded in the result, so that other parts still run."""
    if result["state"] != "done":
        return result
    names = [path.parent.name for path in folder.glob("*/record.json*")]
    try:
        return result | {"figures": part.figures({name: Record.load(folder / name) for name in names})}
    except Exception as error:
        return result | {"state": "failed", "error": f"{type(error).__name__}: {error}"}


def run_command(command: Command, folder: Path, seconds: float, *, alone: bool) -> None:
    """Run a command of fairlab until it ends, or kill it as soon as it has written ``killed_at``.

    Raises:
        RuntimeError: The command failed, or ended before it could be killed.
        subprocess.TimeoutExpired: The time limit was exceeded.
    """
    called = [sys.executable, "-m", command.entry, *command.given]
    threads = {} if alone else {"OMP_NUM_THREADS": str(THREADS)}
    modules = os.pathsep.join([str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": modules} | threads
    with (folder / f"{command.name}.log").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(called, cwd=folder, env=env | command.variables, stdout=log, stderr=log)
        try:
            if command.killed_at:
                wait_for_file(folder / command.name / command.killed_at, process, seconds)
                return
            code = process.wait(max(1, seconds))
        finally:
            process.kill()
            process.wait()
    if code:
        text = (folder / f"{command.name}.log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{command.name} ended with {code}: {text[-1500:]}")


def wait_for_file(path: Path, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has written a file.

    Raises:
        RuntimeError: The process ended without writing the file.
        subprocess.TimeoutExpired: The time limit was exceeded.
    """
    until = time.perf_counter() + seconds
    while not path.is_file():
        if process.poll() is not None:
            raise RuntimeError(f"{path.parent.parent.name} ended before {path.name} was there")
        if time.perf_counter() > until:
            raise subprocess.TimeoutExpired("", seconds)
        time.sleep(0.02)


def plain_loop(folder: Path, device: str, *, tiny: bool) -> Part:
    """Return the part that compares CCD with a plain transformers loop, which writes its figures to a file."""
    command = Command("plain", "gpu_plain", (str(folder), device, "tiny" if tiny else "full"))

    def figures(found: dict[str, Record]) -> dict[str, Any]:
        plain = json.loads((folder / "plain.json").read_text(encoding="utf-8"))
        ours = {name: found[name].provenance["throughput"]["tokens_per_second"] for name in plain if name in found}
        return {name: {"plain": plain[name], "ours": ours[name], "ratio": ours[name] / plain[name]} for name in ours}

    return Part(
        "plain", "CCD next to a plain loop of transformers (the named baseline)", 90, (command,), figures, alone=True
    )


def table(result: dict[str, Any]) -> str:
    """Format the figures as Markdown, followed by the committed figures of tiny models if the models are full-size."""
    peaks = ", ".join(f"{peak / 1e12:,.1f} TFLOP/s in {kind}" for kind, peak in result["peaks"].items())
    lines = [f"{result['device']}, torch {result['machine']['torch']}; matrix products reach {peaks}.", ""]
    lines += ["| part | state | seconds | measurements |", "|---|---|---|---|"]
    for part in result["parts"].values():
        said = shown(part["figures"]) if part.get("figures") else part.get("error", "").strip()[-120:]
        lines.append(f"| {part['title']} | {part['state']} | {part['seconds']:.0f} | {said} |")
    if not result["tiny"] and SMALL.is_file():
        lines += ["", "The same check with tiny models:", "", table(json.loads(SMALL.read_text(encoding="utf-8")))]
    return "\n".join(lines)


def shown(found: dict[str, Any]) -> str:
    """Format figures on one line."""
    said = []
    for name, value in found.items():
        label = name.replace("_", " ")
        if value is None:
            continue
        if isinstance(value, dict):
            said.append(f"{label}: ({shown(value)})")
        elif name.endswith("_bytes"):
            said.append(f"{label.removesuffix(' bytes')} {value / 1e9:.1f} GB")
        elif name.endswith("_per_second") or name in ("plain", "ours"):
            said.append(f"{label} {value:,.0f}")
        elif name == "share_of_peak":
            said.append(f"{label} {value:.0%}")
        else:
            said.append(f"{label} {value:.2g}" if isinstance(value, float) else f"{label} {value}")
    return ", ".join(said)


def wrong(result: dict[str, Any]) -> list[str]:
    """Return the names of the parts that failed, exceeded their time limit, or have results that differ too much."""
    parts = result["parts"]
    return [name for name, part in parts.items() if part["state"] != "done" or not part["figures"].get("equal", True)]


def check(folder: Path, device: str, *, tiny: bool, names: list[str], seconds: float) -> dict[str, Any]:
    """Run all parts, or the named ones, and write the results after each part.

    Args:
        folder: Working folder.
        device: Device to check.
        tiny: Whether to use tiny models.
        names: Names of the parts to run; empty for all.
        seconds: Time limit for all parts together.
    """
    until = time.time() + seconds
    called = [sys.executable, __file__, "--prepare", "--device", device, "--folder", str(folder)]
    subprocess.run([*called, *["--tiny"] * tiny], check=True)
    result: dict[str, Any] = json.loads((folder / "prepared.json").read_text(encoding="utf-8")) | {"parts": {}}
    how = gpu_parts.TINY if tiny else gpu_parts.FULL
    parts = gpu_parts.all_parts(folder / "made", result["models"], result["peaks"]["bfloat16"], how, device)
    place = 1 + next(k for k, part in enumerate(parts) if part.name == "ccd_mixed")
    parts.insert(place, plain_loop(folder, device, tiny=tiny))
    chosen = [part for part in parts if not names or part.name in names]
    if device == "cpu":
        chosen = [replace(part, seconds=part.seconds * CPU_PATIENCE) for part in chosen]
    together = [part for part in chosen if not part.alone]
    for group in [together, *([part] for part in chosen if part.alone)]:
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // THREADS)) as pool:
            ended = list(pool.map(lambda part: run_part(part, folder, until), group))
        for part, one in zip(group, ended, strict=True):
            found = result["parts"][part.name] = with_figures(part, one, folder)
            print(part.name, found["state"], f"{found['seconds']:.0f} s:", shown(found.get("figures", {})), flush=True)
            print(
                *(f"  {one}" for one in found["commands"]), *found.get("error", "").splitlines(), sep="\n", flush=True
            )
            (folder / "gpu_check.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def main() -> None:
    """Run the check from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="use tiny models and few steps, to test the check itself")
    parser.add_argument("--parts", nargs="*", default=[], help="names of the parts to run; all by default")
    parser.add_argument("--seconds", type=float, default=480, help="time limit for all parts together")
    parser.add_argument("--folder", type=Path, help="folder for models, texts and runs; a temporary one by default")
    parser.add_argument("--prepare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    given = parser.parse_args()
    import torch

    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU here: run it on a machine with one, or try the check itself with --device cpu --tiny")
    if given.prepare:
        (given.folder / "prepared.json").write_text(
            json.dumps(prepare(given.folder, given.device, tiny=given.tiny)), encoding="utf-8"
        )
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        result = check(folder, given.device, tiny=given.tiny, names=given.parts, seconds=given.seconds)
    print(table(result))
    if given.write:
        (SMALL if given.tiny else RESULTS).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if bad := wrong(result):
        sys.exit(f"not as it should be: {', '.join(bad)}")


if __name__ == "__main__":
    main()
