from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

import pytest

from fairlab.checks.values import Node, faults, node_faults
from fairlab.run.config.build import build, built
from fairlab.types import Bounds, Count, FairlabError, Positive, Texts

HERE = "tests.checks.test_values"


class Point(TypedDict):
    x: int
    y: int


class Small:
    def __init__(self, size: Count, name: "str | None" = None, *, of: "Unknown | None" = None) -> None:  # noqa: F821
        self.size, self.name, self.of = size, name, of


NODE = {"_target_": f"{HERE}.Small", "size": 2}


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, int),
        (1, float),
        (-1.5, float),
        ("a", str),
        (None, str | None),
        (True, bool),
        ("b", Literal["a", "b"]),
        (["a"], Sequence[str]),
        ([0.9, 1], tuple[float, float]),
        ({"a": [1]}, Mapping[str, Sequence[int]]),
        ({"x": 1, "y": 2}, Point),
        (0, Annotated[int, Bounds(0, 0)]),
        ({"anything": [None, {}]}, Any),
        (NODE, Node),
        ([NODE], Sequence[Node]),
        (NODE, Mapping[str, Any]),
        (NODE | {"of": [1]}, Node),  # whose annotation cannot be read here
    ],
)
def test_what_fits(value, hint):
    assert list(faults("k", value, hint)) == []


@pytest.mark.parametrize(
    ("value", "hint", "sentence"),
    [
        (True, int, "k must be a whole number, not true"),
        (1.0, int, "k must be a whole number, not 1.0"),
        ("1", int, "k must be a whole number, not 1"),
        (float("nan"), float, "k must be a number, not nan"),
        (5, str, "k must be a text, not 5"),
        ("", str, "k must be a text, not an empty text"),
        ("a", Sequence[str], "k must be a list of texts, not a"),
        (["a", 1], Sequence[str], "k[1] must be a text, not 1"),
        ([1], tuple[float, float], "k must be a list of numbers, not [1]"),
        ("c", Literal["a", "b"], "k must be a or b, not c"),
        (1, Literal[True, "a"], "k must be true or a, not 1"),
        (0, Count | None, "k must be a whole number of at least 1 or null, not 0"),
        (0, Positive, "k must be a number above 0, not 0"),
        ([], Texts, "k must be a list of texts that is not empty, not []"),
        ({"a": {"b": "c"}}, Mapping[str, Mapping[str, int]], "k.a.b must be a whole number, not c"),
        ({"a": 1.5}, Mapping[str, int] | None, "k.a must be a whole number, not 1.5"),
        ({"x": 1}, Point, "k.y has no value; give a whole number"),
        ({"x": 1, "y": 2, "z": 3}, Point, "there is no key 'z' in k; there are: x, y"),
        (5, Node, "k must be a choice of a group, or an object with a _target_, not 5"),
        (NODE, int, "k must be a whole number, not {'_target_': 'tests.checks.test_values.Small', 'size': 2}"),
        (NODE | {"size": 0}, Any, "k.size must be a whole number of at least 1, not 0"),
        ({"a": [NODE | {"name": 1}]}, Any, "k.a[0].name must be a text or null, not 1"),
        (NODE | {"colour": 1}, Node, "there is no setting 'colour' for Small; there are: size, name"),
        ("x" * 200, int, f"k must be a whole number, not {'x' * 80}..."),
        ("a\nb", int, "k must be a whole number, not a b"),
    ],
)
def test_what_does_not_fit_is_one_sentence(value, hint, sentence):
    assert next(faults("k", value, hint)) == sentence


@pytest.mark.parametrize("name", ["nowhere.Thing", f"{HERE}.Nothing", 5, "", None, f"{HERE}.HERE"])
def test_a_target_that_is_none(name):
    with pytest.raises(FairlabError, match=r"k\._target_="):
        list(node_faults("k", {"_target_": name}))


def test_what_a_target_takes_is_checked_where_it_is_built():
    assert build(NODE, name="n").name == "n"
    assert [one.size for one in built([NODE, NODE | {"size": 3}])] == [2, 3]
    with pytest.raises(FairlabError, match="size of Small must be a whole number of at least 1, not 0"):
        build(NODE | {"size": 0})
    with pytest.raises(FairlabError, match="missing a required argument: 'size'"):
        build({"_target_": f"{HERE}.Small"})
    with pytest.raises(FairlabError, match="name of Small follows from other settings; leave it out"):
        build(NODE | {"name": "m"}, name="n")


def test_a_function_without_a_signature_takes_anything():
    assert list(node_faults("k", {"_target_": "builtins.dict", "a": 1})) == []
