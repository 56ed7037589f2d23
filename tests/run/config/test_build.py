"""Benchmarks are built as their choices compose, with the nodes within them."""

import pytest
from hydra import compose, initialize_config_dir

from fairlab.benchmarks.counterfactual import Counterfactual
from fairlab.methods.safety_ensemble.sources.sentiment import Sentiment
from fairlab.run.command_line.cli import choices, conf_dir
from fairlab.run.config.build import build_benchmarks
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
    chosen = config("seat")
    chosen.system = "Be fair."
    with pytest.raises(FairlabError, match="system= works only with benchmarks that prompt a model"):
        build_benchmarks(chosen)
