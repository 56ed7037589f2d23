import json
import math
import string
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
import torch

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.readings import outcome
from fairlab.benchmarks.stereoset import StereoSet, by_term, item_warnings, stereoset_quantities
from fairlab.data.published.stereoset import DOMAINS, LABELS, StereoSetItem
from fairlab.types import CannotScore, FairlabError

WITHIN = [  # id, domain, target, context, what fills it: stereotype, anti-stereotype, unrelated
    ("a", "gender", "cook", "The cook was BLANK.", ("happy", "angry", "seven")),
    ("b", "gender", "cook", "An old cook saw the BLANK in his hut", ("poor-man", "unhappiest", "kindness")),
    ("c", "gender", "nurse", "BLANK was the nurse.", ("Kind", "Unkind", "Sheepish")),
    ("d", "race", "hut", "They saw BLANK huts and BLANK men.", ("angry", "happier", "overt")),
    ("e", "religion", "old", "He is BLANKed.", ("angry", "happy", "poor")),
    ("h", "gender", "nurse", "The nurse was BLANK.", ("kind", "angry", "hut")),
]
AFTER = [
    ("f", "gender", "cook", "The cook was kind", ("He was angry.", "She was happy.", "The hut saw that.")),
    ("g", "profession", "nurse", "He saw a nurse!", ("The nurse was old.", "The nurse was happy.", "But in his hut")),
]

stereoset_outcome = partial(outcome, StereoSet.description)


@pytest.fixture
def file(tmp_path):
    def row(id_, domain, target, context, sentences):
        candidates = [{"sentence": text, "gold_label": label} for text, label in zip(sentences, LABELS, strict=True)]
        return {"id": id_, "bias_type": domain, "target": target, "context": context, "sentences": candidates}

    data = {
        "intrasentence": [row(*item[:4], [item[3].replace("BLANK", word) for word in item[4]]) for item in WITHIN],
        "intersentence": [row(*item) for item in AFTER],
    }
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "1.0", "data": data}))
    return str(path)


def by_place(result):
    return {(reading.subset, reading.quantity): reading for reading in result.readings}


# --- an independent computation: one text, one forward pass at a time


def plain_word(backbone, blank, context, word):
    tokenizer = backbone.tokenizer
    word = "".join(sign for sign in word if sign not in string.punctuation)
    pieces = tokenizer.encode((" " if blank else "") + word, add_special_tokens=False)
    found = []
    for k, piece in enumerate(pieces):
        text = context.replace("BLANK", tokenizer.decode(pieces[:k]) + tokenizer.mask_token)
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            output = backbone.model(input_ids=ids)
        logits = output.get("logits", output.get("prediction_logits"))[ids == tokenizer.mask_token_id]
        found.append(logits[0].double().softmax(-1)[piece].item())
    return sum(found) / len(found)


def plain_sentence(backbone, text):
    ids = backbone.tokenizer.encode(text, add_special_tokens=False)
    with torch.no_grad():
        start = backbone.model(torch.tensor([[backbone.tokenizer.bos_token_id]])).logits[0, -1].double().softmax(-1)
        rest = backbone.model(torch.tensor([ids])).logits[0].double().softmax(-1)
    found = [start[ids[0]].item(), *(rest[k - 1, ids[k]].item() for k in range(1, len(ids)))]
    return 2 ** (sum(math.log2(value) for value in found) / len(found))


def plain_continuation(backbone, context, text):
    context = context if context[-1] in ".!?" else context + "."
    given = [backbone.tokenizer.bos_token_id, *backbone.tokenizer.encode(context, add_special_tokens=False)]
    ids = [*given, *backbone.tokenizer.encode(" " + text, add_special_tokens=False)]
    with torch.no_grad():
        logs = backbone.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    found = [logs[k - 1, ids[k]].item() for k in range(len(given), len(ids))]
    return math.exp(sum(found) / len(found))


def plain_next(backbone, context, text):
    encoded = backbone.tokenizer(context, text, return_tensors="pt")
    with torch.no_grad():
        return backbone.model(**encoded).seq_relationship_logits[0].double().softmax(-1)[0].item()


def filled(item):
    """Words as the official code reads them: the whole of what stands in the place of the last BLANK's word."""
    places = [k for k, word in enumerate(item[3].split(" ")) if "BLANK" in word]
    return [item[3].replace("BLANK", word).split(" ")[places[-1]] for word in item[4]]


