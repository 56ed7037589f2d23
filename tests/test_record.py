import html
import json
import math
import os
import re
import shlex
from urllib.parse import quote

import pytest
import yaml

from fairlab.checks.redaction import without_secrets
from fairlab.record import Comparison, Note, NotRun, Reading, Record
from fairlab.run.environment import environment
from fairlab.types import Description, FairlabError, QuantityInfo

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


HARD = [
    "a'b\"c\\d-secret",
    "line one\nline two of it",
    "<tag>&amp;-secret",
    "with blank and ü-secret",
    "per%cent/slash?&=",
]


@pytest.mark.parametrize("value", HARD)
def test_secrets_are_blanked_however_they_are_written(tmp_path, monkeypatch, value):
    monkeypatch.setenv("SERVICE_API_KEY", value)
    record = Record(tmp_path, config={"a": value, value: [f"x {value} y"]}, command=shlex.join(["run", f"k={value}"]))
    record.reason = " ".join(value.split())
    record.save()
    again = Record.load(tmp_path)
    assert again.config == {"a": "<SERVICE_API_KEY>", "<SERVICE_API_KEY>": ["x <SERVICE_API_KEY> y"]}
    assert again.reason == "<SERVICE_API_KEY>"
    texts = [
        json.dumps({"k": value}),
        json.dumps({"k": value}, ensure_ascii=False),
        yaml.safe_dump({"k": value}, allow_unicode=True, width=1000),
        html.escape(value),
        html.escape(json.dumps(value)),
        repr(value),
        f"http://host/?k={quote(value, safe='')}",
        shlex.quote(f"k={value}"),
    ]
    for text in texts:
        found = without_secrets(text)
        assert "<SERVICE_API_KEY>" in found, text
        assert not [part for part in ("secret", "line two", "per%", "per%25") if part in found]


@pytest.mark.parametrize(
    "name",
    [
        "DB_PASSWD",
        "DB_PASS",
        "PGPASS",
        "GITHUB_PAT",
        "PAT",
        "BASIC_AUTH",
        "MYSQL_PWD",
        "SSH_PASSPHRASE",
        "X_CREDENTIALS",
    ],
)
def test_names_of_secrets(monkeypatch, name):
    monkeypatch.setenv(name, "s3cr3t-value")
    assert without_secrets("x s3cr3t-value") == f"x <{name}>"


@pytest.mark.parametrize("name", ["MY_PATH", "GIT_AUTHOR_NAME", "PWD", "OLDPWD", "PATIENCE", "PASSIVE"])
def test_names_of_no_secrets(monkeypatch, name):
    monkeypatch.setenv(name, "s3cr3t-value")
    assert without_secrets("x s3cr3t-value") == "x s3cr3t-value"


def test_a_secret_of_digits_damages_no_number(tmp_path, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "123456")
    config = {"seed": 123456, "lr": 0.123456, "hash": "ab123456cd", "password": "123456", "n": "7 of 123456 rows"}
    record = Record(tmp_path, config, "python -m fairlab.train seed=123456", history=[{"loss": 3.1234567}])
    record.save()
    again = Record.load(tmp_path)
    assert again.config == config | {"password": "<DB_PASSWORD>"}
    assert again.history == [{"loss": 3.1234567}]
    assert again.command.endswith("seed=123456")


def test_short_values_are_whole_words_or_left(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "data")
    monkeypatch.setenv("B_TOKEN", "reading")
    monkeypatch.setenv("C_TOKEN", "a-long-token-of-it")
    assert without_secrets("data, reading, readings, xa-long-token-of-ity") == "data, <B_TOKEN>, readings, x<C_TOKEN>y"


@pytest.mark.parametrize("address", ["http://user:{}@host/path", "https://u:{}@10.0.0.1:8080", "postgresql://u:{}@h/d"])
def test_passwords_in_addresses(address):
    found = without_secrets(f"see {address.format('p:w@rd!')}, please")
    assert found == f"see {address.format('<password>')}, please"
    assert without_secrets("http://host:8080/a@b and user@host") == "http://host:8080/a@b and user@host"


