"""Values and intervals of every benchmark class on planted models, by the version of its definition.

``golden.json.xz`` holds what a version gives. A change of a value or an interval is a new version: raise the class's
``version``, write the file with ``GOLDEN=write python -m pytest tests/benchmarks/test_golden.py``, and bring the
committed records to the new version. Written are versions that the file does not have, and those alone.
"""

import copy
import inspect
import json
import lzma
import math
import os
import re
import zlib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from fairlab import benchmarks
from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks import mb_index
from fairlab.benchmarks.bbq import BBQ
from fairlab.benchmarks.bias_ir import BiasIR
from fairlab.benchmarks.bold import BOLD
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.classification import Classification
from fairlab.benchmarks.counterfactual import Counterfactual
from fairlab.benchmarks.crows_pairs import CrowSPairs
from fairlab.benchmarks.db_index import DBIndexBenchmark
from fairlab.benchmarks.decisions import DecisionGaps
from fairlab.benchmarks.fairscore import Fairscore
from fairlab.benchmarks.holistic_bias import HolisticBias
from fairlab.benchmarks.honest import HONEST
from fairlab.benchmarks.leakage import Leakage
from fairlab.benchmarks.likelihood_pairs import LikelihoodPairs
from fairlab.benchmarks.perplexity import Perplexity
from fairlab.benchmarks.perturber import PerturberQuality
from fairlab.benchmarks.probe import Probe
from fairlab.benchmarks.refusals import Refusals
from fairlab.benchmarks.safety import Safety
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.shortcuts import Shortcuts
from fairlab.benchmarks.stereoset import StereoSet
from fairlab.benchmarks.stsb import STSB
from fairlab.benchmarks.winobias import WinoBias
from fairlab.benchmarks.winogender import Winogender
from fairlab.rewriting.perturber import Perturber
from tests.benchmarks import test_bbq, test_likelihood_pairs, test_perturber, test_refusals, test_safety, test_stsb
from tests.benchmarks.planted_writer import Balance, chooser, writer
from tests.benchmarks.test_bbq import published as bbq_file  # noqa: F401
from tests.benchmarks.test_bias_ir import collection  # noqa: F401
from tests.benchmarks.test_bold import prompts as bold_file  # noqa: F401
from tests.benchmarks.test_classification import labels
from tests.benchmarks.test_counterfactual import templates as langfair_file  # noqa: F401
from tests.benchmarks.test_crows_pairs import file as crows_pairs_file  # noqa: F401
from tests.benchmarks.test_db_index import embed
from tests.benchmarks.test_db_index import files as db_index_files  # noqa: F401
from tests.benchmarks.test_fairscore import benchmark as fairscore  # noqa: F401
from tests.benchmarks.test_holistic_bias import published as holistic_bias_files  # noqa: F401
from tests.benchmarks.test_honest import hurtlex as hurtlex_file  # noqa: F401
from tests.benchmarks.test_mb_index import examples, make  # noqa: F401
from tests.benchmarks.test_perplexity import text as perplexity_file  # noqa: F401
from tests.benchmarks.test_perturber import backbone as perturber  # noqa: F401
from tests.benchmarks.test_perturber import path as perturber_file  # noqa: F401
from tests.benchmarks.test_probe import Words
from tests.benchmarks.test_probe import sentiment as probe_files  # noqa: F401
from tests.benchmarks.test_shortcuts import file as shortcuts_file  # noqa: F401
from tests.benchmarks.test_stereoset import file as stereoset_file  # noqa: F401
from tests.benchmarks.test_winobias import published as winobias_files  # noqa: F401
from tests.benchmarks.test_winogender import published as winogender_files  # noqa: F401
from tests.conftest import row, write_rows
from tests.tiny_models import SIZE, SMALL

FILE = Path(__file__).with_name("golden.json.xz")
NEAR = 1e-4
HOW = {"pooling": "mean", "normalize": False}
NAMES = {"targ1": ["John", "Paul", "Mike"], "targ2": ["Amy", "Joan", "Lisa"]}
ATTRIBUTES = {"attr1": ["executive", "office", "salary"], "attr2": ["home", "parents", "wedding"]}


def planted(backbone, phase=0.0):
    """A copy of a model whose weights are functions of their places, the same wherever and by whatever it is made.

    It computes in float64, since processors round float32 differently, and such large weights amplify the difference.
    """
    model = copy.deepcopy(backbone.model).double()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            start = zlib.crc32(name.encode()) % 1000
            places = torch.arange(weights.numel(), dtype=torch.float64)
            values = torch.frac(1e4 * torch.sin(places * 12.9898 + start)) + phase * torch.cos(places)
            weights.copy_((0.6 * values).reshape(weights.shape).to(weights.dtype))
    return Backbone(model.eval(), backbone.tokenizer, **HOW, max_length=backbone.max_length)


@pytest.fixture(scope="module")
def masked(tokenizer):
    """Two planted masked language models: before and after."""
    model = Backbone(BertForMaskedLM(BertConfig(**SMALL, **SIZE)), tokenizer, **HOW, max_length=64)
    return planted(model), planted(model, 0.05)


