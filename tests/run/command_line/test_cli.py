"""Arguments of commands that no record could hold."""

import errno
import os
import signal
from types import SimpleNamespace

import pytest
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf

from fairlab.run.command_line import cli, console
from fairlab.run.command_line.cli import asks_for_plan, explain
from fairlab.run.command_line.missing_keys import missing_key
from fairlab.run.config.composing import composed
from fairlab.types import FairlabError, ReviewNeeded


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


@pytest.fixture
def handlers(monkeypatch):
    """Handlers of signals by signal, which are not installed."""
    found = {}
    monkeypatch.setattr(cli.signal, "signal", found.__setitem__)
    for name in ("TORCHELASTIC_RUN_ID", cli.FULL_ERROR):
        monkeypatch.delenv(name, raising=False)
    return found


def arguments_of(monkeypatch, entry, *given):
    """Return the arguments that an entry point sees, and whether Hydra then raises errors."""
    seen = []
    monkeypatch.setattr("sys.argv", ["fairlab", *given])
    cli.run(lambda: seen.append((cli.sys.argv[1:], os.environ.get(cli.FULL_ERROR))), entry)
    ((arguments, full_error),) = seen
    assert full_error == "1"
    assert cli.FULL_ERROR not in os.environ
    return arguments


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(
    ("entry", "given", "seen"),
    [
        ("train", ["--cfg", "job"], ["--cfg", "job", "--resolve"]),
        ("train", ["-c", "job"], ["-c", "job", "--resolve"]),
        ("train", ["--cfg", "job", "--resolve"], ["--cfg", "job", "--resolve"]),
        ("train", ["--cfg", "hydra"], ["--cfg", "hydra"]),
        ("train", ["--config-dir", "job"], ["--config-dir", "job"]),
        ("augment", ["augmentation=cda", "input=größe"], ["+augmentation=cda", "input='größe'"]),
        ("train", ["augmentation=cda", "name=größe"], ["augmentation=cda", "name='größe'"]),
    ],
)
def test_arguments_are_completed_for_hydra(monkeypatch, entry, given, seen):
    assert arguments_of(monkeypatch, entry, *given) == seen


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FairlabError("wrong"), 1),
        (ReviewNeeded("fill it in"), 3),
        (KeyboardInterrupt(), 130),
        (ValueError("bug"), None),
    ],
)
def test_errors_end_an_entry_point_with_one_sentence_and_bugs_do_not(monkeypatch, handlers, capsys, error, code):
    def main():
        raise error

    monkeypatch.setattr("sys.argv", ["fairlab", "seed=1"])
    with pytest.raises(type(error) if code is None else SystemExit) as ended:
        cli.run(main, "train")
    assert code is None or ended.value.code == code
    assert len(capsys.readouterr().err.splitlines()) == (code is not None)
    assert cli.FULL_ERROR not in os.environ
    with pytest.raises(cli.Terminated):
        handlers[signal.SIGTERM]()
    monkeypatch.setenv(cli.FULL_ERROR, "1")
    with pytest.raises(type(error)):
        cli.run(main, "train")


def test_other_processes_of_torchrun_wait_for_the_first(monkeypatch, handlers):
    called = []
    monkeypatch.setattr(cli, "work_for_rank_0", lambda: called.append("worker"))
    monkeypatch.setattr("sys.argv", ["fairlab"])
    for rank, run_id in (("0", "x"), ("1", "x"), ("1", None)):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x") if run_id else monkeypatch.delenv("TORCHELASTIC_RUN_ID")
        cli.run(lambda: called.append("main"), "train")
    assert called == ["main", "worker", "main"]


def caused_by(link, error):
    error.__context__ = link
    return error


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (FairlabError("said"), "said"),
        (caused_by(FairlabError("said"), ValueError("other")), "said"),
        (caused_by(caused_by(FairlabError("said"), OSError()), ValueError("other")), "said"),
        (MemoryError("of 3 GB"), "(of 3 GB)"),
        (PermissionError(errno.EACCES, "no", "a"), "who may write there"),
        (OSError(errno.EROFS, "no", "a"), "who may write there"),
        (OSError(errno.ENOTDIR, "no", "a"), "choose another place"),
        (OSError(errno.ENOTDIR, "no"), None),
        (OSError(errno.ENOENT, "no", "/proc/a"), "choose another place"),
        (OSError(errno.ENOENT, "no", "/tmp/proc/a"), None),
        (OSError(errno.EIO, "no"), "a file cannot be read"),
        (OSError(errno.EIO, "no", "disk"), "disk cannot be read"),
        (ValueError("bug"), None),
        (HydraException("a  b\nc"), "a b c"),
        (HydraException("Could not find 'hydra/sweeper/optuna'"), "sweep=optuna"),
        (HydraException("Could not load 'method/ccdd'"), "method=ccdd: no such choice; the nearest is ccd; there are:"),
        (HydraException("Could not find 'elsewhere/x'"), "Could not find 'elsewhere/x'"),
        (HydraException("see override_grammar"), "see override_grammar"),
    ],
)
def test_errors_that_a_user_can_mend_are_told_from_bugs(error, part):
    found = explain(error, "train", ["seed=1", "--config-dir=[x", "bare"])
    assert found is None if part is None else part in found


