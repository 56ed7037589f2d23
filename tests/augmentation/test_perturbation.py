"""Perturbation augmentation: draws, rewriting, what is turned down."""

from collections import Counter

import pytest

from fairlab.augmentation.perturbation import (
    CHOICE,
    HALF,
    IN_DOUBT,
    NO_WORD,
    UNCHANGED,
    Choosing,
    Perturbation,
    drawn_selection,
    text_sha256,
)
from fairlab.llm.exchange import ExchangeOutcome
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten
from fairlab.rewriting.word_rewriters import Selection
from fairlab.types import Row

AXES = ["gender", "race", "age"]


class Says:
    """A rewriter that gives prepared texts."""

    provenance = {"rewriter": "says"}  # noqa: RUF012

    def __init__(self, *texts):
        self.texts = texts

    def rewrite_words(self, texts, selections):
        return list(self.texts)


def perturbation(sampling="uniform", **more):
    return Perturbation(axes=AXES, sampling=sampling, **{"mode": "lexical"} | more)


def row(text, number=1, parts=(), **extra):
    return Row(str(number), text, extra, f"line {number}", number, parts=parts)


def test_a_draw_follows_the_weights_and_its_key_alone():
    pair = [Selection(0, "he", "gender", "man", "woman"), Selection(3, "boy", "age", "child", "senior")]
    counts = Counter(drawn_selection(pair, [3.0, 1.0], f"7:{k}").axis for k in range(4000))
    assert counts["gender"] == pytest.approx(3000, abs=110)  # four standard deviations
    assert drawn_selection(pair, [3.0, 1.0], "7:1") == drawn_selection(pair, [6.0, 2.0], "7:1")


def test_uniform_weights_are_one_and_inverse_ones_are_by_the_words_of_the_axis():
    texts = ["He saw her.", "She left.", "An Asian boy ran.", "It rained."]
    assert perturbation().weights(texts) == {"gender": 1.0, "race": 1.0, "age": 1.0}
    # He, her, She, boy; Asian; boy.
    assert perturbation("inverse_frequency").weights(texts) == {"gender": 1 / 4, "race": 1.0, "age": 1.0}
    assert perturbation("inverse_frequency").weights(texts[:2])["age"] == 1.0


def test_a_draw_is_that_of_the_seed_and_the_number():
    texts, weights = ["He saw her and the king."] * 8, dict.fromkeys(AXES, 1.0)
    (found,) = perturbation().words.selections(texts[:1])
    for seed, given in ((0, {}), (3, {"seed": 3})):
        drawn = [drawn_selection(found, [1.0] * len(found), f"{seed}:{number}") for number in range(8)]
        assert perturbation(**given).choose(texts, range(8), weights) == drawn
    assert text_sha256("") == "e3b0c44298fc1c14"


@pytest.mark.slow
def test_choices_depend_on_seed_and_number_not_on_company():
    texts = [f"He saw her and the {word}." for word in ("king", "queen", "boy", "girl")]
    numbers = range(1, 5)
    weights = dict.fromkeys(AXES, 1.0)
    chosen = perturbation().choose(texts, numbers, weights)
    alone = [perturbation().choose([text], [k], weights)[0] for text, k in zip(texts, numbers, strict=True)]
    assert chosen == alone
    others = [perturbation(seed=seed).choose(texts, numbers, weights) for seed in range(1, 5)]
    assert any(other != chosen for other in others)


def test_a_text_without_a_word_stays_and_the_size_is_kept():
    rows = [row("It rained.", 1, label="x"), row("He left.", 2, label="y")]
    chooser = Choosing(perturbation(), dict.fromkeys(AXES, 1.0))
    none, one = chooser.make(rows)
    assert (none.rows, none.counts) == ((), {NO_WORD: 1})
    (choice,) = one.rows
    assert choice["number"] == 2
    selection = {key: value for key, value in choice.items() if key not in ("number", "sha256")}
    rows[1].extra[CHOICE] = selection
    made = perturbation().make(rows)
    assert made[0].rows == ({"id": "1", "text": "It rained.", "label": "x", "perturbed": False},)
    (changed,) = made[1].rows
    assert changed["text"] in ("She left.", "They left.")
    assert (changed["label"], changed["perturbed"], changed["source_text"]) == ("y", True, "He left.")
    assert made[1].counts["perturbed"] == made[1].counts["perturbed/gender"] == 1
    assert made[1].counts["before/gender/man"] == made[1].counts["chosen/gender"] == 1
    assert set(made[1].counts.values()) == {1}
    (same,) = perturbation(rewriter=Says("He left.")).make(rows[1:])
    assert (same.counts, same.rows[0]["perturbed"]) == ({"chosen/gender": 1, UNCHANGED: 1}, False)
    assert made[0].counts == {NO_WORD: 1}