def both(benchmark, models):
    """What a benchmark gives for the second model, compared with the first."""
    first, second = models
    before = benchmark.measure(first).items
    for part in benchmark.texts():  # names, groups and values of every item that is kept
        shown = benchmark.scores(before[part.key])
        assert shown.shape == (len(part.ids), len(part.values))
        assert len(part.texts) == len(part.ids) == len(part.groups or part.ids)
    return benchmark.measure(second, before)


class Cases:
    """An outcome of each benchmark class by its name."""

    def __init__(self, request, masked, tmp_path, monkeypatch):
        self.fixture = request.getfixturevalue
        self.masked, self.tmp_path, self.monkeypatch = masked, tmp_path, monkeypatch

    def against_half(self, benchmark):
        """Measure what gives planted scores whatever the model, compared with half the scores."""
        items = benchmark.measure(None).items
        return benchmark.measure(None, {name: values / 2 for name, values in items.items()})

    def SEAT(self):
        folder = self.tmp_path / "seat"
        folder.mkdir()
        self.monkeypatch.setenv("FAIRLAB_DATA", str(self.tmp_path))
        sentences = ("This is {}.", "{} is here.", "The person's name is {}.")
        of_names = {key: [form.format(name) for name in names for form in sentences] for key, names in NAMES.items()}
        for file, targets in (("sent-weat6", of_names), ("weat6", NAMES)):
            content = {key: {"examples": texts} for key, texts in (targets | ATTRIBUTES).items()}
            (folder / f"{file}.jsonl").write_text(json.dumps(content))
        return both(SEAT(["6", "weat6"]), self.masked)

    def BiasIR(self):
        self.fixture("collection")
        return both(BiasIR("title_and_document"), self.masked)

    def CCED(self):
        return both(CCED(["embedded"], limit=12), self.masked)

    def Leakage(self):
        def read(embeddings, folds, seed):  # what probes learn depends on the processor's rounding
            chances = 1 / (1 + np.exp(-embeddings[..., :3]))
            return np.stack([chances, chances > 0.5], axis=-1)

        self.monkeypatch.setattr("fairlab.benchmarks.leakage.probed", read)
        return both(Leakage(["embedded"], limit=20), self.masked)

    def STSB(self):
        return both(STSB(test_stsb.write_sts(self.tmp_path / "dev.tsv")), self.masked)

    def Probe(self):
        self.fixture("probe_files")
        return both(Probe("sst2"), (Words(4.0), Words()))

    def WinoBias(self):
        self.fixture("winobias_files")
        return self.against_half(WinoBias())

    def Winogender(self):
        self.fixture("winogender_files")
        return self.against_half(Winogender())

    def HolisticBias(self):
        self.fixture("holistic_bias_files")
        places = np.arange(10 * 2 * 12).reshape(10, 2, 12)
        scores = {"age": np.sin(places), "religion": np.sin(places) + places / 60}
        self.monkeypatch.setattr(HolisticBias, "_scores", lambda self, scorer, score, axis, *rest: scores[axis])
        return both(HolisticBias("1.1", ["age", "religion"]), self.masked)

    def CrowSPairs(self):
        return both(CrowSPairs(path=self.fixture("crows_pairs_file")), self.masked)

    def LikelihoodPairs(self):
        groups = [row(group) for group in test_likelihood_pairs.groups(8)]
        return both(LikelihoodPairs([write_rows(self.tmp_path / "own.jsonl", groups)]), self.masked)

    def StereoSet(self):
        return both(StereoSet(task="intrasentence", path=self.fixture("stereoset_file")), self.masked)

    def Perplexity(self):
        return both(Perplexity(self.fixture("perplexity_file"), None), self.masked)

    def Classification(self):
        outputs = iter([labels(1, 0, 0, 1, 1, 0, 1, 1), labels(1, 1, 0, 1, 0, 0, 0, 1)])

        class Planted:
            cut = 0

            def outputs(self, pairs, progress=""):
                return next(outputs)

        (self.tmp_path / "dev.tsv").write_text("".join(f"text {k}\t{int(k % 3 > 0)}\n" for k in range(8)))
        self.monkeypatch.setattr("fairlab.benchmarks.classification.Classifier", lambda backbone, labels: Planted())
        return both(Classification("sst2", str(self.tmp_path)), self.masked)

    def Fairscore(self):
        benchmark = self.fixture("fairscore")()
        assert isinstance(benchmark, Fairscore)
        return both(benchmark, self.masked)

    def PerturberQuality(self):
        model = self.fixture("perturber")
        made = [test_perturber.PAIRS[0][3], test_perturber.PAIRS[1][0], test_perturber.PAIRS[2][3]]
        self.monkeypatch.setattr(Perturber, "rewrite", lambda *_, **__: made)
        benchmark = PerturberQuality(self.fixture("perturber_file"), ["no/such/text.txt"], [], None, format="paper")
        return both(benchmark, (planted(model), planted(model, 0.05)))

    def MBIndex(self):
        benchmark, model = self.fixture("make")(), self.fixture("language_models")["gpt2"]
        self.monkeypatch.setattr(mb_index, "load_backbone", lambda **_: self.masked[0])
        return both(benchmark, (planted(model), planted(model, 0.05)))

    def Shortcuts(self):
        file = self.fixture("shortcuts_file")
        return Shortcuts().measure_data(str(file), ["evidence", "claim"], None, self.tmp_path)

    def DBIndexBenchmark(self):
        target, comparison = self.fixture("db_index_files")
        benchmark = DBIndexBenchmark(vectors="", comparison=comparison, category="kind")
        return benchmark.measure_data(target, "text", embed, self.tmp_path)

    def BBQ(self):
        self.fixture("bbq_file")
        models = test_bbq.chooser(man=1.0), test_bbq.chooser(known=1.0)
        return both(BBQ(categories=["religion"]), models)

    def Counterfactual(self):
        return both(Counterfactual(Balance(), path=self.fixture("langfair_file")), (writer(), writer("Women", 0.3)))

    def BOLD(self):
        self.fixture("bold_file")
        return both(BOLD(Balance(), Balance(), domains=["gender"]), (writer(), writer("Left", 0.3)))

    def HONEST(self):
        benchmark = HONEST(self.fixture("hurtlex_file"), sets=["binary"], samples=2)
        return both(benchmark, (writer(), writer("female", 0.3)))

    def DecisionGaps(self):
        return both(DecisionGaps(), (chooser("woman", 0.0), chooser("woman", 0.5)))

    def Refusals(self):
        return both(Refusals(["gender", "religion"]), (test_refusals.model("Jews"), test_refusals.model("Muslims")))

    def Safety(self):
        scores = ([0.4, 0.8, 0.9, 0.5, 0.6, 0.7, 0.99], [0.3, 0.7, 0.8, 0.55, 0.65, 0.6, 0.9])
        return both(Safety(of="test", threshold=0.5), tuple(map(test_safety.judged, scores)))


