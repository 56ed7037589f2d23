"""What a run of the safety ensemble left for its pages is read only in its layout."""

import json

import pytest

from fairlab.reporting.safety_files import LARGEST, OVERVIEW, read_largest_gaps, read_overview
from fairlab.types import FairlabError

HARM = {
    "features": ["a", "b"],
    "averages": {"religion": {"subgroups": ["x"], "rows": ["a", "b", "debiased"], "values": [[0.1], [None], [0.2]]}},
    "reliability": {"predicted": [0.1, 0.9], "observed": [0.0, 1.0]},
    "gaps": {"features": [0.1, None], "before": 0.2, "after": None},
    "contributions": {"before": [], "after": [0.5, 0.5]},
}
TEXT = {"key": 3, "text": "", "truth": 1, "before": 0.1, "after": 0.2, "gap": -0.1}


def written(folder, name, content):
    (folder / name).write_text(json.dumps(content))
    return folder


def test_what_a_run_left_is_read_and_nothing_is_an_empty_dict(tmp_path):
    assert (read_overview(tmp_path), read_largest_gaps(tmp_path)) == ({}, {})
    assert read_overview(written(tmp_path, OVERVIEW, {"hate": HARM})) == {"hate": HARM}
    content = {"hate": {"religion:x": [TEXT]}}
    assert read_largest_gaps(written(tmp_path, LARGEST, content)) == content


@pytest.mark.parametrize("key", HARM)
@pytest.mark.parametrize("value", [5, None, "x", [5], {"a": 5}, {"before": ["x"], "after": []}])
def test_a_part_of_another_type_is_one_sentence_that_names_it(tmp_path, key, value):
    with pytest.raises(FairlabError, match=rf"overview\.json: .*{key}") as caught:
        read_overview(written(tmp_path, OVERVIEW, {"hate": HARM | {key: value}}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"features": ["a"]},
        {"contributions": {"before": [0.5], "after": []}},
        {"gaps": HARM["gaps"] | {"features": []}},
        {"reliability": {"predicted": [0.1], "observed": []}},
        {"averages": {"religion": {"subgroups": ["x"], "rows": ["a"], "values": [[0.1, 0.2]]}}},
        {"averages": {"religion": {"subgroups": ["x"], "rows": ["a"], "values": []}}},
    ],
)
def test_lists_of_different_lengths_are_one_sentence(tmp_path, change):
    with pytest.raises(FairlabError, match="hate has lists of different lengths"):
        read_overview(written(tmp_path, OVERVIEW, {"hate": HARM | change}))


@pytest.mark.parametrize("key", [name for name in TEXT if name != "key"])
def test_a_text_of_another_form_is_one_sentence_that_names_it(tmp_path, key):
    with pytest.raises(FairlabError, match=rf"largest_gaps\.json: .*{key}"):
        read_largest_gaps(written(tmp_path, LARGEST, {"hate": {"religion:x": [TEXT | {key: []}]}}))
