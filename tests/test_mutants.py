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
