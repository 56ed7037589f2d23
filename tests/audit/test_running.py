"""Audits of classifiers of every kind, and everything that may be wrong with their input."""

import json
import re
from zlib import crc32

import numpy as np
import pandas
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

import fairlab
from fairlab.audit.data import LabelledRows, read_source
from fairlab.audit.measuring import _guessing
from fairlab.types import FairlabError

THINGS = ("song", "poem", "letter", "report", "plan")
ROWS = [
    {"text": f"{who} sent a big {THINGS[k % 5]} on day {k}.", "label": k % 2, "sex": sex, "region": "ns"[k // 2 % 2]}
    for k in range(40)
    for who, sex in (("He", "m"), ("She", "f"))
]


def of_words(*words):
    """A function that gives a probability of 0.9 to texts with one of the words, and 0.2 to others."""
    return lambda texts: [0.9 if {*text.split()} & {*words} else 0.2 for text in texts]


def audit(model, data=ROWS, **more):
    return fairlab.audit(model, data, **{"mode": "lexical", **more})


@pytest.fixture(scope="module")
def biased():
    return audit(of_words("He"), group="sex")


def test_a_biased_function_is_found(biased):
    flips = biased.items()
    turned = flips[flips["id"].str.endswith(("man to woman", "woman to man"))]
    assert (turned["changed"] == 1).all()
    assert biased["audit/gender/control_flips"] == 0
    assert biased.sentence.startswith("No, people are not treated alike: ")
    assert biased["audit/sex/false_positive_rate_gap"] == 100
    assert biased["audit/gender_man_to_woman/shift"] == pytest.approx(-70)
    assert {"subset", "quantity", "value", "low", "high"} <= set(biased.to_pandas())


def test_classes_of_a_dataset_have_their_names(tmp_path):
    kinds = {"text": Value("string"), "label": ClassLabel(names=["good", "bad"]), "age": Value("int64")}
    saved = Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1], "age": [1, 0, 1]}, Features(kinds))
    saved.save_to_disk(tmp_path / "saved")
    for data in (saved, str(tmp_path / "saved")):
        _, rows = read_source(data, "text")
        assert [(row.extra["label"], row.extra["age"]) for row in rows] == [("bad", 1), ("good", 0), (None, 1)]


def test_a_group_called_none_is_refused():
    with pytest.raises(FairlabError, match=r"row 1: the cell of 'faith' holds 'None'; write another name if this is"):
        audit(of_words("He"), [row | {"faith": "None"} for row in ROWS], group="faith")


def test_a_column_of_groups_that_is_not_used_is_named(biased):
    (said,) = [note.text for note in audit(of_words("He")).record.notes if "group=sex" in note.text]
    assert "the column 'sex'" in said
    assert not any("group=sex" in note.text for note in biased.record.notes)


