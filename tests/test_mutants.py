"""Mutations of code, by hand, and the tests that they are given to."""

import ast

import pytest

from tests import mutants


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a + b", "a - b"),
        ("a / b", "a * b"),
        ("x < 3", "x <= 3"),
        ("x in y", "x not in y"),
        ("a and b", "a or b"),
        ("not a", "a"),
        ("-a", "a"),
        ("True", "False"),
        ("0", "1"),
        ("0.5", "1.0"),
        ("folder / 'name'", None),
        ("'text'", None),
        ("f(a)", None),
    ],
)
def test_mutations_by_hand(code, expected):
    found = mutants.changed(ast.parse(code, mode="eval").body)
    assert (ast.unparse(found) if found else None) == expected


def test_every_mutant_of_a_module_is_other_code_in_the_same_place():
    path = mutants.ROOT / "fairlab" / "losses" / "ccd.py"
    source = path.read_bytes()
    found = mutants.mutants_of(path)
    assert len(found) > 20
    for one in found:
        assert source[one.start : one.end].decode() == one.old
        mutated = source[: one.start] + one.new.encode() + source[one.end :]
        assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))


def test_a_module_has_the_file_of_its_name_first_and_those_that_import_it():
    assert mutants.tests_of("fairlab/losses/ccd.py")[:2] == ["tests/losses/test_ccd.py", "tests/methods/test_ccd.py"]


def test_a_module_that_its_package_finds_by_name_has_the_tests_of_its_package():
    assert "tests/judge/test_formats.py" in mutants.tests_of("fairlab/judge/formats/helm.py")


def test_a_package_that_no_test_names_has_no_tests():
    assert mutants.tests_of("fairlab/rewriting/morphs/__init__.py") == []


@pytest.mark.slow
def test_a_fork_tells_failed_tests_from_passed_ones_and_from_those_that_do_not_end(tmp_path):
    (tmp_path / "test_right.py").write_text("def test():\n    pass\n")
    (tmp_path / "test_wrong.py").write_text("def test():\n    assert False\n")
    (tmp_path / "test_endless.py").write_text("def test():\n    while True:\n        pass\n")
    passed, outcome = mutants.run_tests(tmp_path, ["test_right.py"], 60, [])
    assert (passed, outcome.failed) == (True, [])
    passed, outcome = mutants.run_tests(tmp_path, ["test_right.py", "test_wrong.py"], 60, [])
    assert (passed, outcome.failed) == (False, ["test_wrong.py::test"])
    assert mutants.run_tests(tmp_path, ["test_endless.py"], 5, []) == (False, None)
