"""Arguments of commands that no record could hold."""

import pytest
from hydra.errors import HydraException
from omegaconf import OmegaConf

from fairlab.run.command_line import cli, console
from fairlab.run.command_line.cli import asks_for_plan, explain
from fairlab.run.command_line.missing_keys import missing_key
from fairlab.run.config.composing import composed
from fairlab.types import FairlabError


@pytest.mark.parametrize("command", ["score", "view", "compare", "drift"])
@pytest.mark.parametrize("argument", ["model=\udcff", "a\0b"])
def test_an_argument_that_is_no_text_is_one_sentence(monkeypatch, capsys, command, argument):
    monkeypatch.setattr("sys.argv", ["fairlab", command, argument])
    with pytest.raises(SystemExit) as stop:
        console.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 1
    assert line == f"fairlab: {argument!a} is not UTF-8 text; write the argument, or name the file, in UTF-8"


def test_scripts_of_an_earlier_installation_find_the_console():
    from fairlab.run import console as former

    assert former.main is console.main


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        (["dry_run=true"], True),
        (["+dry_run=ON"], True),
        (["dry_run=true", "seed=1", "dry_run=false"], False),
        (["dry_run=false", "dry_run=false", "dry_run=1"], True),
        (["seed=1"], False),
    ],
)
def test_the_last_value_decides_whether_a_command_asks_for_its_plan(arguments, asks):
    assert asks_for_plan(arguments) is asks


def test_a_group_that_a_command_does_not_read_is_explained():
    error = HydraException("Could not override 'method'.")
    assert cli.explain(error, "evaluate", ["method=ccd"]).startswith("fairlab.evaluate has no setting method")


def test_a_group_that_a_command_lacks_is_told_from_one_that_is_given_wrongly():
    error = ValueError("Could not override 'method'.")
    assert explain(error, "evaluate", []) == (
        "fairlab.evaluate has no setting method; run it with --help to see its settings"
    )
    assert explain(error, "train", []).startswith("method cannot be given like this; choose it as method=NAME with: ")


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("dat.seed", "there is no key 'dat.seed'; give seed=VALUE"),
        ("dat.limit", "there is no key 'dat' at the top level; the nearest is data; there are: data, seed"),
        ("data.seeds", "there is no key 'seeds' in 'data'; there are: limit"),
        ("data.limt", "there is no key 'limt' in 'data'; the nearest is limit; there are: limit"),
    ],
)
def test_a_missing_key_names_the_part_that_is_missing(key, sentence):
    assert missing_key(key, OmegaConf.create({"seed": 1, "data": {"limit": 2}})) == sentence


@pytest.mark.parametrize(
    ("overrides", "sentences"),
    [
        (
            ["methhodd.beta=1", "seeed=3"],
            ["'methhodd' at the top level; the nearest is method", "'seeed' at the top level; the nearest is seed"],
        ),
        (
            ["+method.bta=1", "data.pth=x", "backbone.nme=y"],
            ["'pth' in 'data'; the nearest is path", "'nme' in 'backbone'; the nearest is name"],
        ),
        (
            ["method=ccd", "backbon=x", "limiit=3"],
            ["'backbon' at the top level; the nearest is backbone", "'limiit' at the top level; the nearest is limit"],
        ),
    ],
)
def test_every_misspelt_key_gets_its_nearest_name(overrides, sentences):
    with pytest.raises(FairlabError) as error:
        composed("train", [*overrides, "+experiment=ccd_bert"], {})
    for said in sentences:
        assert said in str(error.value)
    assert str(error.value).count("there are: ") <= 1


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "augmentation.verify=facts,verdict",
            "augmentation.verify=facts,verdict has a comma outside of brackets; give "
            "augmentation.verify=[facts,verdict] for a list, \"augmentation.verify='facts,verdict'\" for one text, or "
            "add -m to run once for each",
        ),
        (
            "benchmark=seat,stsb",
            "benchmark=seat,stsb has a comma outside of brackets; give benchmark=[seat,stsb] for a",
        ),
        ("method=ccd,inlp", "method=ccd,inlp names several choices, but method takes one; give method=ccd, or add -m"),
        ("+augmentation=cda,eda", "but augmentation takes one; give augmentation=cda, or add -m to run each"),
    ],
)
def test_a_comma_outside_of_brackets_is_explained(override, sentence):
    ours = "Ambiguous value for argument '{}'\n1. To use it as a list, use key=[value1,value2]"
    assert sentence in str(explain(HydraException(ours.format(override)), "train", [override]))
