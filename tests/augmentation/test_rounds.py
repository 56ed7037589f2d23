"""Rounds that an output holds are read only in their layout."""

from functools import partial

import pytest

from fairlab.augmentation.rounds import read_corrected_round, read_rewritten_round, write_round
from fairlab.types import FairlabError

SEARCHED = {
    "round": 1,
    "examples": [{"text": "A man left.", "man": "A man left.", "woman": ""}],
    "prompt_sha256": "0",
    "texts": 3,
    "rewritten": 2,
    "right": 1,
    "chosen": None,
    "corrector": "rules",
    "correction": None,
}
TRIED = {"text": None, "before": 0.5, "after": None, "reason": "", "turned_down": [["a", "b"]]}
REWRITTEN = {"round": 1, "objective_before": 2.0, "objective": 1.0, "tried": {"0": TRIED, "2": TRIED}}


def test_a_round_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "round-01.json"
    write_round(file, SEARCHED)
    assert read_corrected_round(file) == SEARCHED
    write_round(file, REWRITTEN | {"gain": None, "gain_before": 3.0})
    assert read_rewritten_round(file, 3) == REWRITTEN | {"gain": None, "gain_before": 3.0}


@pytest.mark.parametrize("place", ["3", "-1", "x", "1.5", "²", "9" * 5000])
def test_a_document_that_does_not_exist_is_one_sentence(tmp_path, place):
    write_round(tmp_path / "round-01.json", REWRITTEN | {"tried": {place: TRIED}})
    with pytest.raises(FairlabError, match=r"is not the number of one of the 3 documents"):
        read_rewritten_round(tmp_path / "round-01.json", 3)


@pytest.mark.parametrize("key", [*SEARCHED, *REWRITTEN])
def test_a_value_of_another_type_and_one_left_out_is_one_sentence_that_names_it(tmp_path, key):
    rewritten = partial(read_rewritten_round, documents=3)
    whole, read = (SEARCHED, read_corrected_round) if key in SEARCHED else (REWRITTEN, rewritten)
    number = isinstance(whole[key], int | float)
    left_out = {name: one for name, one in whole.items() if name != key}
    for content in (whole | {key: "x" if number else 5}, whole | {key: [5]}, left_out):
        write_round(tmp_path / "round-01.json", content)
        with pytest.raises(FairlabError, match=rf"round-01\.json: .*{key}") as caught:
            read(tmp_path / "round-01.json")
        assert "\n" not in str(caught.value)
