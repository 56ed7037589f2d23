"""Items and steps of a training by hand, at the borders of every setting that changes them."""

import pytest

from fairlab.data.published.download import FILES
from fairlab.run.planning.needs import needs_of
from fairlab.run.planning.work import named_files, training_work

GROUPS = {"_target_": "fairlab.data.counterfactual.CounterfactualData", "batch_size": 32}
PAIRS = {"_target_": "fairlab.data.pairs.PairData", "batch_size": 32}


def work_of(data, method=None, **trainer):
    return training_work({"data": data, "method": method or {}, "trainer": trainer, "backbone": {"max_length": 50}})


@pytest.mark.parametrize(
    ("settings", "items", "steps"),
    [
        ({}, 330, 11),
        ({"batch_size": None}, 330, 330),
        ({"batch_size": 33}, 330, 10),
        ({"limit": 64}, 64, 2),
        ({"limit": 1000}, 330, 11),
        ({"validation": 0.1}, 330, 10),  # 297 groups
        ({"validation": 1}, 330, 11),  # 329 groups
        ({"validation": 1000}, 330, 0),
        ({"validation": 30, "test": 14}, 330, 9),  # 286 groups
    ],
)
def test_steps_of_a_file(tmp_path, settings, items, steps):
    (tmp_path / "groups.jsonl").write_text("{}\n" * 330)
    data = {**GROUPS, "path": str(tmp_path / "groups.jsonl"), **settings}
    found = work_of(data)
    assert (found.items, found.steps, found.tokens) == (items, steps, 90.0)
    assert work_of(data, {"epochs": 3}).steps == 3 * steps
    assert work_of(data, {"epochs": 3, "steps": 2}, max_steps=7).steps == min(2, 3 * steps)
    assert work_of({**data, "_target_": ".AttributeSentences"}).items == settings.get("limit")  # else unknown


@pytest.mark.parametrize(("name", "read"), [("a.jsonl", 2), ("a.tsv", 2), ("a.txt", 2), ("a.bin", None)])
def test_only_files_of_lines_are_counted(tmp_path, monkeypatch, name, read):
    (tmp_path / name).write_text("one\ntwo\n")
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    for path in (name, str(tmp_path / name)):
        found = work_of({**PAIRS, "path": path})
        assert (found.items, found.tokens) == (read, 30.0)


def test_a_limit_stands_for_a_size_that_nobody_knows():
    found = work_of({**PAIRS, "path": "nowhere.jsonl", "limit": 64, "validation": 0.5, "test": 0.5})
    assert (found.items, found.steps, found.read) == (64, 2, 64 * 30.0)
    assert work_of({**PAIRS, "path": "nowhere.jsonl"}, max_steps=4).steps == 4


@pytest.mark.parametrize(
    ("path", "task", "items"),
    [
        ("outputs/made/x", "rte", 2490),
        ("made/x", "rte", 2490),
        (None, "rte", 2490),
        ("unmade/x", "rte", None),
        ("hub", "nothing", None),
        ("made/gpt", "rte", 42_930),
        ("a/made/gpt:train", "rte", 42_930),
        ("remade/gpt", "rte", None),
    ],
)
def test_published_sizes_are_those_of_the_named_data(tmp_path, monkeypatch, path, task, items):
    monkeypatch.delenv("FAIRLAB_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert work_of({**PAIRS, "path": path, "task": task}).items == items


def test_running_text(tmp_path):
    """Blocks have the model's length unless they have one of their own; windows of a corpus can be longer than 30."""
    (tmp_path / "a.txt").write_text("x" * 441)
    data = {"_target_": ".PackedText", "paths": [str(tmp_path / "a.txt")], "batch_size": 2}
    found = work_of(data)
    assert (found.items, found.steps, found.tokens) == (3, 2, 50)  # 441 / 4.4 / 50 = 2.005
    assert work_of({**data, "limit_characters": 440}).items == 2
    assert work_of({**data, "limit_characters": 1000}).items == 3
    (tmp_path / "b.jsonl").write_text("{}")
    assert work_of({**data, "paths": [str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl")]}).items is None
    for windows, tokens in (([8, 16], 30), ([8, 64], 64)):
        assert work_of({"_target_": ".Corpus", "windows": windows, "path": "nowhere"}).tokens == tokens


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ({"path": "a.txt", "task": "rte"}, ["a.txt"]),
        ({"input": "a.csv", "path": "b.txt"}, ["a.csv"]),
        ({"path": "hub", "task": "rte"}, []),
        ({"path": "???"}, []),
        ({"name": "a.tsv", "held_out": ["b.tsv", "c.tsv"], "path": None}, ["a.tsv", "b.tsv", "c.tsv"]),
        ({"name": "a.tsv"}, []),
        ({"held_out": ["b.tsv"], "name": None}, []),
        ({"paths": ["a", "b"], "lists": {"male": "m.txt"}}, ["a", "b", "m.txt"]),
        ({"paths": "a", "lists": ["m.txt"]}, []),
    ],
)
def test_the_files_that_a_configuration_names(data, names):
    assert list(named_files(data)) == names


def test_what_a_run_needs_and_what_it_downloads(tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.run.planning.sizes.folder_at_hand", lambda *_: None)
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    monkeypatch.setenv("HERE_KEY", "x")
    monkeypatch.delenv("AWAY_KEY", raising=False)
    (tmp_path / "here.csv").write_text("")
    (tmp_path / "m.gguf").write_bytes(b"x" * 20_000_000)
    published = next(iter(FILES))
    models = [
        {"name": "lab/served", "served": True},
        {"name": str(tmp_path), "gguf": "m.gguf"},
        {"name": "outputs/runs/a"},
        {"name": "lab/packed", "package": "no_such_package"},
        {"name": "nobody/nothing"},
        {"name": "meta-llama/Llama-2-13b-chat-hf"},
    ]
    source = {
        "a": {"column": "p", "path": "here.csv"},
        "b": {"column": "p", "path": "away.csv", "api_key_env": "HERE_KEY", "base_url": "u"},
        "c": {"api_key_env": "AWAY_KEY", "base_url": "u"},
    }
    config = {
        **{"models": models, "source": source, "augmentation": {"generator": "lab/writer", "summary": "first"}},
        "data": {"paths": ["embedded/people", f"{tmp_path}/here.csv", "x/made/y", published, "away.txt"]},
        "input": "task:rte:train",
    }
    found = {need.name: (bool(need.there), need.download) for need in needs_of(config)}
    known = {name: value for name, value in found.items() if "rte" not in name.casefold()}
    assert known == {
        **{"lab/served": (True, 0), f"{tmp_path}/m.gguf": (True, 0), "outputs/runs/a": (False, 0)},
        **{"lab/packed": (False, 0), "nobody/nothing": (False, None), "lab/writer": (False, None)},
        "meta-llama/Llama-2-13b-chat-hf": (False, 2 * 13_015_864_320),
        **{"embedded/people": (True, 0), "here.csv": (True, 0), "x/made/y": (False, 0)},
        **{published: (False, None), "away.txt": (False, 0)},
        **{"here.csv (stored scores)": (True, 0), "away.csv (stored scores)": (False, 0)},
        **{"HERE_KEY (key of u)": (True, 0), "AWAY_KEY (key of u)": (False, 0)},
    }
    assert next(need for need in needs_of(config) if need.name.endswith("m.gguf")).there == "0.02 GB"
