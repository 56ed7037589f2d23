import pytest

from fairlab.text.negation import negated


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It wasn't red.", "It was red."),
        ("He can't swim.", "He can swim."),
        ("Does n't it?", "Does it?"),
        ("It is not red.", "It is red."),
        ("It is not only red.", "It is only red."),
        ("It was 1999.", "It was 2000."),
        ("It cost 1.5 or 1,000 or 7.", "It cost 1.5 or 1,000 or 8."),
        ("First came he.", "Last came he."),
        ("More than ten came.", "Less than ten came."),
        ("Rome has hills.", "Rome has not hills."),
        ("Dogs bark.", None),
        ("", None),
    ],
)
def test_the_first_rule_that_applies(sentence, expected):
    assert negated(sentence) == expected