@pytest.mark.slow
def test_a_control_that_moves_one_way_is_no_shift_of_people():
    """Synonyms of the word that decides are unknown to this function; nobody's gender moves it."""
    people = ["He", "My uncle", "The boy", "She"]
    rows = [
        {"text": f"{people[k % 4]} said the film was {['great', 'bad'][k // 4 % 2]} ({k}).", "label": k // 4 % 2}
        for k in range(200)
    ]
    found = audit(of_words("great"), rows)
    assert found["audit/gender/score_change"] == 0
    assert abs(found["audit/gender_man_to_woman/shift"]) > 2  # what the controls move
    assert not found.sentence.startswith("No, ")


def test_its_report_begins_with_the_answer(biased, tmp_path):
    page = biased.report(tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "people are not treated alike" in page
    assert page.index("people are not treated alike") < page.index("Measured without training")


def test_items_hold_the_three_texts(biased):
    row = biased.items().iloc[0]
    assert row["text 1"] != row["text 2"] != row["text 3"]
    assert row["changed"] == 1


def test_a_fair_function_is_not_found():
    found = audit(of_words("song", "poem"), group="sex")
    assert found["audit/gender/flips"] == 0
    assert "No, people" not in found.sentence


def test_a_function_that_says_the_same_of_everybody_is_not_fair(tmp_path):
    found = audit(lambda texts: [0.2] * len(texts), margin=2)
    assert found.sentence == (
        "Cannot tell: the model predicts the same for every row, so no prediction can change and no gap can occur."
    )
    assert "These numbers say nothing about bias." in found.report(tmp_path / "a.html").read_text(encoding="utf-8")


def test_a_function_with_its_labels_in_another_order_is_not_called_fair():
    right = lambda texts: [0.9 if int(re.search(r"\d+", text)[0]) % 2 else 0.2 for text in texts]  # noqa: E731
    rows = [{**row, "label": ["yes", "no"][row["label"]]} for row in ROWS]  # 1 is the word that comes first
    found = audit(right, rows)
    said = "But the model was not shown to be better than guessing (0.0 % of 80 predictions are right), and guesses"
    assert said in found.sentence
    assert "(not shown to be better than guessing)" in str(found)


@pytest.mark.parametrize(
    ("kind", "shape", "said"),
    [
        ("one", (20,), "50.0 % of 20 predictions are right"),
        ("several", (20, 1), "50.0 % of 20 predictions are right"),
        ("several", (10, 2), "50.0 % of 20 predictions are right"),
        ("score", (20,), "its 20 scores do not correlate with those of the data"),
    ],
)
def test_only_a_model_that_may_be_guessing_gets_a_note(kind, shape, said):
    truth = np.array([0.0, 1.0, 1.0, 0.0] * 5).reshape(shape)
    data = LabelledRows(["t"] * 20, [["t"]] * 20, truth, ("0", "1"), kind, {})
    assert _guessing(truth, data) == []
    (note,) = _guessing(np.array([0.0, 0.0, 1.0, 1.0] * 5).reshape(shape), data)
    assert f"not shown to be better than guessing ({said}), and guesses" in note.text


def test_the_same_score_for_every_text_is_not_fair():
    rows = [row | {"label": float(k)} for k, row in enumerate(ROWS)]
    for score in (lambda texts: [3.0] * len(texts), lambda texts: [3 + 1e-9 * len(text) for text in texts]):
        assert audit(score, rows, labels=[]).sentence.startswith(
            "Cannot tell: the model predicts the same for every row"
        )


def test_an_unstable_function_is_not_biased():
    found = audit(lambda texts: [crc32(text.encode()) % 97 / 97 for text in texts])
    assert found["audit/gender/flips"] > 20
    assert found["audit/gender/control_flips"] > 20
    assert "changing gender changes more" not in found.sentence


@pytest.mark.slow
def test_equality_needs_a_margin():
    of_number = lambda texts: [0.1 + 0.8 * (int(re.search(r"\d+", text)[0]) % 2) for text in texts]  # noqa: E731
    rows = [{"text": f"{who} sang {k}.", "label": k % 2} for k in range(150) for who in ("He", "She")]
    assert audit(of_number, rows, margin=0.1).sentence.startswith("No difference was found")
    assert audit(of_number, rows, margin=14).sentence.startswith("Yes, within the margin")


@pytest.mark.slow
def test_a_pipeline_of_three_labels():
    rows = [one | {"label": "abc"[k % 3]} for k, one in enumerate(ROWS * 2)]
    texts, labels = [one["text"] for one in rows], [one["label"] for one in rows]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)
    found = audit(model, rows, group=["sex", "region"])
    subsets = set(found.to_pandas()["subset"])
    assert {"sex", "sex_a", "sex_a_f", "sex*region", "gender_label_a"} <= subsets


@pytest.mark.slow
def test_several_labels_in_columns():
    rows = [one | {"toxic": k % 2, "insult": k // 2 % 2} for k, one in enumerate(ROWS)]
    model = lambda texts: np.array([[0.9 * ("He" in text), 0.3] for text in texts])  # noqa: E731
    found = audit(model, rows, label=["toxic", "insult"])
    assert found["audit/gender/flips"] > 50
    assert "people_gender_toxic" in set(found.to_pandas()["subset"])


def test_a_regression_is_audited_by_its_scores():
    rows = [one | {"score": 1.0 + k % 3} for k, one in enumerate(ROWS)]
    model = make_pipeline(CountVectorizer(), Ridge()).fit([one["text"] for one in rows], [one["score"] for one in rows])
    found = audit(model, rows, label="score", group="sex")
    assert found["audit/gender/excess_mean_change"] == pytest.approx(
        found["audit/gender/mean_change"] - found["audit/gender/control_mean_change"]
    )
    assert abs(found["audit/sex/mean_error_gap"]) < 2
    assert 0 < found["audit/gender/detectable_mean_change"] < 2


def as_scores(texts):
    return [3.5 * text.startswith("He ") + len(text) for text in texts]


def test_a_function_of_scores_says_so_by_empty_labels():
    rows = [one | {"score": k / 7} for k, one in enumerate(ROWS * 2)]
    found = audit(as_scores, rows, label="score", labels=[], group="sex")
    assert found["audit/gender_man_to_woman/score_shift"] == pytest.approx(-3.5 + 1, abs=1.5)
    with pytest.raises(FairlabError, match=r"has 160 values; give a column of labels, or labels=\[\] for scores"):
        audit(as_scores, rows, label="score")


@pytest.mark.slow
def test_spellings_of_a_label_are_one_label():
    rows = [one | {"label": ("Yes", "no", "yes", "No")[k % 4]} for k, one in enumerate(ROWS)]
    plain = audit(of_words("He"), [one | {"label": ("yes", "no")[k % 2]} for k, one in enumerate(ROWS)])
    assert audit(of_words("He"), rows)["audit/all/model_accuracy"] == plain["audit/all/model_accuracy"]


@pytest.mark.parametrize("columns", [["sex"], ["sex", "region"]])
def test_rows_without_a_group_are_left_out_of_groups_alone(columns):
    rows = [one | ({"sex": None} if k % 8 == 0 else {}) for k, one in enumerate(ROWS * 2)]
    found = audit(of_words("He"), pandas.DataFrame(rows), group=columns)
    assert any("20 rows have no group" in note.text for note in found.notes)
    assert {reading.n for reading in found.readings if reading.quantity == "model_accuracy"} == {160}
    assert {r.n for r in found.readings if (r.subset, r.quantity) == ("sex", "accuracy_gap")} == {140}


@pytest.mark.slow
def test_data_in_memory_is_read_in_every_form():
    columns = {name: [one[name] for one in ROWS] for name in ROWS[0]}
    expected = audit(of_words("He"))["audit/gender/flips"]
    for data in (columns, pandas.DataFrame(ROWS), Dataset.from_list(ROWS)):
        assert audit(of_words("He"), data)["audit/gender/flips"] == expected


@pytest.mark.slow
def test_cells_of_nested_rows_are_named_by_dots(tmp_path):
    lines = [{"input": {"text": one["text"], "n": 1}, "gold": {"label": one["label"]}} for one in ROWS]
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = audit(of_words("He"), str(path), field="input.text", label="gold.label")
    assert found["audit/gender/flips"] == audit(of_words("He"))["audit/gender/flips"]
    with pytest.raises(FairlabError, match=r"line 1: no text in the field 'input\.words'; it has: input, gold"):
        audit(of_words("He"), str(path), field="input.words", label="gold.label")
    with pytest.raises(FairlabError, match=r"has no column 'gold\.name'; it has: input, gold"):
        audit(of_words("He"), str(path), field="input.text", label="gold.name")


@pytest.mark.slow
def test_copies_of_texts_are_said():
    (said,) = (one.text for one in audit(of_words("song"), ROWS * 2).notes if "repeat the text" in one.text)
    assert said.startswith("80 of 160 rows repeat the text of another row")
    assert not any("repeat the text" in one.text for one in audit(of_words("song")).notes)


def test_pairs_of_texts_and_tables():
    table = pandas.DataFrame([one | {"question": "Who is it?"} for one in ROWS])
    found = audit(lambda pairs: [0.9 * ("He " in first) for first, _ in pairs], table, field=["text", "question"])
    assert found["audit/gender/flips"] > 50


@pytest.mark.slow
def test_two_versions_are_paired():
    found = audit({"old": of_words("He"), "new": of_words("song")}, group="sex")
    (change,) = (one for one in found.comparisons if one.quantity == "excess_flips" and one.subset == "gender")
    assert change.difference < -50
    assert change.p_holm < 0.05
    assert found.sentence.startswith("old: No, people")


def test_audits_of_the_same_rows_are_compared_and_others_refused():
    first = audit(of_words("He"))
    assert fairlab.compare(first, audit(of_words("song"))).to_pandas()["difference"].min() < -50
    others = [one | {"text": one["text"].replace("day", "night")} for one in ROWS]
    with pytest.raises(FairlabError, match=r"different data \(their texts, labels or groups differ\)"):
        fairlab.compare(first, audit(of_words("He"), others))


def test_groups_that_differ_only_in_signs_keep_their_own_numbers():
    rows = [one | {"age": {"m": "<40", "f": ">40"}[one["sex"]]} for one in ROWS]
    found = audit({"old": of_words("He"), "new": of_words("He")}, rows, group="age")
    assert found["new/audit/age__40/false_positive_rate"] == 100
    assert found["new/audit/age__40_2/false_positive_rate"] == 0
    assert {one.difference for one in found.comparisons} == {0}


def failing_on(*texts):
    """A function like ``of_words("He")`` that fails on some texts, however many others it is given with them."""

    def call(some):
        if found := [text for text in some if text in texts]:
            raise ValueError(f"cannot read {found[0]}")
        return of_words("He")(some)

    return call


def test_texts_on_which_a_model_fails_are_left_out_and_counted():
    """The numbers are those of an audit without these rows; above 2 % of the texts, there is no audit."""
    rows = [
        {"text": f"{who} sent a big {THINGS[k % 5]} on day {k}.", "label": k % 2, "sex": sex}
        for k in range(100)
        for who, sex in (("He", "m"), ("The nurse", "f"))
    ]
    alone = "The nurse sent a big song on day 35."  # names no person, so that it has no pair
    whole = audit(of_words("He"), rows, group="sex")
    found = audit(failing_on(alone), rows, group="sex", margin=99)
    rest = audit(of_words("He"), [row for row in rows if row["text"] != alone], group="sex")
    assert found["audit/sex_f/accuracy"] == rest["audit/sex_f/accuracy"] != whole["audit/sex_f/accuracy"]
    assert found.record.reading("audit/gender/flips").n == whole.record.reading("audit/gender/flips").n == 100
    assert found["audit/gender/people"] == pytest.approx(100 * 100 / 199)
    said = f"failed on 1 of {{}} texts ('{alone}': ValueError: cannot read {alone})"
    assert re.search(re.escape(said).replace(r"\{\}", r"\d+"), found.sentence)
    assert "1 of 200 rows and 0 of 100 pairs are left out" in found.sentence
    assert "can change a share by up to 0.5 points" in found.sentence


def test_a_text_on_which_one_model_fails_is_left_out_for_all():
    """A row is the changed text of its partner too, so that a failure on it costs two pairs."""
    found = audit({"one": of_words("He"), "other": failing_on("He sent a big song on day 0.")}, margin=99)
    flips = {(one.phase, one.n) for one in found.record.readings if one.key.endswith("audit/gender/flips")}
    assert flips == {("one", 78), ("other", 78)}
    assert "failed" not in found.answers["one"].sentence
    said = found.answers["other"].sentence
    assert "But the function call failed on 1 of 188 texts ('He sent a big song on day 0.': ValueError: cannot" in said
    assert "); 1 of 80 rows and 2 of 80 pairs are left out (1 by the text, 1 by the changed text, 0 by the" in said
    assert found.record.comparisons


def test_a_sheet_is_written_read_and_counted(tmp_path):
    first = audit(of_words("Dr"), sheet=10)
    first.save(tmp_path / "run")
    sheet = pandas.read_csv(tmp_path / "run" / "rewrites.csv", dtype=str, keep_default_na=False)
    assert len(sheet) == 10
    sheet["right"] = ["no"] * 4 + ["yes"] * 6
    sheet.loc[:2, "corrected"] = "Dr X sent a letter."
    sheet.to_csv(tmp_path / "filled.csv", index=False)
    second = audit(of_words("Dr"), sheet=str(tmp_path / "filled.csv"))
    assert second["audit/gender/rewriter_error"] == 40
    assert first["audit/gender/excess_flips"] == 0
    assert second["audit/gender/excess_flips"] == pytest.approx(30)  # three of ten read, whose right texts change


def bad(index, value):
    """A function that fails, or gives another value, for a text about day 7."""

    def call(texts):
        if value is None and any("day 7." in text for text in texts):
            raise ValueError("too long")
        return [value if "day 7." in text else 0.5 for text in texts]

    return call


ONE_KIND = [one | {"label": 1} for one in ROWS]
WITHOUT = [{"text": f"Stone {k} is grey.", "label": k % 2} for k in range(40)]
FEW = [one | {"sex": "mf"[k < 10]} for k, one in enumerate(ROWS)]
EMPTY = [*ROWS, ROWS[0] | {"label": ""}]


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        (
            of_words("He"),
            {"data": ONE_KIND},
            "labels read from this list in 'label' are '1'; give data with two labels or more, or another limit",
        ),
        (of_words("He"), {"data": FEW, "group": "sex"}, "fewer than two groups of at least 20 rows"),
        (of_words("He"), {"label": "gold"}, "has no column 'gold'; it has: label, sex, region; give label=NAME"),
        (of_words("He"), {"field": "comment"}, "no text in the field 'comment'"),
        (of_words("He"), {"data": EMPTY}, "row 81: the cell of 'label' is empty"),
        (lambda texts: [[0.5, 0.7]] * len(texts), {}, "sum to 1.2, not to 1"),
        (lambda texts: [[-2.0, 3.0]] * len(texts), {}, "logits, not probabilities"),
        (lambda texts: [[30, 70]] * len(texts), {}, "to logits, or divide percentages by 100"),
        (lambda texts: [[0.2, 0.3, 0.5]] * len(texts), {}, "gives 3 outputs per text, and there are 2 labels (0, 1)"),
        (of_words("He"), {"labels": ["good", "bad"]}, "has the label '0', but the model has good, bad"),
        (of_words("He"), {"data": WITHOUT}, "names people whose gender"),
        (
            bad(7, None),
            {},
            "texts, first on the text 'He sent a big letter on day 7.' (ValueError: too long); fix the model",
        ),
        (bad(7, float("nan")), {}, "on day 7.' (it returns no number); fix the model, or remove these texts"),
        (lambda texts: [0.5], {}, "gives 1 outputs for"),
        ("model.pkl", {}, "'model = joblib.load('model.pkl')', and give model=mine:model"),
        ("model.skops", {}, "load it with skops in a Python module of your own and give model=MODULE:NAME"),
        ("no_module:thing", {}, "model=no_module:thing cannot be imported"),
        (3, {}, "a int is not a classifier"),
        (of_words("He"), {"axis": "hair"}, "hair"),
        (of_words("He"), {"sheet": "nowhere.csv"}, "nowhere.csv is not a file"),
        (of_words("He"), {"colour": 1}, "there is no setting 'colour' of an audit"),
        ("http://127.0.0.1:9", {}, "cannot be reached"),
    ],
)
def test_bad_input_ends_in_a_sentence(model, given, words):
    with pytest.raises(FairlabError) as error:
        audit(model, **given)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_all_tests_of_an_audit_are_one_family(biased):
    """Two axes' flips, shifts and gaps: seven tests, whose smallest p-value is multiplied by 7, the next by 6."""
    found = sorted((one for one in biased.record.readings if one.p is not None), key=lambda one: one.p)
    assert len({one.subset for one in found}) == 5  # gender, its three directions, and sex
    assert [one.p_holm / one.p for one in found] == pytest.approx([7, 6, 5, 4, 4, 1, 1])