def test_a_pronoun_that_may_be_somebody_else_s_leaves_the_pair_as_it_was():
    pair = row("A man sees a man. <SEP> He rests.", parts=("premise", "hypothesis"))
    (stays,) = Choosing(perturbation(mode="syntax"), dict.fromkeys(AXES, 1.0)).make([pair])
    assert (stays.rows, stays.counts) == ((), {IN_DOUBT: 1})


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_a_person_changes_in_every_field_and_fields_come_back(mode):
    fields = ["A man is slicing bread. ", "A man eats his bread."]
    choice = Selection(2, "man", "gender", "man", "woman")
    (made,) = perturbation(mode=mode).rewrite([fields], [choice])
    assert made.fields == ["A woman is slicing bread. ", "A woman eats her bread."]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("She left. She is gone.", "field separators changed"),
        ("She left. <SEP> ", "the rewriter left a field empty"),
        ("He left. <SEP> He is gone.", "the rewriter made no change"),
        (NotRewritten(ExchangeOutcome.REFUSED, "no"), "rewriter: refused"),
        ("White trash. <SEP> He is gone.", ""),
    ],
)
def test_what_is_not_taken_leaves_the_example_as_it_was(said, fault):
    fields = ["He left.", "He is gone."]
    (made,) = perturbation(rewriter=Says(said)).rewrite([fields], [Selection(0, "He", "gender", "man", "woman")])
    assert made.fault[0] == fault
    assert (made.fields == fields) == bool(fault)


def test_only_a_field_that_had_text_counts_as_left_empty():
    choice = Selection(0, "He", "gender", "man", "woman")
    (made,) = perturbation(rewriter=Says("She left. <SEP> ")).rewrite([["He left.", ""]], [choice])
    assert (made.fields, made.fault[0]) == (["She left.", ""], "")
    (outcome,) = perturbation(rewriter=Says("")).make([row("He left.", **{CHOICE: vars(choice)})])
    assert (outcome.reason, outcome.rows[0]["text"]) == ("the rewriter left a field empty", "He left.")


def test_a_slur_made_of_another_group_is_turned_down_and_counted():
    choice = Selection(4, "white", "race", "white", "black")
    rewriter = Says("The black trash left.")
    (made,) = perturbation(rewriter=rewriter).rewrite([["The white trash left."]], [choice])
    assert made.fault[0] == "harmful phrase"
    (outcome,) = perturbation(rewriter=rewriter).make([row("The white trash left.", **{CHOICE: vars(choice)})])
    assert outcome.reason == "harmful phrase"
    assert outcome.versions == {"black": "The black trash left."}
    assert outcome.counts == {"chosen/race": 1}
    assert (outcome.rows[0]["text"], outcome.rows[0]["perturbed"]) == ("The white trash left.", False)


@pytest.mark.parametrize(
    ("second", "made", "fault"),
    [
        ("Two women climb.", "Two women climb.", HALF),  # the label of the pair may be wrong
        ("Two women climb.", "Two men climb.", ""),
        ("A dog barks.", "A dog barks.", ""),  # mentions no person
        ("An old dog barks.", "An old dog barks.", ""),  # another axis
    ],
)
def test_whole_examples_are_changed_in_all_fields_with_a_person_or_stay(second, made, fault):
    before, after = ["Two men climb.", second], ["Two women climb.", made]
    choice = Selection(4, "men", "gender", "man", "woman")
    for whole in (True, False):
        given = {"rewriter": Says(" <SEP> ".join(after)), **({"whole_examples": True} if whole else {})}
        (found,) = perturbation(**given).rewrite([before], [choice])
        assert found.fault[0] == (fault if whole else "")
        assert found.fields == (before if whole and fault else after)