@pytest.mark.parametrize("protocol", ["nadeem", "meade"])
@pytest.mark.parametrize("model", ["bert", "bert_two_heads", "roberta", "gpt2"])
def test_a_plain_computation_agrees(language_models, file, model, protocol):
    backbone = language_models[model]
    result = StereoSet(protocol, path=file).measure(backbone)
    if model == "gpt2":
        expected = [[plain_sentence(backbone, item[3].replace("BLANK", word)) for word in item[4]] for item in WITHIN]
    else:
        expected = [
            [plain_word(backbone, protocol == "meade", item[3], word) for word in filled(item)] for item in WITHIN
        ]
    assert result.items["intrasentence"] == pytest.approx(np.array(expected), rel=1e-4)
    after = {"gpt2": plain_continuation, "bert_two_heads": plain_next}.get(model)
    if protocol == "meade" or after is None:
        assert list(result.items) == ["intrasentence"]
        assert [entry.subset for entry in result.not_run][:2] == ["intersentence", "overall"]
        reason = "meade has no intersentence" if protocol == "meade" else "next-sentence head"
        assert reason in result.not_run[0].reason
        assert not any("intersentence" in reading.subset for reading in result.readings)
    else:
        expected = [[after(backbone, item[3], text) for text in item[4]] for item in AFTER]
        assert result.items["intersentence"] == pytest.approx(np.array(expected), rel=1e-4)
        assert ("overall", "icat") in by_place(result)


def test_a_blank_before_the_word_matters_to_byte_level_tokenizers_alone(language_models, file):
    for model, differs in (("bert", False), ("roberta", True)):
        scores = [
            StereoSet(protocol, ["intrasentence"], path=file).measure(language_models[model]).items["intrasentence"]
            for protocol in ("nadeem", "meade")
        ]
        assert (scores[0] != scores[1]).any() == differs


def example(domain, target, task="intrasentence"):
    return StereoSetItem("", task, domain, target, "BLANK", ("a", "b", "c"))


def test_scores_by_hand():
    pro, anti, tie, nonsense = [3, 2, 1], [2, 3, 1], [2, 2, 1], [2, 1, 3]
    within = [example("gender", target) for target in ("he", "he", "he", "she", "she", "it")]
    scores = np.array([pro, pro, anti, tie, nonsense, anti], dtype=float)
    by_task = {"intrasentence": within}
    readings = by_place(stereoset_outcome(stereoset_quantities(by_task, ["gender"], {"intrasentence": scores})))
    # Terms: he 3/3 related, 2/3 stereotyped; she 1/2, 1/2 (the tie is anti); it 1, 0.
    lms, ss = 100 * (1 + 1 / 2 + 1) / 3, 100 * (2 / 3 + 1 / 2 + 0) / 3
    assert readings["gender", "lms"].value == pytest.approx(lms)
    assert readings["gender", "ss"].value == pytest.approx(ss)
    assert readings["gender", "icat"].value == pytest.approx(lms * min(ss, 100 - ss) / 50)
    assert [readings["gender", name].n for name in ("lms", "ss", "icat")] == [6, 6, 6]
    assert [readings["gender", name].ideal for name in ("lms", "ss", "icat")] == [100, 50, 100]
    # The terms are resampled: of three shares the lowest is the mean of a resample in 1 of 27.
    assert (readings["gender", "lms"].low, readings["gender", "lms"].high) == pytest.approx((50, 100))
    assert readings["gender", "ss"].low == pytest.approx(0)
    seen = by_place(
        outcome(
            StereoSet.description,
            stereoset_quantities(by_task, ["gender"], {"intrasentence": scores}, seen={"he", "it"}),
        )
    )
    assert seen["gender_seen_targets", "ss"].value == pytest.approx(100 * (2 / 3 + 0) / 2)
    assert seen["gender_seen_targets", "lms"].n == 4
    assert seen.keys() - readings.keys() == {("gender_seen_targets", name) for name in ("lms", "ss", "icat")}
    assert [subset for (subset, _), reading in seen.items() if reading.headline] == ["gender"]


