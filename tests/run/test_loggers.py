"""Loggers of a run: what they are given, and that none of them can stop it or reach where it was not asked to."""

import http.server
import json
import struct
import threading
import time
from pathlib import Path

import pytest
import wandb
from omegaconf import OmegaConf
from wandb.proto import wandb_internal_pb2

from fairlab.record import Comparison, Reading, Record
from fairlab.run.command_line.cli import conf_dir
from fairlab.run.loggers import _finish_wandb, build_loggers, finish_loggers, wandb_logger
from fairlab.types import FairlabError

SETTINGS = {
    "project": "fairlab",
    "entity": None,
    "offline": False,
    "group": None,
    "tags": ["a"],
    "model": False,
    "init_timeout": 2.0,
    "finish_timeout": 1.0,
}
READING = Reading("cced", "embedded", "gap", 0.5, "distance", 0.0, 10, 0.4, 0.6, headline=True, phase="after", seed=0)
CHANGE = Comparison("cced", "embedded", "gap", -0.5, "distance", -0.6, -0.4, 0.01, 10, phase="change")


def nodes(*names, **wandb_values):
    found = {name: OmegaConf.load(Path(conf_dir()) / "logger" / f"{name}.yaml")[name] for name in names}
    if "wandb" in found:
        found["wandb"].update(wandb_values)
    return found


def finished(folder, loggers):
    config = {"seed": 0, "logger": OmegaConf.to_container(OmegaConf.create(loggers), resolve=True)}
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    history = [{"step": 1, "train/loss": 2.0}, {"step": 2, "train/loss": 1.0, "validation/loss": 1.5}]
    return Record(folder, config, "", readings=[READING], comparisons=[CHANGE], history=history)


def entries(file):
    """Records of a .wandb file: a 7-byte header, then blocks of 32 KiB of records with 7-byte heads."""
    content, place, parts, found = file.read_bytes(), 7, b"", []
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = struct.unpack("<HB", content[place + 4 : place + 7])
        if place + 7 + size > len(content):
            break  # wandb's process is still writing it
        parts += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            found.append(wandb_internal_pb2.Record.FromString(parts))
            parts = b""
    return found


def closed(folder):
    """The run's file and its records, once wandb's own process has written the last of them."""
    for _ in range(100):
        (file,) = (folder / "wandb").glob("offline-run-*/*.wandb")
        if (found := entries(file)) and found[-1].HasField("exit"):
            return file, found
        time.sleep(0.1)
    raise AssertionError(f"{file} has no end")


class Refusing(http.server.BaseHTTPRequestHandler):
    """A proxy that counts who asks for the network, and refuses."""

    asked: list[str] = []  # noqa: RUF012

    def do_CONNECT(self):
        self.asked.append(self.path)
        self.send_error(403)

    do_GET = do_POST = do_CONNECT

    def log_message(self, *_):
        pass


@pytest.fixture
def asked(monkeypatch):
    Refusing.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_address[1]}")
    yield Refusing.asked
    server.shutdown()


@pytest.mark.slow
def test_an_offline_run_is_read_back_and_asks_for_no_network(tmp_path, asked, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "s3cret-value")
    chosen = nodes("wandb", offline=True, model=True, tags=["ours"])
    record = finished(tmp_path / "sweep" / "3", chosen)
    record.config["text"] = "s3cret-value"
    loggers = build_loggers(chosen, record, "exp/sweep")
    for step, row in enumerate(record.history, start=1):
        loggers[0].log_metrics({"train/loss": row["train/loss"]}, step=step)
    finish_loggers(loggers, record, 2)

    file, found = closed(record.folder)
    (run,) = {entry.run.run_id: entry.run for entry in found if entry.HasField("run")}.values()
    assert (run.project, run.run_group, list(run.tags)) == ("fairlab", "exp/sweep", ["ours"])
    assert run.run_id == record.provenance["wandb_id"]
    config = {item.key: item.value_json for e in found if e.HasField("config") for item in e.config.update}
    assert json.loads(config["seed"]) == 0
    assert b"s3cret" not in file.read_bytes()
    history = [{(i.key or "/".join(i.nested_key)): json.loads(i.value_json) for i in e.history.item} for e in found]
    assert [row["train/loss"] for row in history if "train/loss" in row] == [2.0, 1.0]
    assert any(row.get("after/cced/embedded/gap") == 0.5 for row in history)
    tables = {}
    for path in (record.folder / "wandb").rglob("*.table.json"):
        tables |= {path.name.split("_")[0]: json.loads(path.read_text())}
    assert tables["readings"]["data"][0][2:7] == ["after", "cced", "embedded", "gap", 0.5]
    assert tables["readings"]["data"][0][0] == "CCED gap, bundled sentences"
    assert tables["differences"]["data"][0][6:9] == [-0.5, -0.6, -0.4]
    assert any(e.request.HasField("log_artifact") or e.HasField("artifact") for e in found), "the model on request"
    assert wandb.run is None
    assert asked == []


