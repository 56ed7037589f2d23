import json
import math

import pytest

from fairlab.record import Comparison, Note, NotRun, Reading, Record, environment, without_secrets

READING = Reading(
    "cced", "winogender", "gap", 0.1, "embedding distance", 0.0, 240, 0.08, 0.12, phase="after", seed=42, p=0.03
)


def test_a_record_reads_back_as_it_was(tmp_path):
    record = Record(tmp_path, config={"seed": 42}, command="python -m fairlab.train")
    record.readings.append(READING)
    record.not_run.append(NotRun("stsb", "dev", "no data", phase="before"))
    record.comparisons.append(Comparison("seat", "6", "effect_size", -0.1, "d", -0.2, 0.0, 0.06, 160, phase="change"))
    record.notes.append(Note("stereoset", "LMS near chance", phase="before"))
    record.save()
    again = Record.load(tmp_path)
    assert again.config == {"seed": 42}
    assert again.not_run == record.not_run
    assert (again.readings, again.comparisons, again.notes) == (record.readings, record.comparisons, record.notes)
    assert again.readings[0].key == "after/cced/winogender/gap"
    assert again.comparisons[0].key == "change/seat/6/effect_size"


@pytest.mark.parametrize("numbers", [(math.nan, 0.0, 1.0), (0.5, math.nan, 1.0), (0.5, 0.0, math.nan)])
def test_a_reading_without_an_interval_is_an_error(numbers):
    value, low, high = numbers
    with pytest.raises(ValueError, match=r"stsb/dev/spearman has no value or no interval"):
        Reading("stsb", "dev", "spearman", value, "", None, 5, low, high)


def test_a_table_holds_a_row_per_reading_and_a_column_per_phase(tmp_path):
    def of(phase, quantity):
        return Reading("b", "s", quantity, 1.0, "", None, 5, 0.0, 2.0, phase=phase)

    readings = [of("data", "x"), of("before", "y"), of("before", "z"), of("after", "z")]
    record = Record(tmp_path, {}, "", readings=readings)
    assert record.phases == ["before", "after"]
    assert [list(row) for row in record.table()] == [["data"], ["before"], ["before", "after"]]


def test_metrics_are_flat_and_valid_json(tmp_path):
    change = Comparison("cced", "winogender", "gap", -0.2, "", -0.3, -0.1, 0.01, 240, phase="change")
    record = Record(tmp_path, config={}, command="", readings=[READING], comparisons=[change])
    record.save()
    assert json.loads((tmp_path / "metrics.json").read_text()) == {
        "after/cced/winogender/gap": 0.1,
        "after/cced/winogender/gap_p": 0.03,
        "change/cced/winogender/gap": -0.2,
    }
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