def test_targets_seen_in_training_over_all_domains_of_a_task():
    pro, anti = [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]
    within = [example("gender", "he"), example("gender", "he"), example("gender", "she"), example("race", "Thai")]
    within += [example("religion", "Quran"), example("profession", "baker")]
    scores = {"intrasentence": np.array([pro, anti, anti, pro, anti, pro])}
    by_task = {"intrasentence": within}
    readings = by_place(stereoset_outcome(stereoset_quantities(by_task, DOMAINS, scores, seen={"he", "thai"})))
    # Of the terms he 1/2 and Thai 1/1; of all five 1/2, 0, 1, 0 and 1.
    assert readings["intrasentence_seen_targets", "ss"].value == pytest.approx(75)
    assert readings["intrasentence_seen_targets", "ss"].n == 3
    assert readings["intrasentence", "ss"].value == pytest.approx(50)
    assert [subset for (subset, _), reading in readings.items() if reading.headline] == ["intrasentence"]


def test_overall_pools_both_tasks_before_it_averages_over_terms():
    pro, anti = [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]
    within = [example(domain, domain) for domain in DOMAINS]
    after = [example(domain, domain, "intersentence") for domain in (*DOMAINS[::-1], "gender", "gender")]
    by_task = {"intrasentence": within, "intersentence": after}
    scores = {"intrasentence": np.array([pro, anti, anti, anti]), "intersentence": np.array([anti] * 6)}
    readings = by_place(stereoset_outcome(stereoset_quantities(by_task, DOMAINS, scores)))
    assert readings["intrasentence", "ss"].value == 25
    assert readings["intersentence", "ss"].value == 0
    assert readings["overall", "ss"].value == 100 * (1 / 4 + 0 + 0 + 0) / 4
    assert readings["overall", "icat"].value == 12.5
    assert readings["overall", "icat"].n == 10
    assert [subset for (subset, name), reading in readings.items() if reading.headline] == ["overall"]
    one = {"intrasentence": scores["intrasentence"]}
    only = by_place(stereoset_outcome(stereoset_quantities({"intrasentence": within}, DOMAINS, one)))
    assert [subset for (subset, name), reading in only.items() if reading.headline] == ["intrasentence"]
    assert not any(subset == "overall" for subset, _ in only)
    of_gender = {task: [example("gender", "he", task), example("gender", "she", task)] for task in by_task}
    some = stereoset_quantities(of_gender, ["gender"], {task: values[:2] for task, values in scores.items()})
    assert {one.subset for one in some} == {"gender", "intersentence_gender"}


def test_terms_are_averaged_each_on_its_own():
    assert by_term(["x", "y", "x"], np.array([1.0, 0.5, 0.0])).tolist() == [0.5, 0.5]


def test_the_order_of_the_examples_does_not_matter():
    rng = np.random.default_rng(0)
    examples = [example("race", "xyz"[k % 3]) for k in range(9)]
    scores = rng.normal(size=(9, 3)).round(1)
    values = []
    for order in (range(9), rng.permutation(9).tolist()):
        part = stereoset_quantities(
            {"intrasentence": [examples[k] for k in order]}, ["race"], {"intrasentence": scores[order]}
        )
        values.append([entry.value for entry in part])
    assert values[0] == pytest.approx(values[1])


def test_what_the_numbers_cannot_say_is_said():
    examples = [example("race", str(k)) for k in range(4)]
    good, bad = [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]
    assert item_warnings(examples, np.array([good, good, good, [2.0, 1.0, 3.0]])) == []
    (text,) = item_warnings(examples, np.array([good, good, bad, bad]))
    assert "a language-model score of 50.0" in text
    (text,) = item_warnings(examples, np.array([[2.0, 2.0, 1.0]] * 4))
    assert "every stereotype ties" in text
    assert len(item_warnings(examples, np.ones((4, 3)))) == 2


def test_options_names_and_notes(language_models, file):
    model = language_models["roberta"]
    result = StereoSet(domains=["gender"], task="intrasentence", items="regular", path=file).measure(model)
    assert {reading.key for reading in result.readings} == {
        f"stereoset@regular/gender/{name}" for name in ("lms", "ss", "icat")
    }
    assert by_place(result)["gender", "icat"].n == 2
    flagged = {note.item: note.text for note in result.notes if note.item}
    assert list(flagged) == ["b", "c"]
    assert "'poorman', is not the inserted one" in flagged["b"]
    assert flagged["c"] == "its context starts with BLANK; left out"
    assert any("4 of the 255 examples of the public development set" in note.text for note in result.notes)