@pytest.mark.slow
def test_a_server_out_of_reach_leaves_the_run_in_its_folder(tmp_path, monkeypatch, capsys, request):
    values = {"WANDB_MODE": "online", "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "0" * 40}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    wandb.teardown()  # it reads the environment once
    request.addfinalizer(wandb.teardown)
    logger = wandb_logger(**SETTINGS, save_dir=str(tmp_path), run_id="abc", sweep=None)
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.experiment.finish()
    assert "wandb sync" in capsys.readouterr().err
    _, found = closed(tmp_path)
    assert any(entry.HasField("history") for entry in found)


def test_a_run_without_a_key_is_refused_in_one_sentence(tmp_path, monkeypatch):
    def init(**_):
        raise wandb.errors.UsageError("No API key configured.")

    monkeypatch.setattr(wandb, "init", init)
    with pytest.raises(FairlabError, match="no API key; run 'wandb login'"):
        wandb_logger(**SETTINGS, save_dir=str(tmp_path), run_id="abc", sweep=None)


def test_a_continued_run_keeps_its_id(tmp_path, monkeypatch):
    seen = []

    class Run:
        def define_metric(self, *_, **__):
            pass

    monkeypatch.setattr(wandb, "init", lambda **values: seen.append(values) or Run())
    record = Record(tmp_path, {}, "")
    monkeypatch.setattr("lightning.pytorch.loggers.WandbLogger.log_hyperparams", lambda *_: None)
    for group in (None, "mine"):
        build_loggers(nodes("wandb", group=group), record, "of/a sweep")
        record.save()
        record = Record.load(tmp_path)
    assert seen[0]["id"] == seen[1]["id"]
    assert [values["group"] for values in seen] == ["of/a sweep", "mine"]
    assert seen[0]["name"] == "/".join(tmp_path.parts[-2:])
    assert {values["resume"] for values in seen} == {"allow"}


def test_several_loggers_write_at_once(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    monkeypatch.chdir(tmp_path)
    chosen = nodes("csv", "tensorboard")
    record = finished(tmp_path / "run", chosen)
    loggers = build_loggers(chosen, record, None)
    for logger in loggers:
        logger.log_metrics({"train/loss": 2.0}, step=1)
    finish_loggers(loggers, record, 2)
    rows = (tmp_path / "run" / "csv" / "version_0" / "metrics.csv").read_text()
    assert "train/loss" in rows
    assert "after/cced/embedded/gap" in rows
    assert list((tmp_path / "run" / "tensorboard").rglob("events.*"))


@pytest.mark.slow
@pytest.mark.long
def test_mlflow_as_the_documentation_writes_it(tmp_path, monkeypatch):
    """Without any variable of the environment, into a database where the command is given."""
    for package in ("mlflow", "sqlalchemy", "alembic"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    chosen = nodes("mlflow")
    record = finished(tmp_path / "run", chosen)
    (logger,) = loggers = build_loggers(chosen, record, None)
    logger.log_metrics({"train/loss": 2.0}, step=1)
    finish_loggers(loggers, record, 2)
    assert (tmp_path / "mlflow.db").is_file()
    assert [entry.value for entry in logger.experiment.get_metric_history(logger.run_id, "train/loss")] == [2.0]
    assert logger.experiment.get_run(logger.run_id).data.metrics["after/cced/embedded/gap"] == 0.5


def test_a_logger_that_cannot_begin_is_one_sentence(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the store is\nin maintenance mode")

    monkeypatch.setattr("lightning.pytorch.loggers.CSVLogger.log_hyperparams", broken)
    with pytest.raises(FairlabError, match=r"^logger=csv cannot start \(RuntimeError: the store is in maint"):
        build_loggers(nodes("csv"), Record(tmp_path, {}, ""), None)


def test_an_evaluation_has_no_model_for_weights_and_biases(tmp_path, monkeypatch):
    logged = []

    class Run:
        id = "abc"
        log = finish = staticmethod(lambda *_: None)
        log_artifact = staticmethod(logged.append)

    record = Record(tmp_path, {"logger": {"wandb": {"model": True}}}, "")
    _finish_wandb(Run(), record)
    assert logged == []


@pytest.mark.parametrize("name", ["tensorboard", "mlflow"])
def test_a_missing_package_is_named_with_its_extra(name, tmp_path, monkeypatch):
    def absent(*_, **__):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("fairlab.run.loggers.build_with_some", absent)
    with pytest.raises(FairlabError, match=rf"logger={name} needs the extra {name}: pip install 'fairlab\[{name}\]'"):
        build_loggers(nodes(name), Record(tmp_path, {}, ""), None)


def test_a_logger_that_fails_in_mid_run_is_said_once_and_stops_nothing(tmp_path, capsys):
    (logger,) = loggers = build_loggers(nodes("csv"), Record(tmp_path, {}, ""), None)
    (tmp_path / "csv").mkdir(exist_ok=True)

    def broken(*_, **__):
        raise ConnectionError("the network is gone")

    logger.experiment.log_metrics = broken
    for step in range(3):
        logger.log_metrics({"loss": 1.0}, step=step)
    finish_loggers(loggers, Record(tmp_path, {}, ""), 3)
    assert capsys.readouterr().err.count("the network is gone") == 1


def test_mlflow_needs_no_variable_of_the_environment(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert nodes("mlflow")["mlflow"].tracking_uri == "sqlite:///mlflow.db"
