"""Files of association tests of one's own."""

import json

import pytest

from fairlab.data.association_tests import read_own_tests
from fairlab.types import FairlabError

TWO = {"targets": {"x": ["a", "b"], "y": ["c"]}, "attributes": {"good": ["d"], "bad": ["e"]}}


def write(tmp_path, content, name="my-tests.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_two_targets_are_one_test_put_into_every_template(tmp_path):
    file = write(tmp_path, {"axis": "pets", "templates": ["{}!", "this is {}"], "tests": {"Old Age": TWO}})
    found = read_own_tests(file)
    assert found.axis == "pets"
    (name,) = found.tests
    assert name == "my_tests_old_age"
    assert found.tests[name].sets == (
        ("a!", "b!", "this is a", "this is b"),
        ("c!", "this is c"),
        ("d!", "this is d"),
        ("e!", "this is e"),
    )


def test_three_targets_are_a_test_for_each_pair_in_yaml_too(tmp_path):
    text = "tests: {t: {targets: {x: [a, a], y: [b], z: [c]}, attributes: {p: [d], q: [e]}}}\n"
    found = read_own_tests(write(tmp_path, text, "mine.yaml"))
    assert found.axis == ""
    assert {name: test.sets for name, test in found.tests.items()} == {
        "mine_t_x_vs_y": (("a",), ("b",), ("d",), ("e",)),
        "mine_t_x_vs_z": (("a",), ("c",), ("d",), ("e",)),
        "mine_t_y_vs_z": (("b",), ("c",), ("d",), ("e",)),
    }


def test_a_file_of_sent_bias_is_one_test(tmp_path):
    content = {key: {"category": key, "examples": [f"{key} text"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    found = read_own_tests(write(tmp_path, content, "Blind.jsonl"))
    assert list(found.tests) == ["blind"]
    assert found.tests["blind"].sets == (("targ1 text",), ("targ2 text",), ("attr1 text",), ("attr2 text",))


def changed(**parts):
    return {"tests": {"t": {**TWO, **parts}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "my-tests.json is neither YAML nor JSON"),
        ("- 1", "holds no association test; add 'tests'"),
        ({"tests": {}}, "holds no association test"),
        ({"tests": {"t": TWO}, "test": 1}, "has the unknown key 'test'; the known keys are axis, templates, tests"),
        ({"tests": {"t": TWO}, "axis": 5}, "'axis' is not a text"),
        ({"tests": {"t": TWO}, "templates": ["no place"]}, "'templates' is not a list of texts with {} in each"),
        ({"tests": {"t": TWO}, "templates": []}, "'templates' is not a list"),
        ({"tests": {"t": []}}, "the test 't' has no sets; give targets and attributes"),
        (changed(target={}), "the test 't' has the unknown key 'target'; the known keys are targets, attributes"),
        (changed(targets={"x": [], "y": ["c"]}), "'targets': the set 'x' must be a list of at least one text"),
        (changed(targets={"x": [True], "y": ["c"]}), "'targets': the set 'x' must be a list of at least one text"),
        (changed(targets={"x": ["a"]}), "'targets' has one set; give two or more"),
        (
            changed(attributes={"p": ["d"], "q": ["e"], "r": ["f"]}),
            "'attributes' has 3 sets; give exactly two, which",
        ),
        (changed(attributes={"p": ["d"], "q": ["a"]}), "'a' is in both x and q; keep one of them"),
        (changed(attributes=None), "'attributes' has no sets"),
        ({"targ1": {"examples": ["x"]}, "extra": 1}, "has the unknown key 'extra'; the known keys are targ1, targ2"),
        ({"targ1": {"examples": []}}, "targ1 needs texts"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, content, message):
    with pytest.raises(FairlabError) as caught:
        read_own_tests(write(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FairlabError, match=r"none\.yaml is not a file; give a file of association tests"):
        read_own_tests(tmp_path / "none.yaml")


def test_every_sentence_says_the_word_that_it_was_made_of(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "templates: ['This is {}.', 'Here is {}.']\n"
        "tests: {one: {targets: {x: [Ann, Joan], y: [Paul]}, attributes: {a: [art], b: [a sum]}}}\n"
    )
    test = read_own_tests(file).tests["mine_one"]
    sentences = dict(zip(test.targ1 + test.targ2, test.words, strict=True))
    assert sentences == {
        "This is Ann.": "Ann",
        "This is Joan.": "Joan",
        "Here is Ann.": "Ann",
        "Here is Joan.": "Joan",
        "This is Paul.": "Paul",
        "Here is Paul.": "Paul",
    }
