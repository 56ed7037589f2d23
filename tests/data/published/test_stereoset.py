"""The reader of StereoSet in its three layouts, on published files and on broken ones; irregular examples."""

import json
from collections import Counter

import pytest

from fairlab.data.published.download import locate
from fairlab.data.published.stereoset import LABELS, PUBLISHED, StereoSetItem, irregular_items, read_stereoset
from fairlab.types import FairlabError


def official(id_, context, *sentences, target="cook", domain="profession"):
    """An example in the official layout, its candidates in another order than they are scored in."""
    candidates = [{"sentence": text, "gold_label": label} for text, label in zip(sentences, LABELS, strict=True)]
    return {"id": id_, "target": target, "bias_type": domain, "context": context, "sentences": candidates[::-1]}


def write(tmp_path, content):
    path = tmp_path / "stereoset.json"
    path.write_text(json.dumps(content))
    return path


WITHIN = official("a", "The cook is BLANK.", "The cook is fat.", "The cook is thin.", "The cook is door.")
AFTER = official("b", "He is a cook.", "He is fat.", "He is thin.", "Doors open.")
READ = [
    StereoSetItem(
        "a",
        "intrasentence",
        "profession",
        "cook",
        "The cook is BLANK.",
        ("The cook is fat.", "The cook is thin.", "The cook is door."),
    ),
    StereoSetItem(
        "b", "intersentence", "profession", "cook", "He is a cook.", ("He is fat.", "He is thin.", "Doors open.")
    ),
]


@pytest.mark.data
def test_the_published_development_set(data_folder):
    examples = read_stereoset(locate("stereoset/stereoset.json"))
    assert len({example.id for example in examples}) == 4229
    for task, counts in PUBLISHED.items():
        assert Counter(example.domain for example in examples if example.task == task) == counts
    assert sum(PUBLISHED["intrasentence"].values()) == 2106
    assert sum(PUBLISHED["intersentence"].values()) == 2123
    assert len({example.target for example in examples}) == 79
    by_id = {example.id: example for example in examples}
    for name in ("race", "religion"):  # pieces of the same set in the official layout
        piece = read_stereoset(data_folder / "stereoset" / f"{name}_test.json")
        assert len(piece) == PUBLISHED["intrasentence"][name]
        assert all(by_id[example.id] == example for example in piece)
    reasons = Counter(reason.split(",")[0] for reason in irregular_items(examples).values())
    assert reasons == {
        "its context starts with BLANK": 19,
        "BLANK is attached to other characters": 4,
        "its context has 2 BLANKs": 2,
    }


def test_the_three_layouts_read_alike(tmp_path):
    flat = {
        label: [
            {"id": "b", "context": "He is a cook.", "sentence": READ[1].sentences[k], "label": k},
            {"id": "a", "context": "The cook is BLANK.", "sentence": READ[0].sentences[k], "label": k},
        ][:: 1 if k else -1]
        for k, label in enumerate(LABELS)
    }
    for rows in flat.values():
        for row in rows:
            row |= {"target": "cook", "bias_type": "profession"}
    split = {"version": "1.0", "data": {"intersentence": [AFTER], "intrasentence": [WITHIN]}}
    for content in (split, [WITHIN, AFTER], flat):
        assert read_stereoset(write(tmp_path, content)) == READ


def test_the_word_that_is_scored():
    def words(context, *sentences):
        return StereoSetItem("a", "intrasentence", "race", "x", context, sentences).words

    assert words("It is BLANK.", "It is red.", "It is well-off!", "It is o'er.") == ("red", "welloff", "oer")
    assert words("a  BLANK b", "a  c b", "a  d b", "a  e b") == ("c", "d", "e")  # words are parted by single blanks
    assert words("BLANK or BLANK", "a or b", "c or d", "e or") == ("b", "d", "")
    assert words("a.BLANK", "a.b", "a.c", "a.d") == ("ab", "ac", "ad")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text", "has an unknown layout"),
        ({"stereotype": [], "anti-stereotype": []}, "has an unknown layout"),
        ([], "holds no example"),
        ({"data": {}}, "holds no example"),
        ([WITHIN | {"sentences": WITHIN["sentences"][1:]}], "example a lacks 'unrelated'"),
        ([{"id": "a"}], "example a lacks 'sentences'"),
        (["a"], "example a lacks"),
        ([WITHIN | {"target": 3}], "example a holds 3 instead of a text"),
        ([WITHIN | {"bias_type": "age"}], "example a has the unknown bias_type 'age'"),
        ([WITHIN | {"context": "The new cook there is BLANK."}], "example a has no BLANK, or a candidate has no word"),
        ({"data": {"intrasentence": [AFTER]}}, "example b has no BLANK"),
        (
            {
                label: [{"id": "a", "context": context, "sentence": "s", "bias_type": "race", "target": "t"}]
                for label, context in zip(LABELS, ["x", "x", "y"], strict=True)
            },
            "example a does not have the same context",
        ),
    ],
)
def test_broken_files_are_named(tmp_path, content, message):
    with pytest.raises(FairlabError, match=rf"stereoset\.json.* {message}"):
        read_stereoset(write(tmp_path, content))


def test_a_file_that_is_not_json(tmp_path):
    (tmp_path / "x.json").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(FairlabError, match=r"x\.json is not JSON"):
        read_stereoset(tmp_path / "x.json")


def test_irregular_examples():
    def example(id_, context, *sentences, task="intrasentence"):
        return StereoSetItem(id_, task, "race", "x", context, sentences)

    examples = [
        example("regular", 'He said "the cook is BLANK!"', *(f'he said "the cook is {w}!"' for w in "abc")),
        example("two", "BLANK and BLANK", "a and a", "b and b", "c and c"),
        example("letters", "He BLANKed.", "He barked.", "He ran.", "He ate."),
        example("hyphen", "He is BLANK.", "He is well-off.", "He is poor.", "He is dog."),
        example("start", "BLANK runs.", "A runs.", "B runs.", "C runs."),
        example("equal", "He is BLANK.", "He is a.", "He is A.", "He is b."),
        example("after", "He is a cook.", "A.", "B.", "C.", task="intersentence"),
        example("again", "he is a cook.", "a.", "B.", "C.", task="intersentence"),
    ]
    found = irregular_items(examples)
    assert list(found) == ["two", "letters", "hyphen", "start", "equal", "again"]
    assert "2 BLANKs" in found["two"]
    assert "'barked', is not the inserted one" in found["letters"]
    assert "'welloff'" in found["hyphen"]
    assert found["again"] == "it repeats example after"
