"""BBQ: targets, the authors' numbers on their published predictions, and both ways of answering."""

import json

import numpy as np
import pytest

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.backbones.writers import Written
from fairlab.benchmarks.bbq import BBQ, bbq_quantities
from fairlab.data.published.bbq import CATEGORIES, BBQItem, find_target, read_bbq
from fairlab.data.published.download import locate
from fairlab.types import CannotScore, DataUnavailable, FairlabError

PEOPLE = ["The Jewish man", "Not known", "The Hindu man"]


def row(number, condition="ambig", polarity="neg", label=1, **more):
    info = {"ans0": ["Jewish", "Jewish"], "ans1": ["Not known", "unknown"], "ans2": ["Hindu", "Hindu"]}
    return {
        "example_id": number,
        "question_index": str(number // 4),
        "question_polarity": polarity,
        "context_condition": condition,
        "answer_info": info,
        "additional_metadata": {"stereotyped_groups": ["Jewish"]},
        "context": f"Context {number}.",
        "question": "Who?",
        **{f"ans{k}": text for k, text in enumerate(PEOPLE)},
        "label": label,
    } | more


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Religion alone: four templates of four items, ambiguous and not, negative and not."""
    kinds = [("ambig", "neg", 1), ("disambig", "neg", 2), ("ambig", "nonneg", 1), ("disambig", "nonneg", 0)]
    rows = [row(number, *kinds[number % 4]) for number in range(16)]
    (tmp_path / "bbq").mkdir()
    (tmp_path / "bbq" / "Religion.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    return tmp_path / "bbq" / "Religion.jsonl"


class Prefers:
    """Chooser that gives texts their planted likelihood."""

    cut = max_length = 0

    def __init__(self, **values):
        self.values = values

    def continuation_log_likelihoods(self, pairs, *, progress=""):
        sums = np.array([self.values.get(option.split()[-1], 0.0) for _, option in pairs])
        return LogLikelihoods(sums, np.ones(len(sums), dtype=int))


def chooser(**values):
    return ModelObject("m", scorer=Prefers(**values))


def measured(model, **settings):
    found = BBQ(categories=["religion"], **settings).measure(model)
    return {one.key.split("/", 1)[1]: one.value for one in found.readings}, found


def test_a_model_of_stereotypes_has_a_bias_of_one_or_none(published):
    jewish = np.array([0, 0, 2, 2] * 4)  # the target where the question is negative, the other person elsewhere
    jewish[[4, 5]] = -1  # two replies that name no option
    items, _ = read_bbq(published, "religion")
    quantities = list(bbq_quantities({"religion": items}, {"religion": jewish[:, None]}, chat=True))
    biases = [("all", "bias_ambiguous"), ("all", "bias_disambiguated")]
    assert [(one.subset, one.name) for one in quantities if one.headline] == biases
    assert {one.name: one.value for one in quantities} == {
        "bias_ambiguous": 1.0,
        "bias_disambiguated": 1.0,
        "accuracy_ambiguous": 0.0,
        "accuracy_disambiguated": 0.0,
        "unparsable": 12.5,
    }


@pytest.mark.parametrize(("count", "shown"), [(39, False), (40, True)])
def test_small_groups_are_not_shown_on_their_own(count, shown):
    facts = {"template": "1", "ambiguous": False, "negative": True, "context": "", "question": ""}
    facts |= {"answers": ("a", "b", "c"), "label": 0, "unknown": 1, "target": 2}
    items = [BBQItem(id=str(k), category="age", group="The Old", **facts) for k in range(count)]
    found = list(bbq_quantities({"age": items}, {"age": np.full((count, 4), 2.0)}, chat=False))
    names = ["bias_disambiguated", "accuracy_disambiguated"]
    subsets = ["all", "age", *["age_the_old"] * shown]
    assert [(one.subset, one.name) for one in found] == [(subset, name) for subset in subsets for name in names]
    assert [one.subset for one in found if one.headline] == ["all"]
    assert {one.n for one in found} == {count}


@pytest.mark.usefixtures("published")
def test_likelihoods_choose():
    named, _ = measured(chooser(known=1.0))
    assert (named["all/bias_ambiguous"], named["all/accuracy_ambiguous"]) == (0.0, 100.0)
    assert named["all/accuracy_disambiguated"] == 0.0
    one_person, _ = measured(chooser(man=1.0))  # ties of both people: the first, whatever is asked
    assert one_person["all/bias_disambiguated"] == 0.0
    assert one_person["all/accuracy_disambiguated"] == 50.0


@pytest.mark.usefixtures("published")
def test_any_wording_of_unknown_counts_if_asked():
    model = chooser(Undetermined=1.0)
    assert measured(model)[0]["all/accuracy_ambiguous"] == 0.0
    values, found = measured(model, unknown="any")
    assert values["all/accuracy_ambiguous"] == 100.0
    assert found.readings[0].benchmark == "bbq@any"


class Writes:
    def __init__(self, reply):
        self.reply = reply

    def write(self, prompts, sampling, *, done=None, progress=""):
        return [Written(self.reply) for _ in prompts]


@pytest.mark.usefixtures("published")
def test_a_letter_alone_is_no_bias_since_options_rotate():
    model = ModelObject("m")
    model.writer = Writes("A")
    values, found = measured(model, answer="chat", limit=6)
    assert values["all/unparsable"] == 0.0
    assert found.items["religion"].shape == (12, 4)
    answers = found.items["religion"][:, 0].astype(int)
    assert np.bincount(answers, minlength=3).tolist() == [4, 4, 4]
    model.writer = Writes("I cannot say.")
    with pytest.raises(CannotScore, match="no reply names an option"):
        measured(model, answer="chat")


@pytest.mark.usefixtures("published")
def test_missing_categories_are_counted_and_others_measured():
    found = BBQ(categories=["religion", "ses"]).measure(chooser(known=1.0))
    assert [(one.subset, "FAIRLAB_DATA" in one.reason) for one in found.not_run] == [("ses", True)]
    assert any("ses missing" in note.text for note in found.notes)
    with pytest.raises(DataUnavailable, match=r"bbq/SES\.jsonl was not found"):
        BBQ(categories=["ses"]).measure(chooser())


@pytest.mark.usefixtures("published")
def test_a_system_prompt_precedes_the_question_and_chat_needs_texts():
    asked = []

    class Seeing(Prefers):
        def continuation_log_likelihoods(self, pairs, *, progress=""):
            asked.extend(context for context, _ in pairs)
            return super().continuation_log_likelihoods(pairs)

    for system, start in ((None, "Context 0."), ("Be fair.", "Be fair.\n\nContext 0.")):
        asked.clear()
        _, found = measured(ModelObject("m", scorer=Seeing(known=1.0)), system=system)
        assert asked[0] == f"{start}\n\nQ: Who?\nA:"
        assert found.readings[0].benchmark == ("bbq@system" if system else "bbq")
    assert (BBQ().description.needs, BBQ("chat").description.needs) == (("token_log_probabilities",), ("texts",))


def test_items_without_a_target_are_left_out_and_bad_lines_named(published):
    both = row(16, additional_metadata={"stereotyped_groups": ["Jewish", "Hindu"]})
    published.write_text(published.read_text() + "\n" + json.dumps(both))
    items, left_out = read_bbq(published, "religion")
    assert (len(items), left_out) == (16, 1)
    published.write_text(published.read_text() + '\n{"example_id": 3}')
    with pytest.raises(FairlabError, match=r"Religion\.jsonl.* is not an item of BBQ"):
        read_bbq(published, "religion")
    published.write_text(json.dumps(both))
    assert read_bbq(published, "religion") == ([], 1)
    published.write_text("")
    with pytest.raises(FairlabError, match="contains no item"):
        read_bbq(published, "religion")


@pytest.mark.parametrize("more", [{"condition": "x"}, {"polarity": "x"}, {"label": -1}, {"label": 3}])
def test_an_item_of_other_values_is_refused(published, more):
    published.write_text(json.dumps(row(1, **more)))
    with pytest.raises(FairlabError, match="is not an item of BBQ"):
        read_bbq(published, "religion")


def test_an_item_is_read_whole(published):
    """Words of an answer come before its group; "woman" stands for the stereotyped group F."""
    info = {"ans0": ["lady", "x", "woman"], "ans1": ["he", "x", "man"], "ans2": ["Not known", "x", "unknown"]}
    groups = {"stereotyped_groups": ["F"]}
    published.write_text(
        json.dumps(row(5, "disambig", "nonneg", 0, answer_info=info, additional_metadata=groups, ans0="The lady"))
    )
    (item,), _ = read_bbq(published, "gender_identity")
    assert item == BBQItem(
        *("gender_identity 5", "gender_identity", "gender_identity 1", False, False, "Context 5.", "Who?"),
        *(("The lady", *PEOPLE[1:]), 0, 2, 0, "woman"),
    )
    assert item.biased == 1


@pytest.mark.parametrize(
    ("first", "second", "stereotyped", "place"),
    [
        (["the 24-year-old", "nonOld"], ["the 70-year-old", "old"], ["old"], 1),
        (["Donna", "F-Black"], ["Jim", "M-White"], ["Black", "African American"], 0),
        (["Donna", "F-Black"], ["Ann", "F-White"], ["F-Black"], 0),
        (["Donna", "x", "F-Black"], ["Jim", "x", "M-White"], ["White"], 1),
        (["the lawyer", "highSES"], ["the janitor", "lowSES"], ["low SES"], 1),
        (["woman", "woman"], ["man", "man"], ["F"], 0),
        (["gay", "gay"], ["lesbian", "lesbian"], ["lesbian", "gay"], None),
        ([], ["Jim", "M-White"], ["M-White"], 1),
    ],
)
def test_a_target_is_found_by_its_groups(first, second, stereotyped, place):
    assert find_target([first, second, ["Unknown", "unknown"]], stereotyped, 2) == place


@pytest.mark.data
def test_every_item_at_hand_has_a_target():
    sizes = {"age": 3680, "disability_status": 1556, "nationality": 3080, "physical_appearance": 1576}
    for name, size in (sizes | {"religion": 1200, "sexual_orientation": 864}).items():
        items, left_out = read_bbq(locate(f"bbq/{CATEGORIES[name]}.jsonl"), name)
        assert (len(items), left_out) == (size, 0)


@pytest.mark.data
@pytest.mark.parametrize(
    ("category", "values"),
    [("religion", (65.0, 88.0, 0.143, 0.002)), ("sexual_orientation", (68.75, 93.98, 0.058, -0.007))],
)
def test_numbers_of_published_predictions_are_the_authors(category, values):
    path = locate(f"bbq/unifiedqa_predictions/preds_{CATEGORIES[category]}.jsonl")
    items, _ = read_bbq(path, category)
    said = [json.loads(line)["unifiedqa-t5-11b_pred_race"] for line in path.read_text().splitlines()]
    plain = [[text.casefold().strip(" .") for text in item.answers] for item in items]
    answers = np.array([some.index(text.casefold().strip(" .")) for some, text in zip(plain, said, strict=True)])
    found = {
        one.name: one.value
        for one in bbq_quantities({category: items}, {category: answers[:, None]}, chat=False)
        if one.subset == category
    }
    names = ("accuracy_ambiguous", "accuracy_disambiguated", "bias_ambiguous", "bias_disambiguated")
    assert [found[name] for name in names] == pytest.approx(values, abs=6e-4 if values[0] < 1 else 6e-3)
