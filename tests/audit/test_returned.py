"""What functions return: numbers in any container, labels, tables and mappings."""

import numpy as np
import pandas
import pytest
import torch

from fairlab.audit.returned import as_numbers
from fairlab.types import FairlabError

LABELS = ["no", "yes"]
WANTED = [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    "returned",
    [
        WANTED,
        np.array(WANTED),
        torch.tensor(WANTED, requires_grad=True),
        [torch.tensor(one) for one in WANTED],
        (one for one in WANTED),
        {"Yes": [0.1, 0.8], "no": [0.9, 0.2]},
        pandas.DataFrame(WANTED),
        pandas.DataFrame({"yes": [0.1, 0.8], "no": [0.9, 0.2]}),
        [{"Yes": 0.1, "no": 0.9}, {"no": 0.2, "Yes": 0.8}],
        [[{"label": label, "score": row[k]} for k, label in reversed([*enumerate(LABELS)])] for row in WANTED],
    ],
)
def test_every_form_gives_the_same_numbers(returned):
    np.testing.assert_allclose(as_numbers("m", returned, LABELS), WANTED, rtol=1e-6)


def test_a_bfloat16_tensor_gives_numbers():
    assert as_numbers("m", torch.tensor([[0.25, 0.75]], dtype=torch.bfloat16), LABELS).tolist() == [[0.25, 0.75]]


def test_labels_are_certain_and_one_number_a_text_stays_one():
    assert as_numbers("m", ["Yes", "no"], LABELS).tolist() == [[0, 1], [1, 0]]
    assert as_numbers("m", np.array(["no"]), LABELS).tolist() == [[1, 0]]
    assert as_numbers("m", pandas.Series([0.3, 0.4]), LABELS).tolist() == [0.3, 0.4]
    assert as_numbers("m", 0.5, LABELS).tolist() == 0.5


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (["maybe"], "the label 'maybe', but the data has no, yes"),
        ([{"label": "yes", "score": 0.9}], "only the likeliest label"),
        ([{"no": 0.9}], "no probability for 'yes'"),
        ([object()], "returns a list of object; return a row of numbers per text"),
        (None, "returns None; return one row of numbers per text"),
        ([[0.1, 0.2], [0.3]], "return a row of numbers per text"),
    ],
)
def test_other_forms_end_in_a_sentence(returned, words):
    with pytest.raises(FairlabError) as error:
        as_numbers("m", returned, LABELS)
    assert words in str(error.value)