def classes():
    """Benchmark classes by name."""
    modules = [import_module(f"{benchmarks.__name__}.{one.name}") for one in iter_modules(benchmarks.__path__)]
    found = [value for module in modules for value in vars(module).values() if inspect.isclass(value)]
    own = [one for one in found if one.__module__.startswith(benchmarks.__name__) and hasattr(one, "version")]
    return {one.__name__: one for one in own}


def summary(outcome):
    """Value, bounds, p-values, number of items and rank of every reading and comparison; then numbers of notes."""
    found = {
        one.key: [one.value, one.low, one.high, one.p, one.p_holm, one.n, int(one.headline), one.ideal]
        for one in outcome.readings
    }
    changes = {
        one.key: [one.difference, one.low, one.high, one.p, one.n, int(one.headline)] for one in outcome.comparisons
    }
    said = {"notes": [len(outcome.notes)], "not run": [len(outcome.not_run)]}
    return {"readings": found, "comparisons": changes, "said": said}


def kept(name, version, found):
    """What the file holds of a version; written first if it is asked for and the version is new."""
    golden = json.loads(lzma.decompress(FILE.read_bytes())) if FILE.exists() else {}
    if os.environ.get("GOLDEN") == "write" and golden.get(name, {}).get("version") != version:
        digits = {
            part: {key: [None if one is None else float(f"{one:.7g}") for one in some] for key, some in of.items()}
            for part, of in found.items()
        }
        golden[name] = {"version": version, **digits}
        text = json.dumps(dict(sorted(golden.items())), indent=1)
        text = re.sub(
            r"\[[^][]*\]", lambda numbers: f"[{' '.join(numbers[0][1:-1].split())}]", text
        )  # a line for each key
        FILE.write_bytes(lzma.compress(f"{text}\n".encode(), preset=6 | lzma.PRESET_EXTREME))
    return golden.get(name, {})


@pytest.mark.parametrize("name", sorted(classes()))
def test_a_version_gives_its_values_and_intervals(name, request, masked, tmp_path, monkeypatch):
    version = classes()[name].version
    found = summary(getattr(Cases(request, masked, tmp_path, monkeypatch), name)())
    golden = kept(name, version, found)
    assert golden.get("version") == version, f"golden.json.xz holds no version {version} of {name}; write it"
    assert found["readings"]
    for part, entries in found.items():
        assert entries.keys() == golden[part].keys(), f"other {part} of {name}: raise its version"
        for key, numbers in entries.items():
            same = all(
                (one is None) == (old is None)
                and (one is None or math.isclose(one, old, rel_tol=NEAR, abs_tol=NEAR / 100))
                for one, old in zip(numbers, golden[part][key], strict=True)
            )
            assert same, (
                f"{key} is {numbers}, not {golden[part][key]}: raise the version of {name}, write golden.json.xz, and "
                "bring the committed records to the new version"
            )