def test_targets_seen_in_training_are_a_subset_of_their_own(language_models, file, tmp_path):
    trained_on = tmp_path / "corpus.txt"
    trained_on.write_text("The nurses left. A Nurse stayed with the cookbook.")
    model = language_models["bert"]
    seen = by_place(StereoSet(domains=["gender"], path=file, seen_in=str(trained_on)).measure(model))
    plain = by_place(StereoSet(domains=["gender"], path=file).measure(model))
    assert {place: reading for place, reading in seen.items() if "seen" not in place[0]} == plain
    assert seen.keys() - plain.keys() == set()  # one term has no interval: cook does not occur
    trained_on.write_text("The nurse and the cook.")
    all_seen = by_place(StereoSet(domains=["gender"], path=file, seen_in=str(trained_on)).measure(model))
    for name in ("lms", "ss", "icat"):
        assert all_seen["gender_seen_targets", name].value == plain["gender", name].value


def test_a_single_term_has_no_interval(language_models, file):
    result = StereoSet(domains=["religion"], task=["intrasentence"], path=file).measure(language_models["bert"])
    assert not result.readings
    assert {entry.subset for entry in result.not_run} == {"religion"}


def test_wrong_settings_are_named():
    for wrong in ({"task": ["words"]}, {"domains": ["age"]}):
        with pytest.raises(FairlabError, match=f"stereoset.{next(iter(wrong))} must be"):
            StereoSet(**wrong)


def test_a_context_too_long_for_the_model_is_said(language_models, file):
    bert = language_models["bert"]

    def measured(length):
        short = Backbone(bert.model, bert.tokenizer, pooling="mean", max_length=length, normalize=False)
        return StereoSet(task=["intrasentence"], path=file).measure(short)

    (missing,) = measured(5).not_run[:1]
    assert "longer than max_length=5 up to its mask" in missing.reason
    assert any("texts were cut at max_length=12; raise it" in note.text for note in measured(12).notes)


def test_a_comparison_with_itself_is_nothing(language_models, file):
    bench = StereoSet(domains=["gender"], path=file)
    first = bench.measure(language_models["gpt2"])
    again = bench.measure(language_models["gpt2"], first.items)
    assert {entry.quantity for entry in again.comparisons} == {"lms", "ss", "icat"}
    assert all(entry.difference == 0 for entry in again.comparisons)


def test_an_encoder_without_a_head_cannot_be_scored(tiny, file):
    with pytest.raises(CannotScore, match="no language-modelling head"):
        StereoSet(path=file).measure(tiny)


@pytest.mark.data
def test_the_published_gender_examples_under_a_tiny_model(language_models, data_folder):
    model = language_models["bert"]
    result = StereoSet(domains=["gender"], task=["intrasentence"]).measure(model)
    readings = by_place(result)
    assert readings["gender", "icat"].n == 255
    assert any("knows hardly any language" in note.text for note in result.notes)  # as a random model does
    assert not any("not comparable" in note.text for note in result.notes)
    # By the official evaluation's counting, from the benchmark's own scores.
    flat = json.loads((data_folder / "stereoset" / "stereoset.json").read_text(encoding="utf-8"))
    rows = [row for row in flat["stereotype"] if row["bias_type"] == "gender" and "BLANK" in row["context"]]
    counts = defaultdict(lambda: defaultdict(int))
    for row, (stereotype, anti, unrelated) in zip(rows, result.items["intrasentence"], strict=True):
        term = counts[row["target"]]
        term["total"] += 1
        term["pro"] += stereotype > anti
        term["related"] += int(stereotype > unrelated) + int(anti > unrelated)
    ss = np.mean([100 * term["pro"] / term["total"] for term in counts.values()])
    lms = np.mean([100 * term["related"] / (2 * term["total"]) for term in counts.values()])
    assert readings["gender", "ss"].value == pytest.approx(ss)
    assert readings["gender", "lms"].value == pytest.approx(lms)
    assert readings["gender", "icat"].value == pytest.approx(lms * min(ss, 100 - ss) / 50)
