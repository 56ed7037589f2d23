"""Short runs: every benchmark takes a limit, and +debug=smoke lowers what a run has."""

import pytest
from omegaconf import OmegaConf, open_dict

import fairlab
from fairlab.benchmarks.readings import evenly
from fairlab.protocols import Benchmark
from fairlab.run.command_line.cli import choices
from fairlab.run.config.build import build_benchmarks, parameters_of
from fairlab.run.config.composing import composed
from fairlab.run.config.shortened import lowered, shortening_notes
from fairlab.types import Description, FairlabError, QuantityInfo


def test_items_are_taken_evenly():
    assert evenly(range(10), 4) == [0, 2, 5, 7]
    assert evenly(range(3), 4) == [0, 1, 2]
    assert evenly(range(3), None) == [0, 1, 2]
    assert evenly("aabbbb", 2, of=str) == ["a", "a", "b", "b"]


@pytest.mark.parametrize("name", [name for name in choices("benchmark") if "/" not in name])
def test_every_benchmark_takes_a_limit(name):
    nodes = composed("evaluate", [f"benchmark=[{name}]"], {}).benchmark
    assert [key for key, node in nodes.items() if "limit" not in parameters_of(node)] == []


BENCHMARKS = [
    *("seat", "bias_ir", "stsb", "cced", "crows_pairs", "stereoset", "winogender", "winobias", "perplexity"),
    *("holistic_bias", "rte_probe"),
]


@pytest.mark.slow
@pytest.mark.data
def test_a_limit_leaves_so_many_items_of_each_part(tiny_folders):
    model = fairlab.load(tiny_folders["bert_mlm"], max_length=64)
    results = fairlab.evaluate(model, BENCHMARKS, limit=8)
    for entry in results.not_run:  # for want of a head, or of items of one kind
        assert entry.subset in ("intersentence", "overall") or "undefined over" in entry.reason, entry
    n = {f"{r.benchmark}/{r.subset}/{r.quantity}": r.n for r in results.readings}
    assert n["seat/6/effect_size"] == 16  # of both sets of targets
    assert n["bias_ir/career/male_ratio"] == n["crows_pairs/gender/metric_score"] == 8
    assert n["stsb/dev/spearman"] == n["cced/embedded/gap"] == n["rte_probe/dev/accuracy"] == 8
    assert n["winobias/type1/margin"] == 8
    assert n["winogender/all/margin"] == 32  # schemas of eight occupations
    assert n["holistic_bias/age/significant_pairs"] == 56  # pairs of eight descriptors, by two templates


def test_smoke_lowers_what_there_is_and_says_so():
    config = composed("train", ["+experiment=ccd_bert", "method=inlp", "+debug=smoke"], {"data.limit": 10})
    short = lowered(config)
    assert (short.limit, short.data.limit, short.method.classifiers, short.trainer.max_steps) == (8, 10, 2, 2)
    assert "epochs" not in short.method
    assert config.limit is None
    assert [note.benchmark for note in shortening_notes(short)] == ["smoke", "limit"]
    whole = composed("train", ["+experiment=ccd_bert", "method=inlp"], {})
    assert lowered(whole) is whole
    assert shortening_notes(whole) == []


class Unlimited(Benchmark):
    """A benchmark without a limit, with a setting that a smoke run bounds."""

    version = 1
    description = Description("own", "Own", "What?", {"a": QuantityInfo("a", "b")}, smoke={"rounds": 3, "other": 1})

    def __init__(self, rounds: int = 10):
        self.rounds = rounds

    def measure(self, backbone, before=None):
        raise NotImplementedError


def test_a_smoke_run_takes_the_bounds_of_a_benchmark_and_says_which_takes_no_limit():
    config = composed("evaluate", ["benchmark=[perplexity,seat]"], {})
    with open_dict(config):
        config.benchmark.own = {"_target_": f"{__name__}.Unlimited", "rounds": 10}
        config.debug = {"limit": 8}
    short = lowered(config)
    assert (short.benchmark.perplexity.lines, short.benchmark.own.rounds) == (8, 3)
    assert "other" not in short.benchmark.own
    assert config.benchmark.own.rounds == 10
    assert {one.name: getattr(one, "limit", None) for one in build_benchmarks(short)} == {
        "perplexity": 8,
        "seat": 8,
        "own": None,
    }
    said = [note.text for note in shortening_notes(short) if note.benchmark == "own"]
    assert said == ["it has no limit, so all items were measured; add a parameter limit to its class"]


def test_two_benchmarks_of_one_name_are_refused():
    config = composed("evaluate", ["benchmark=[seat]"], {})
    with open_dict(config):
        config.benchmark.again = dict(config.benchmark.seat)
    with pytest.raises(FairlabError, match="two benchmarks of this run have the name seat; leave one out"):
        build_benchmarks(config)


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(one, marks=[] if one in ("ccd_bert", "fairberta") else pytest.mark.slow)
        for one in choices("experiment")
    ],
)
def test_every_experiment_composes_with_smoke(experiment):
    config = composed("train", [f"+experiment={experiment}", "+debug=smoke"], {})
    short = lowered(config)
    assert short.limit == 8
    assert short.trainer.max_steps == 2
    assert OmegaConf.select(short, "method.epochs") in (None, 1)