def test_the_override_that_hydra_cannot_read_is_named():
    error = HydraException("see override_grammar")
    assert "cannot read data=[a; close" in explain(error, "train", ["seed=1", "data=[a", "name=[b"])


@pytest.mark.parametrize(
    ("override", "first"),
    [("key=1,2", "key=1"), ("key=[1,2]", "key=[1,2]"), ("key={a:1,b:2}", "key={a:1,b:2}"), ("key='1,2'", "key='1,2'")],
)
def test_the_first_value_of_a_sweep(override, first):
    assert cli.first_of_sweep(override) == first


def test_choices_of_a_folder_of_ones_own_are_listed(tmp_path, monkeypatch):
    (tmp_path / "method" / "mine" / "deep").mkdir(parents=True)
    for name in ("own", "mine/one", "mine/deep/two"):
        (tmp_path / "method" / f"{name}.yaml").write_text("")
    monkeypatch.setattr("sys.argv", ["fairlab", "--config-dir", str(tmp_path)])
    found = cli.choices("method")
    assert {"ccd", "own", "mine/one"} <= {*found}
    assert "mine/deep/two" not in found
    with pytest.raises(FairlabError, match="is not a folder"), cli.initialised(str(tmp_path / "none")):
        pass


def test_a_run_folder_with_a_link_that_leads_out_is_refused(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out").symlink_to("/")
    cli.refuse_places_that_lead_out([f"name={tmp_path}/run", "hydra.run.dir=nowhere"])
    with pytest.raises(FairlabError):
        cli.refuse_places_that_lead_out(["seed=1", f"hydra.run.dir='{tmp_path}/run'"])


@pytest.mark.parametrize(
    ("error", "code"), [(FairlabError("wrong"), 1), (KeyboardInterrupt(), 130), (MemoryError(), 1), (OSError(), None)]
)
def test_commands_without_hydra_end_alike(monkeypatch, capsys, error, code):
    monkeypatch.setattr("sys.argv", ["fairlab"])
    with pytest.raises(OSError if code is None else SystemExit) as ended, cli.one_sentence_without_hydra():
        raise error
    assert code is None or ended.value.code == code
    assert len(capsys.readouterr().err.splitlines()) == (code is not None)


@pytest.mark.parametrize(("names", "explained"), [(["here", "hydra.x"], True), (["hydra.x", "here"], False)])
def test_an_unexpected_error_is_hydras_where_hydra_raised_it(names, explained):
    """The last of the modules raises, and the first one calls it."""
    outer, inner = ({"__name__": name} for name in names)
    exec("def call(one): one()", outer)
    exec("def fail(): raise TypeError('odd')", inner)
    with pytest.raises(TypeError) as error:
        outer["call"](inner["fail"])
    assert (explain(error.value, "train", ["seed=1"]) is not None) is explained
    if explained:
        for given, known in (("method=[inlp,1]", True), ("method=inlp", False), ("seed=[1]", False), ("--x=[1", False)):
            said = explain(error.value, "train", [given])
            assert said.startswith("method=[inlp,1]: method must be the name of a choice; there are: adept") is known


@pytest.mark.parametrize(
    ("error", "mode", "traceback", "ends"),
    [
        (FairlabError("wrong"), RunMode.RUN, False, True),
        (FairlabError("wrong"), RunMode.RUN, True, False),
        (FairlabError("wrong"), RunMode.MULTIRUN, False, False),
        (ValueError("bug"), RunMode.RUN, False, False),
    ],
)
def test_an_error_of_a_single_run_is_one_sentence(monkeypatch, capsys, error, mode, traceback, ends):
    monkeypatch.setattr(cli.HydraConfig, "get", lambda: SimpleNamespace(mode=mode))
    monkeypatch.setattr(cli, "_traceback_wanted", traceback)
    with pytest.raises(SystemExit if ends else type(error)), cli.one_sentence():
        raise error
    assert capsys.readouterr().err == ("fairlab: wrong\n" if ends else "")


def test_an_experiment_is_added_with_a_plus():
    said = explain(ValueError("Could not override 'experiment'."), "train", [])
    assert said.startswith("add the experiment with a plus: +experiment=NAME with: ")
