"""Benchmarks are built as their choices compose, with the nodes within them."""

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf, open_dict

from fairlab.benchmarks.counterfactual import Counterfactual
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.run.command_line.cli import choices, conf_dir
from fairlab.run.config.build import build, build_benchmarks, build_with_some, built, described_node, plain
from fairlab.types import FairlabError

OF_A_TASK = ("none", "glue", "fairscore")  # no benchmark, and those that need a task


@pytest.fixture(scope="module")
def config():
    def composed(name):
        with initialize_config_dir(conf_dir(), version_base="1.3"):
            return compose("evaluate", overrides=[f"benchmark={name}", "model=minilm"])

    return composed


@pytest.mark.parametrize("name", [name for name in choices("benchmark") if "/" not in name and name not in OF_A_TASK])
def test_every_choice_is_built(config, name):
    assert all(benchmark.description.title for benchmark in build_benchmarks(config(name)))


def test_a_node_within_a_benchmark_is_built_and_one_that_is_a_mapping_is_not(config):
    (benchmark,) = build_benchmarks(config("counterfactual"))
    assert isinstance(benchmark, Counterfactual)
    assert isinstance(benchmark.scorer, Sentiment)
    (benchmark,) = build_benchmarks(config("mb_index"))
    assert isinstance(benchmark.settings, dict)


def test_a_system_prompt_goes_to_the_benchmarks_that_ask(config):
    chosen = config("[decisions,bold]")
    chosen.system = "Be fair."
    assert {one.name for one in build_benchmarks(chosen)} == {"decisions@system", "bold"}
    with open_dict(chosen):
        chosen.benchmark.decisions.system = "Be brief."
    assert {getattr(one, "system", None) for one in build_benchmarks(chosen)} == {"Be brief.", None}
    chosen = config("seat")
    chosen.system = "Be fair."
    with pytest.raises(FairlabError, match="system= works only with benchmarks that prompt a model"):
        build_benchmarks(chosen)


def pair(a: int, b: int = 1) -> tuple[int, int]:
    return a, b


PAIR = {"_target_": f"{__name__}.pair"}


def test_nodes_are_built_wherever_they_are_and_take_what_they_lack():
    assert built({"x": [{**PAIR, "a": 3}, 4], "y": {"z": None}}) == {"x": [(3, 1), 4], "y": {"z": None}}
    assert build_with_some({**PAIR, "b": 2}, {"a": 3, "b": 4, "c": 5}) == (3, 2)
    assert build({**PAIR, "_partial_": True, "b": 2})(3) == (3, 2)
    assert build({**PAIR, "_partial_": False}, a=3) == (3, 1)
    with pytest.raises(FairlabError, match="b of pair follows from other settings; leave it out"):
        build({**PAIR, "b": 2}, a=3, b=4)
    with pytest.raises(FairlabError, match="pair cannot be created: missing a required argument: 'a'"):
        build(PAIR)
    config = OmegaConf.create({"a": 1, "b": ["${a}"], "c": {"d": "${a}"}})
    assert plain({"e": (config,)}) == {"e": [{"a": 1, "b": [1], "c": {"d": 1}}]}


def test_limits_of_a_run_and_of_a_benchmark(config):
    chosen = config("[seat,stsb]")
    with open_dict(chosen):
        chosen.limit, chosen.benchmark.seat.limit, chosen.benchmark.stsb.limit = 8, 5, 20
    assert {one.name: one.limit for one in build_benchmarks(chosen)} == {"seat": 5, "stsb": 8}


def test_descriptions_of_benchmarks_by_class_and_by_name():
    seat = described_node("seat", {})
    assert seat.title.startswith("SEAT")
    assert described_node("seat", {"_target_": "fairlab.benchmarks.seat.SEAT"}) == seat
    assert described_node("seat", PAIR) is None
