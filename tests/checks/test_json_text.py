import pytest

from fairlab.checks.json_text import from_json


def nested(depth):
    return "[" * depth + "]" * depth


def test_values_are_those_of_the_standard_library():
    assert from_json('{"a": [1, 2.5, null, "x"]}') == {"a": [1, 2.5, None, "x"]}
    assert from_json("[" + ", ".join(["[1]"] * 300) + "]") == [[1]] * 300  # many, none deep


def test_the_deepest_nesting_that_is_taken():
    value = from_json(nested(100))
    for _ in range(99):
        (value,) = value
    assert value == []
    with pytest.raises(ValueError, match="nested too deeply"):
        from_json(nested(101))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested too deeply"),
        ("9" * 5000, "an integer has too many digits"),
        ("{", "Expecting property name"),
    ],
)
def test_what_cannot_be_read_says_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        from_json(text)


def test_a_repeated_key_among_many_is_found_at_once():
    keys = ", ".join(f'"{k}": 0' for k in range(200_000))
    with pytest.raises(ValueError, match="the key '199999' occurs more than once"):
        from_json(f'{{{keys}, "199999": 1}}')  # comparing every key with every other would take minutes