def test_keys_in_the_queries_of_addresses():
    found = without_secrets("http://host/predict?top=1&api_key=sk-0123#m and https://h/?token=abc', {'key=5': 1}")
    assert found == "http://host/predict?top=1&api_key=<key>#m and https://h/?token=<key>', {'key=5': 1}"


KEYS = ["sk-proj-0123456789abcdef", "sk_live_51Habcdef", "AKIAIOSFODNN7EXAMPLE", "hf_abcdefghijklmnop"]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_in_the_place_of_its_variables_name(tmp_path, key):
    config = {"llm": {"api_key_env": key, "other": {"api_key_env": "OPENAI_API_KEY"}, "none_env": None}}
    record = Record(tmp_path, config, f"python -m fairlab.augment llm.api_key_env={key} llm.x_env=null")
    record.save()
    assert key not in (tmp_path / "record.json").read_text()
    again = Record.load(tmp_path)
    other = {"api_key_env": "OPENAI_API_KEY"}
    assert again.config["llm"] == {"api_key_env": "<api_key_env>", "other": other, "none_env": None}
    assert again.command == "python -m fairlab.augment llm.api_key_env=<key> llm.x_env=null"
    for text in (f"api_key_env: {key}\n", f'{{"api_key_env": "{key}"}}', f"- llm.api_key_env='{key}'"):
        assert key not in without_secrets(text)
    for text in ("api_key_env: OPENAI_API_KEY\n", "api_key_env: null\n", "api_key_env=${oc.env:X}"):
        assert without_secrets(text) == text


WHOLE = {"version": 1, "config": {"seed": 1}, "command": "c"}
ENTRY = {"benchmark": "b", "subset": "s", "quantity": "q", "unit": "", "ideal": None, "n": 5, "low": 0, "high": 2}
BAD_RECORDS = {
    "": "is damaged",
    "{}": "is damaged .*the record has no 'config'",
    "[]": "is damaged .*the record is list, not an object",
    "null": "is damaged .*the record is NoneType",
    "3": "is damaged .*the record is int",
    "\x00\xff": "is damaged",
    "[" * 100_000: "is damaged",
    json.dumps(WHOLE | {"version": 2}): "was written by a newer fairlab .*update fairlab",
    json.dumps(WHOLE | {"weather": "fine"}): "the record has 'weather', which this version of fairlab does not know",
    json.dumps(WHOLE | {"readings": [ENTRY]}): "an entry of readings has no 'value'",
    json.dumps(WHOLE | {"readings": [ENTRY | {"value": 1, "mood": 2}]}): "an entry of readings has 'mood'",
    json.dumps(WHOLE | {"readings": [ENTRY | {"value": "much"}]}): "'value' of an entry of readings is str, not float",
    json.dumps(WHOLE | {"readings": [ENTRY | {"value": None}]}): "'value' of an entry of readings is NoneType",
    json.dumps(WHOLE | {"readings": [ENTRY | {"value": math.inf}]}): "b/s/q has no value or no interval: inf",
    json.dumps(WHOLE | {"readings": [ENTRY]})[:-3] + ', "value": 1e999}]}': "b/s/q has no value or no interval: inf",
    json.dumps(WHOLE | {"readings": [3]}): "an entry of readings is int, not an object",
    json.dumps(WHOLE | {"readings": {"a": 1}}): "'readings' of the record is dict, not list",
    json.dumps(WHOLE | {"config": []}): "'config' of the record is list, not dict",
    json.dumps(WHOLE)[:-1] + ', "history": ' + "9" * 5000 + "}": "is damaged",
}


