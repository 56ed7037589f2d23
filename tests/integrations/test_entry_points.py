"""Benchmarks, methods and sources of packages that are installed next to fairlab."""

import subprocess
import sys

import pytest

MODULE = '''
import numpy as np
from fairlab.benchmarks.readings import outcome, quantity
from fairlab.metrics.bootstrap import mean
from fairlab.protocols import Benchmark
from fairlab.types import Description, QuantityInfo


class Lengths(Benchmark):
    """Mean length of embeddings."""

    version = 1
    description = Description(
        "lengths", "Lengths", "How long are embeddings?", {"length": QuantityInfo("length", "mean length", "norm")}
    )

    def measure(self, backbone, before=None):
        values = backbone.embed(["She left.", "He left.", "They left."]).norm(dim=-1).numpy()
        return outcome(self.description, [quantity(mean, values, subset="all", name="length")])
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with an entry point, installed into a folder on the path."""
    site = tmp_path / "site"
    facts = site / "neighbour-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "neighbour_of_fairlab.py").write_text(MODULE)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: neighbour\nVersion: 1.0\n")
    points = "[fairlab.benchmarks]\nlengths = neighbour_of_fairlab:Lengths\nseat = neighbour_of_fairlab:Lengths\n"
    points += "[fairlab.methods]\ntheirs = neighbour_of_fairlab:Method\n"
    points += "[fairlab.sources]\nowned = neighbour_of_fairlab:Words\n"
    (facts / "entry_points.txt").write_text(points)
    return site


def run(site, code):
    lines = ["import sys", f"sys.path.insert(0, {str(site)!r})", code]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def test_choices_of_other_packages_are_listed_and_our_own_files_win(installed):
    code = """
from fairlab.run.command_line.cli import choices
from fairlab.run.config.composing import composed
print("lengths" in choices("benchmark"), choices("benchmark").count("seat"))
print("theirs" in choices("method"), "owned" in choices("source"))
config = composed("evaluate", ["benchmark=[lengths,seat]"], {})
print(config.benchmark.lengths._target_, config.benchmark.seat._target_)
from fairlab.run.command_line.listing import listed
print(sum("of an installed package" in line for line in listed(["benchmarks"])))
"""
    assert run(installed, code) == [
        "True", "1", "True", "True", "neighbour_of_fairlab.Lengths", "fairlab.benchmarks.seat.SEAT", "1"
    ]  # fmt: skip


@pytest.mark.slow
def test_a_benchmark_of_another_package_is_measured_by_its_name(installed, tiny_folders):
    code = f"""
import fairlab
found = fairlab.evaluate({str(tiny_folders["bert"])!r}, "lengths")
print(*(reading.key for reading in found.readings))
"""
    assert run(installed, code)[-1] == "lengths/all/length"
