"""Arguments of the public functions that are of another type than their annotation."""

import inspect

import numpy as np
import pytest

import fairlab
from fairlab.types import FairlabError

WRONG = [
    5,
    None,
    True,
    [5],
    {"x": 5},
    b"x",
    float("nan"),
    object(),
    "a\0b",
    "a\ud800b",
    "x" * 5000,
    10**30,
    np.zeros(2),
]
# For each function, arguments that would be fine, and those whose place a wrong value takes.
CALLS = {
    "rewrite": ({"text": "He left.", "to": "woman"}, ("to", "axis", "rewriter")),
    "augment": ({"texts": ["He left."], "augmentation": "cda"}, ("augmentation", "axis")),
    "runs": ({}, ("folder",)),
    "load": (
        {"model": "nowhere/none"},
        ("model", "pooling", "normalize", "max_length", "dtype", "attention", "device", "base"),
    ),
    "evaluate": ({"model": "nowhere/none", "benchmarks": "cced"}, ("benchmarks",)),
    "debias": ({"model": "nowhere/none", "data": "nowhere"}, ("data", "method", "scale", "seed")),
    "audit": ({"model": "nowhere/none", "data": "nowhere.csv"}, ("data",)),
}
PLACES = [(name, place) for name, (_, places) in CALLS.items() for place in places]


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_an_argument_of_another_type_is_one_sentence(tmp_path, monkeypatch, name, place):
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        with pytest.raises(FairlabError) as caught:
            getattr(fairlab, name)(**{**CALLS[name][0], place: value})
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [*WRONG, {"text": 5}, {"text": ["a"], "label": []}, np.array("x")])
def test_data_of_an_audit_that_is_no_table_is_one_sentence(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FairlabError):
        fairlab.audit(lambda texts: [0.5] * len(texts), data)


def test_a_wrong_value_of_any_length_gives_a_short_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FairlabError, match=r"xxx\.\.\.") as caught:
        fairlab.runs("x" * 100_000)
    assert len(str(caught.value)) < 400


def test_every_public_function_is_checked_and_keeps_its_signature():
    for name in fairlab.__all__:
        function = getattr(fairlab, name)
        assert inspect.signature(function) == inspect.signature(function.__wrapped__)


def test_numbers_of_numpy_are_numbers():
    with pytest.raises(FairlabError, match="nowhere/none"):
        fairlab.debias("nowhere/none", "nowhere", seed=np.int64(3), beta=np.float64(0.5))
    assert fairlab.rewrite("He left.", to="woman", settings={"seed": np.int64(3)}) == "She left."