@pytest.mark.parametrize(("content", "said"), BAD_RECORDS.items(), ids=range(len(BAD_RECORDS)))
def test_a_record_that_cannot_be_read_is_one_sentence(tmp_path, content, said):
    (tmp_path / "record.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(FairlabError, match=said) as error:
        Record.load(tmp_path)
    assert str(tmp_path / "record.json") in str(error.value)
    assert str(error.value).endswith(f"move {tmp_path} away")
    assert "\n" not in str(error.value)


LENGTHS = Description(
    "lengths",
    "Lengths",
    "Do embeddings keep their length?",
    {"length_*": QuantityInfo("length of {}", "mean length", "norm", low=0.0), "unused": QuantityInfo("a", "b")},
    subsets={"*": "part {}"},
    needs=("embeddings",),
)


def test_a_record_keeps_what_a_benchmark_says_once_and_of_what_it_measured(tmp_path):
    parts = {"n": 3, "low": 0.0, "high": 2.0, "description": LENGTHS}
    readings = [
        Reading("lengths", "all", f"length_{one}", 1.0, "norm", None, phase=phase, **parts)
        for phase in ("before", "after")
        for one in "ab"
    ]
    change = Comparison(
        "lengths", "all", "length_a", 0.5, "norm", 0.0, 1.0, 0.1, 3, phase="change", description=LENGTHS
    )
    Record(tmp_path, {}, "c", readings=readings, comparisons=[change]).save()
    content = json.loads((tmp_path / "record.json").read_text())
    assert content["described"] == {
        "lengths": {
            "title": "Lengths",
            "question": "Do embeddings keep their length?",
            "subsets": {"*": "part {}"},
            "quantities": {
                f"length_{one}": {"label": f"length of {one}", "meaning": "mean length", "unit": "norm", "low": 0.0}
                for one in "ab"
            },
        }
    }
    assert "description" not in content["readings"][0]
    again = Record.load(tmp_path)
    assert (again.readings, again.comparisons) == (readings, [change])
    for entry in (*again.readings, *again.comparisons):
        assert entry.description.title == "Lengths"
        assert entry.description.quantity(entry.quantity).meaning == "mean length"
    again.save()
    assert json.loads((tmp_path / "record.json").read_text()) == content


TOLD = {"title": "t", "question": "q", "quantities": {"a": {"label": "l", "meaning": "m"}}}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([], "'described' is not an object of names and values"),
        ({"b": {"title": "t"}}, "the description of b has no 'question'"),
        ({"b": TOLD | {"title": 3}}, "'title' of the description of b is int, not str"),
        ({"b": TOLD | {"needs": []}}, "the description of b has 'needs', which"),
        ({"b": TOLD | {"subsets": {"a": 1}}}, "the description of b has words of a subset that are not text"),
        ({"b": TOLD | {"quantities": {"a": {"label": "l"}}}}, "the description of b has no 'meaning'"),
        ({"b": TOLD | {"quantities": {"a": {"label": "l", "meaning": "m", "low": "x"}}}}, "'low' of the description"),
    ],
)
def test_a_description_of_others_is_plain_data_or_one_sentence(tmp_path, told, said):
    (tmp_path / "record.json").write_text(json.dumps({"config": {}, "command": "c", "described": told}))
    with pytest.raises(FairlabError, match=re.escape(said)):
        Record.load(tmp_path)


def test_a_pipe_in_the_place_of_a_record_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "record.json")
    with pytest.raises(FairlabError, match="is a pipe, a socket or a device, not a file"):
        Record.load(tmp_path)


def test_an_older_record_without_a_version_or_marks_is_read(tmp_path):
    older = {"config": {}, "command": "c", "notes": [{"benchmark": "b", "text": "t", "item": "", "phase": "after"}]}
    (tmp_path / "record.json").write_text(json.dumps(older))
    record = Record.load(tmp_path)
    assert record.notes == [Note("b", "t", phase="after")]
    record.save()
    assert json.loads((tmp_path / "record.json").read_text())["version"] == 1


@pytest.mark.parametrize("numbers", [(math.inf, 0.0, 1.0), (0.5, -math.inf, 1.0)])
def test_an_infinite_reading_is_an_error(numbers):
    value, low, high = numbers
    with pytest.raises(ValueError, match="has no value or no interval"):
        Reading("stsb", "dev", "spearman", value, "", None, 5, low, high)
