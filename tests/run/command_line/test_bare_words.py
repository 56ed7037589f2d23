"""Arguments that are not settings are explained with the setting to give."""

from pathlib import Path

import pytest
from hydra._internal.utils import get_args_parser

from fairlab.run.command_line.bare_words import explain_bare_word
from fairlab.run.command_line.cli import conf_dir


@pytest.mark.parametrize(
    ("entry", "arguments", "remedy"),
    [
        ("evaluate", ["minilm"], "such as model=minilm"),
        ("evaluate", ["limit=3", "minilm"], "such as model=minilm"),
        ("evaluate", ["--model", "minilm"], "so give model=minilm"),
        ("evaluate", ["--model=minilm"], "so give model=minilm"),
        ("evaluate", ["model", "minilm"], "so give model=minilm"),
        ("evaluate", ["benchmark.seat.limit"], "so give benchmark.seat.limit=VALUE"),
        ("train", ["ccd_roberta_large"], "such as +experiment=ccd_bert"),
        ("train", ["perturber"], "such as +experiment=perturber"),
        ("train", ["+experiment=ccd_bert", "seed", "=", "3"], "so give seed=3"),
        ("report", ["outputs"], "such as runs=outputs"),
        ("score", ["harm.csv"], "such as model=harm.csv"),
        ("reproduce", ["ccd"], "such as paper=ccd"),
    ],
)
def test_a_word_that_is_no_setting(entry, arguments, remedy):
    sentence = explain_bare_word(arguments, get_args_parser(), Path(conf_dir()) / f"{entry}.yaml")
    assert sentence.endswith(remedy)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["+experiment=ccd_bert", "~source.embedding", "seed=1,2", "-m"],
        ["--config-dir", "own", "model=minilm"],
        ["--cfg", "job"],
        ["--no-such-flag"],
    ],
)
def test_settings_and_flags_are_left_to_hydra(arguments):
    assert explain_bare_word(arguments, get_args_parser(), Path(conf_dir()) / "train.yaml") is None
