import json
import math

from fairlab.record import NotRun, Reading, Record, environment, without_secrets

READING = Reading(
    "cced", "winogender", "gap", 0.1, "embedding distance", 0.0, 240, 0.08, math.nan, phase="after", seed=42
)


def test_a_record_reads_back_as_it_was(tmp_path):
    record = Record(tmp_path, config={"seed": 42}, command="python -m fairlab.train")
    record.readings.append(READING)
    record.not_run.append(NotRun("stsb", "dev", "no data", phase="before"))
    record.save()
    again = Record.load(tmp_path)
    assert again.config == {"seed": 42}
    assert again.not_run == record.not_run
    assert again.readings[0].key == "after/cced/winogender/gap"
    assert math.isnan(again.readings[0].high)
    assert again.readings[0].low == 0.08


def test_metrics_are_flat_and_valid_json(tmp_path):
    record = Record(tmp_path, config={}, command="", readings=[READING])
    record.save()
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"after/cced/winogender/gap": 0.1}
    assert "NaN" not in (tmp_path / "record.json").read_text()


def test_secrets_of_the_environment_never_reach_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "s3cr3t-value")
    monkeypatch.setenv("MY_TOKEN", "another-one")
    record = Record(
        tmp_path, config={"logger": {"key": "s3cr3t-value"}}, command="x=another-one", reason="s3cr3t-value"
    )
    record.save()
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "s3cr3t-value" not in written
    assert "another-one" not in written
    assert "<WANDB_API_KEY>" in written
    assert without_secrets("plain") == "plain"


def test_the_environment_says_what_the_numbers_stand_on():
    found = environment()
    assert found["versions"]["torch"]
    assert found["hardware"]["cores"] >= 1
    assert found["hardware"]["processor"]
