"""When training stops early: by hand."""

import math

from fairlab.run.early_stopping import EarlyStopping


def test_validations_are_counted_since_the_lowest():
    stopping = EarlyStopping(patience=2)
    values = (math.nan, 0.5, 0.5, 0.4, 0.6, 0.7, 0.3)
    assert [(stopping.improves(value), stopping.is_due) for value in values] == [
        (False, False),
        (True, False),
        (False, False),
        (True, False),
        (False, False),
        (False, True),
        (True, False),
    ]
    assert stopping.lowest == 0.3


def test_nothing_stops_before_a_validation_or_without_patience():
    assert not EarlyStopping(1).is_due
    endless = EarlyStopping(None)
    assert not any(endless.improves(math.inf) or endless.is_due for _ in range(9))
