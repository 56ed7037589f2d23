"""Tables in the documentation are those the committed records give."""

import math

import numpy as np
import pytest
import yaml

from experiments import tables
from experiments.biasers import tables as biasers
from experiments.ccd import composed, picture
from experiments.razor import study
from experiments.razor import tables as razor_tables
from experiments.rendering import matrix_table
from experiments.shared.power import detectable_mean
from fairlab.files import read_record
from fairlab.metrics.significance import holm
from fairlab.record import Reading, Record


@pytest.mark.parametrize("page", tables.PAGES)
def test_a_page_shows_what_its_records_hold(page):
    assert tables.filled(page) == (tables.ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", picture.PICTURES)
def test_a_picture_of_the_ccd_page_is_made_of_its_records(name):
    assert (picture.FOLDER / name).read_text(encoding="utf-8") == picture.picture(name)
    points = [one for panel in picture.PICTURES[name]() for one in panel.points]
    assert {one.then for one in points} <= set(picture.COLOURS)
    assert {"mpnet"} < {one.encoder for one in points}


def test_committed_records_name_no_path_of_a_machine():
    records = list((tables.ROOT / "experiments").glob("*/records/**/record.json*"))
    assert len(records) >= 10
    for record in records:
        text = read_record(record)
        assert "/home/" not in text
        assert "/tmp/" not in text
        assert "=/" not in text
        assert "-dirty" not in text


def test_committed_records_are_of_finished_runs():
    records = (tables.ROOT / "experiments").glob("*/records/**/record.json*")
    assert not [file.parent for file in records if Record.load(file.parent).status != "finished"]


def test_a_table_of_a_matrix_has_the_seeds_that_were_run_and_the_columns_that_some_run_measures(tmp_path):
    runs = {"one": {"quickstart": []}, "other": {"quickstart": []}, "large": {"quickstart": "no room for it"}}
    columns = ["rte/dev/accuracy", "qqp/dev/accuracy"]
    rows = {name: {"runs": dict(zip(columns, (name, "large"), strict=True))} for name in ("one", "other")}
    table = {"title": "tasks", "columns": columns, "rows": rows}
    content = {"published": "ccd", "seeds": [1, 2], "options": {}, "runs": runs, "tables": {"tasks": table}}
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(content))
    assert "one: not run: seed 1, 2 of one" in matrix_table(tmp_path, "tasks")
    folder = tmp_path / "records" / "one" / "seed_2"
    folder.mkdir(parents=True)
    reading = Reading("rte", "dev", "accuracy", 60.0, "%", 100.0, 10, 50.0, 70.0, phase="after")
    Record(folder, {}, "", status="finished", readings=[reading]).save()
    made = matrix_table(tmp_path, "tasks")
    assert [cell.strip() for cell in made.splitlines()[2].split("|")[1:-1]] == [
        "RTE accuracy, development set",
        "60 [50, 70]",
        "not run",
    ]
    assert "other: not run: seed 2 of other" in made
    assert "qqp" not in made
    assert "one: not run: seed 1 of one" in matrix_table(tmp_path, "tasks", all_seeds=True)


def test_the_ccd_page_quotes_means_over_seeds_and_how_far_another_processor_moves_one():
    page = (tables.ROOT / "docs" / "ccd.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| Bias-IR distance from an even choice")]
    records = tables.ROOT / "experiments" / "ccd" / "records"
    values = [
        Record.load(records / name).metrics()["after/bias_ir/average/deviation"]
        for name in ("seed_42", "seed_43", "seed_44", "seed_42_elsewhere")
    ]
    assert f"| {sum(values[:3]) / 3:.3f} ({min(values[:3]):.3f} to {max(values[:3]):.3f}) |" in row
    assert f"| {values[0]:.3f}, {values[3]:.3f} |" in row
    assert abs(values[0] - values[3]) > 0.02


# Ranges of what the pages say of combinations: the gap, SEAT's average, the deviation and STS-B, by encoder.
SAID = {
    ("minilm_mlm", "original", "ccd_linear"): ((-0.90, -0.89), (-0.41, -0.39), (0.10, 0.112), (-0.35, -0.30)),
    ("mpnet", "original", "ccd_linear"): ((-0.84, -0.82), (0.09, 0.12), (0.09, 0.11), (-0.58, -0.54)),
    ("minilm_mlm", "ccd_aligned", "ccd_linear_drift_32"): (
        (-0.99, -0.98),
        (-0.27, -0.23),
        (0.10, 0.11),
        (-0.15, -0.05),
    ),
    ("mpnet", "ccd_aligned", "ccd_linear_drift_32"): ((-0.99, -0.98), (-0.13, -0.09), (0.09, 0.10), (-0.15, -0.05)),
}
COMBINED = {(encoder, method, then): runs for encoder, method, then, runs in composed.combinations()}


@pytest.mark.parametrize("combination", SAID, ids=" ".join)
def test_what_the_pages_say_of_a_combination(combination):
    runs = COMBINED[combination]
    assert len(runs) == 3
    values = []
    for key in (composed.GAP, composed.SEAT):
        before, after = composed.change(runs, key)
        values.append(after / before - 1)
    values.append(composed.change(runs, composed.DEVIATION)[1])
    before, after = composed.change(runs, composed.STS)
    for value, (low, high) in zip([*values, after - before], SAID[combination], strict=True):
        assert low < value < high
    assert composed.even(*runs) > 0.05


@pytest.mark.parametrize("encoder", ["minilm_mlm", "mpnet"])
def test_aligned_ccd_and_a_map_reach_three_aims_and_show_no_evenness(encoder):
    found = composed.reached(COMBINED[encoder, "ccd_aligned", "ccd_linear_drift_32"])
    assert found == "3 of 5: not SEAT; documents not shown to be even"


def test_in_one_seed_a_search_still_prefers_womens_documents():
    runs = COMBINED["minilm_mlm", "ccd_aligned", "ccd_linear_drift_32"]
    assert [composed.men_first(run)[0] for run in runs if composed.even(run) < 0.05] == [47]


def test_what_the_pages_say_of_names_and_terms():
    for run in COMBINED["minilm_mlm", "ccd_aligned", "ccd_linear_drift_32"]:
        for test in ("7", "8"):
            assert run[f"after/seat/{test}/effect_size"].value < 0.85 * run[f"before/seat/{test}/effect_size"].value
        for test in ("7b", "8b"):
            assert run[f"after/seat/{test}/effect_size"].value > run[f"before/seat/{test}/effect_size"].value
    for run in COMBINED["mpnet", "ccd_aligned", "ccd_linear_drift_32"]:
        assert run["after/seat/7/effect_size"].value < run["before/seat/7/effect_size"].value < 0


def test_what_the_page_says_of_the_direction():
    turned = {
        key: [run["after/cced/winogender/direction_cosine"].value for run in runs] for key, runs in COMBINED.items()
    }
    kept = {
        key: [run["after/cced/winogender/direction_length_kept"].value for run in runs]
        for key, runs in COMBINED.items()
    }
    assert min(turned["minilm_mlm", "ccd", "none"]) > 0.9 > max(turned["minilm_mlm", "ccd_aligned", "none"])
    assert abs(turned["minilm_mlm", "original", "sentence_debias"][0]) < 0.3
    assert max(kept["minilm_mlm", "ccd_aligned", "none"]) < 0.05 < min(kept["minilm_mlm", "ccd", "none"])


def test_a_whole_run_gives_the_readings_of_kept_embeddings():
    whole = composed.readings(composed.FOLDER.parent / "whole" / "minilm_mlm_42")
    folder = composed.FOLDER / "minilm_mlm" / "ccd_aligned" / "ccd_linear_drift_32" / "seed_42"
    kept = composed.readings(folder)
    shared = whole.keys() & kept.keys()
    assert len(shared) == 72
    # Records keep six significant digits.
    assert all(whole[key].value == pytest.approx(kept[key].value, rel=2e-5, abs=1e-6) for key in shared)


def test_how_many_sentences_and_groups_the_page_says():
    record = Record.load(composed.FOLDER.parent / "sizes")
    page = (tables.ROOT / "experiments" / "ccd" / "README.md").read_text(encoding="utf-8")
    assert "25,030 rows written of 28,520 read" in {note.text for note in record.notes}
    assert "28,520 real sentences" in page
    assert "groups from 25,030 of these" in page


def test_what_the_page_says_of_fine_tuned_encoders():
    from experiments.ccd.tables import RECORDS, readings

    accuracy = {
        (task, encoder): readings(f"finetuning/{task}_{encoder}/seed_42")[f"after/{task}/dev/accuracy"]
        for task in ("sst2", "mrpc", "mnli", "rte")
        for encoder in ("original", "ccd", "dpce")
    }
    for task in ("sst2", "mrpc", "mnli", "rte"):
        original = accuracy[task, "original"]
        majority = readings(f"finetuning/{task}_original/seed_42")[f"after/{task}/dev/majority"]
        assert original.low > majority.value  # learned
        assert abs(accuracy[task, "ccd"].value - original.value) < 2
    assert 6 < accuracy["rte", "original"].value - accuracy["rte", "dpce"].value < 7.5
    assert 2.5 < accuracy["mrpc", "original"].value - accuracy["mrpc", "dpce"].value < 3.5
    assert 6 < accuracy["mrpc", "original"].high - accuracy["mrpc", "original"].low < 9
    assert 11 < accuracy["rte", "original"].high - accuracy["rte", "original"].low < 13
    assert sorted(run.name for run in (RECORDS / "finetuning").glob("*_adept")) == []


def test_what_the_page_says_of_baselines_by_fixed_formulas_and_for_longer():

    found = {method: runs for encoder, method, then, runs in composed.combinations() if encoder == "minilm_mlm"}
    change = {
        (method, key): now / before - 1
        for method in ("dpce_3_epochs", "dpce_fixed")
        for key in (composed.GAP, composed.SEAT)
        for before, now in [composed.change(found[method], key)]
    }
    assert change["dpce_3_epochs", composed.GAP] > 0.05
    assert 0.2 < change["dpce_3_epochs", composed.SEAT] < 0.3
    assert -0.37 < change["dpce_fixed", composed.SEAT] < -0.32
    assert -0.14 < change["dpce_fixed", composed.GAP] < -0.06
    before, now = composed.change(found["dpce_fixed"], composed.STS)
    assert -0.1 < now - before < 0
    assert composed.astray(found["dpce_fixed"]) == ["7b", "8b"]


def test_what_the_page_says_of_dropout_and_of_dpce_on_groups():
    groups, dropout = (COMBINED["minilm_mlm", method, "none"] for method in ("dpce_groups", "dropout"))
    changes = {}
    for name, runs in (("groups", groups), ("dropout", dropout)):
        assert len(runs) == 1
        for key in (composed.GAP, composed.SEAT):
            before, now = composed.change(runs, key)
            changes[name, key] = round(now / before - 1, 2)
    assert changes["groups", composed.GAP] == -0.05
    assert changes["groups", composed.SEAT] == -0.32
    assert composed.astray(groups) == []
    assert composed.even(*groups) > 0.05
    before, now = composed.change(groups, composed.STS)
    assert round(now - before, 1) == -0.8
    assert changes["dropout", composed.GAP] == -0.38
    assert changes["dropout", composed.SEAT] == 0.07


def test_what_the_page_says_of_ccd_on_what_dpce_left():
    minilm, mpnet = (COMBINED[encoder, "dpce_fixed_ccd_aligned", "none"] for encoder in ("minilm_mlm", "mpnet"))
    for runs, seeds, seat in ((minilm, 3, -0.36), (mpnet, 2, -0.28)):
        assert len(runs) == seeds
        before, now = composed.change(runs, composed.SEAT)
        assert round(now / before - 1, 2) == seat
        before, now = composed.change(runs, composed.GAP)
        assert -0.99 < now / before - 1 < -0.975
    assert composed.astray(minilm) == ["7b", "8b"]
    assert composed.astray(mpnet) == ["7", "7b"]
    assert [composed.men_first(run)[0] for run in minilm] == [34, 34, 34]
    before, now = composed.change(mpnet, composed.STS)
    assert round(now - before, 1) == -0.7
    for run in minilm:
        assert round(run["before/seat/6/effect_size"].value, 2) == 1.32
        assert round(run["after/seat/6/effect_size"].value, 1) == 0.2
    for runs in (minilm, mpnet):
        assert not composed.reached(runs).startswith(("4", "5"))


def test_what_the_page_says_of_how_it_was_chosen():
    from experiments.ccd.tables import tried

    trials = [one for one in tried("encoder_trials.jsonl.gz") if one.get("methods") == ["DPCE, fixed", "CCD"]]
    alone = [one for one in trials if not one["then"] and "701 further pairs of names" not in one["more"]]
    assert sorted(one["lowest_effect"] for one in alone if one["encoder"] == "minilm_mlm") == [-0.68, -0.55]
    assert [one["lowest_effect"] for one in alone if one["encoder"] == "mpnet"] == [-0.17]
    (names,) = [one for one in trials if not one["then"] and "701 further pairs of names" in one["more"]]
    assert (round(names["association"], 2), names["effects"]["garage_salon_names"]) == (0.62, 1.59)


def test_how_many_of_dpces_sentences_hold_a_word_of_seat():
    from fairlab.data.text import SENTENCE_END, read
    from fairlab.data.word_lists import NEUTRAL_KIND, find_words, lexicon_words

    lines = (
        line
        for _, _, paragraphs in read("embedded/people")
        for _, paragraph in paragraphs
        for line in SENTENCE_END.split(paragraph)
    )
    words = [one.word for one in find_words(lines, lexicon_words("gender"), "drop") if one.kind == NEUTRAL_KIND]
    of_seat = {"executive", "career", "algebra", "geometry", "calculus", "poetry", "literature"}
    of_seat |= {"science", "technology", "physics", "chemistry", "astronomy"}
    assert (len(words), sum(word in of_seat for word in words)) == (660, 12)


def test_what_the_page_says_of_the_third_encoder_and_of_ccd_in_mpnet():
    found = {(encoder, method): runs for encoder, method, then, runs in composed.combinations() if then == "none"}
    for method, fall in {"ccd": 0.42, "ccd_aligned": 0.77}.items():
        runs = found["distilbert_from_int8", method]
        before, now = composed.change(runs, composed.GAP)
        assert round(1 - now / before, 2) == fall
        assert composed.men_first(runs[0])[0] > 117 / 2
        assert composed.even(*runs) < 0.05
        assert round(composed.change(runs, composed.STS)[0], 1) == 36.6
    assert composed.even(*found["mpnet", "ccd"]) > 0.05


def test_what_the_page_says_of_more_groups():
    runs = [
        composed.readings(composed.FOLDER / "minilm_mlm" / f"ccd_rules_{n}/none/seed_42") for n in (400, 5000, 16000)
    ]
    lost = [run[f"before/{composed.STS}"].value - run[f"after/{composed.STS}"].value for run in runs]
    assert lost == sorted(lost)
    assert round(lost[-1], 1) == 1.2
    first = [composed.men_first(run)[0] for run in runs]
    assert max(first) == first[-1] < 117 / 2
    assert composed.even(runs[-1]) < 0.05


GAIN = "after/razor/claim_only/gain"
V02, V01 = list(study.TEST_SETS)[:2]
KEYS = (study.IN_DOMAIN, *study.TEST_SETS)
FAST = study.RUNS.with_name("claims_fast")


def mean(run, key):
    values = study.accuracies(run, key)
    return sum(values.values()) / len(values)


def test_what_the_razor_page_says_of_balanced_and_of_rules():
    gained = {key: list(study.changes("claims_razor_rules", key).values()) for key in (V02, V01, study.IN_DOMAIN)}
    assert min(gained[V02] + gained[V01]) > 0
    assert [round(sum(gained[key]) / 5, 1) for key in (V02, V01, study.IN_DOMAIN)] == [1.5, 1.4, -0.9]
    for run, task in (("claims_balanced", -1.6), ("claims_repeated", -1.8)):
        assert round(sum(study.changes(run, study.IN_DOMAIN).values()) / 5, 1) == task
        spread = list(study.changes(run, V02).values())
        assert min(spread) > -2.5
        assert 4 < max(spread) < 4.5
    assert max(study.changes("claims_z_filtered", list(study.TEST_SETS)[3]).values()) < 0


def test_p_values_of_the_razor_study_by_holms_method_and_with_examples_resampled():
    five = [run for run in study.methods() if run not in study.REFERENCES.values() and len(gains(run, V02)) == 5]
    assert len(five) == 10
    tests = [(run, key) for run in five for key in (V02, V01)]
    adjusted = dict(zip(tests, holm([study.p_over_seeds(gains(*one)) for one in tests]), strict=True))
    left = {one: round(p, 2) for one, p in adjusted.items() if p < 0.5}
    assert left == {
        ("claims_razor_rules", V02): 0.23,
        ("claims_razor_rules", V01): 0.03,
        ("claims_razor_chance", V02): 0.09,
        ("claims_razor_chance", V01): 0.03,
    }
    found = {one.key: one for one in Record.load(study.FOLDER / "records" / "paired").comparisons}
    resampled = [found[key.replace("after", "claims_razor_rules", 1)].p for key in (V02, V01)]
    assert [round(p, 2) for p in resampled] == [0.11, 0.08]


def gains(run, key):
    return list(study.changes(run, key).values())


def test_rewriting_puts_the_shortcut_into_other_words():
    rows = razor_tables.read_sheet("ngrams")
    found = {
        (row["data"], row["ngram"]): (int(row["share"]), int(row["occurrences"]))
        for row in rows
        if row["label"] == "REFUTES"
    }
    assert [found[data, "no"][1] for data in ("original", "rewritten")] == [322, 138]
    assert ("rewritten", "never") not in found
    for data in ("rewritten", "at_random"):
        assert found[data, "hardly"][0] >= 78
        assert found[data, "hardly any"][0] > 80
        assert ("original", "hardly") not in found
    assert [found["repeated", word][0] for word in ("never", "no")] == [77, 59]
    assert abs(found["symmetric_kept", "never"][0] - found["original", "never"][0]) <= 1


def test_rounds_that_should_end_by_the_probe_go_over_all_claims():
    history = Record.load(study.FOLDER / "records" / "until_gain").history
    assert (len(history) - 1, sum(row.get("rewritten", 0) for row in history)) == (31, 2977)
    assert [round(f(row["gain"] for row in history), 1) for f in (min, max)] == [11.8, 13.3]


def test_what_a_language_model_does_to_the_exchanges_of_symmetric():
    found = {}
    for name in ("symmetric_sheet", "symmetric_checked_sheet"):
        rows = razor_tables.read_sheet(name)
        refuted = [row["label_is"] for row in rows if row["label"] == "REFUTES"]
        natural = sum(row["natural"] == "yes" for row in rows)
        found[name] = (len(rows), natural, refuted.count("unproven"), len(refuted))
    assert found == {"symmetric_sheet": (100, 52, 26, 59), "symmetric_checked_sheet": (100, 76, 28, 65)}
    gain = Record.load(study.FOLDER / "records" / "probes_checked").metrics()[
        "symmetric_checked/shortcuts/claim_only/gain"
    ]
    assert round(gain, 1) == 8.2
    checked = {key: gains("claims_symmetric_checked", key) for key in (V02, V01)}
    assert [round(float(np.mean(some)), 1) for some in checked.values()] == [-1.5, -1.5]
    assert [round(study.p_over_seeds(some), 2) for some in checked.values()] == [0.12, 0.01]
    assert round(detectable_mean(float(np.std(checked[V02], ddof=1)), 3), 1) == 3.1


def test_no_setting_of_the_razor_study_reaches_the_goal():
    probed = {}
    for folder in razor_tables.PROBES:
        probed |= Record.load(study.FOLDER / "records" / folder).metrics()
    for run in study.methods().keys() - set(study.REFERENCES.values()):
        name = run.removeprefix("claims_").replace("_again", "")
        probe = probed.get(f"{name}/shortcuts/claim_only/gain", probed["original/shortcuts/claim_only/gain"])
        gained, lost = np.mean(gains(run, V02)), np.mean(gains(run, study.IN_DOMAIN) or 0)
        assert not (gained >= 2.5 and lost >= -1.5 and abs(probe) <= 2), run
    for run, (low, high) in {"claims_balanced": (3, 4), "claims_repeated": (3, 4.1)}.items():
        assert low < detectable_mean(float(np.std(gains(run, V02), ddof=1)), 5) < high
    assert round(np.mean(gains("claims_crossaug", V02))) == -3
    assert round(np.mean(gains("claims_crossaug", study.IN_DOMAIN))) == -4


def test_a_base_size_encoder_reads_better_and_gains_nothing_by_balancing():
    reached = [mean("claims_mpnet_original", key) for key in (study.IN_DOMAIN, V02)]
    small = [mean(study.REFERENCE, key) for key in (study.IN_DOMAIN, V02)]
    assert [round(one, 1) for one in reached] == [87.9, 81.5]
    assert [round(one) for one in small] == [76, 67]
    assert round(reached[1] - small[1]) == 15
    task, symmetric = gains("claims_mpnet_repeated", study.IN_DOMAIN), gains("claims_mpnet_repeated", V02)
    assert len(task) == 3
    assert round(float(np.mean(symmetric)), 1) == -0.7
    assert [round(detectable_mean(float(np.std(some, ddof=1)), 3), 1) for some in (task, symmetric)] == [2.1, 3.6]
    found = Record.load(study.FOLDER / "records" / "without_evidence_mpnet").readings
    assert [round(one.value) for one in found if one.subset == "no_evidence"] == [57, 52]


def losses_of(run, runs):
    """Training losses of a run's seeds."""
    return [
        [row["train/loss"] for row in one.history if "train/loss" in row] for one in study.runs_of(run, runs).values()
    ]


def mean_loss(record, low, high):
    """Mean of the training losses that a record keeps of the steps from ``low`` to ``high``."""
    return np.mean([row["train/loss"] for row in record.history if "train/loss" in row and low <= row["step"] <= high])


def test_aflite_and_poe_did_not_train_at_the_rate_of_the_others_and_do_at_a_third_of_it():
    losses = losses_of("claims_aflite", FAST)
    runs = study.runs_of("claims_aflite", FAST).values()
    assert all(mean_loss(run, 151, 250) > 0.95 * mean_loss(run, 1, 50) for run in runs)
    assert sum(np.mean(one[-50:]) > 0.9 * np.mean(one[:50]) for one in losses) == 2
    assert sorted(round(one) for one in study.accuracies("claims_aflite", study.IN_DOMAIN, FAST).values())[:2] == [
        58,
        63,
    ]
    assert min(study.accuracies("claims_crossaug", study.IN_DOMAIN).values()) > 69
    assert study.accuracies("claims_poe", study.IN_DOMAIN, FAST)[42] < 60
    assert min(study.accuracies("claims_aflite", study.IN_DOMAIN).values()) > 70
    assert min(study.accuracies("claims_poe", study.IN_DOMAIN).values()) > 73
    uncertain = math.log(2)  # of a classifier that knows nothing; the product's loss is the claim-only one's at first
    (three,), (one, *_) = losses_of("claims_poe", FAST), losses_of("claims_poe", study.RUNS)
    assert np.mean(three[:50]) == pytest.approx(0.78, abs=0.01)
    assert np.mean(one[:50]) == pytest.approx(0.60, abs=0.01)
    assert np.mean(one[:50]) < uncertain < np.mean(three[:50])


def test_nothing_is_left_of_the_gain_of_other_words_after_twice_the_steps():
    reached = study.accuracies(study.REFERENCES[1200], V02)
    assert list(reached) == [42, 43, 44, 45, 46]
    assert round(np.mean(list(reached.values())), 1) == 68.7
    assert min(reached, key=reached.get) == 42
    left = gains("claims_razor_rules_long", V02)
    assert len(left) == 5
    assert [round(np.mean(left), 1), round(study.p_over_seeds(left), 2)] == [-0.6, 0.28]
    assert round(detectable_mean(float(np.std(left, ddof=1)), 5), 1) == 1.8
    at_random = gains("claims_razor_chance_long", V02)
    assert [round(np.mean(at_random), 1), round(study.p_over_seeds(at_random), 2)] == [1.3, 0.21]
    assert round(detectable_mean(float(np.std(at_random, ddof=1)), len(at_random)), 1) == 3.1


def test_poe_takes_away_what_the_claim_tells_and_does_not_gain():
    found = Record.load(study.FOLDER / "records" / "without_evidence_long").readings
    without = {
        run: np.mean([one.value for one in found if (one.phase, one.subset) == (run, "no_evidence")])
        for run in ("claims_poe", study.REFERENCES[1200])
    }
    assert [round(float(value), 1) for value in without.values()] == [51.0, 57.4]
    vitaminc, mnli = list(study.TEST_SETS)[2:]
    lost = {key: gains("claims_poe", key) for key in (study.IN_DOMAIN, V02, vitaminc, mnli)}
    assert [round(float(np.mean(one)), 1) for one in lost.values()] == [-1.7, -1.7, -5.9, -3.8]
    assert [round(study.p_over_seeds(one), 2) for one in lost.values()] == [0.04, 0.14, 0.02, 0.01]
    assert round(detectable_mean(float(np.std(lost[V02], ddof=1)), 5), 1) == 3.5
    assert round(float(np.mean(gains("claims_poe_razor_rules", V02))), 1) == -0.3
    assert [round(np.mean(gains("claims_aflite", key)), 1) for key in (study.IN_DOMAIN, V02)] == [-6.4, -8.1]
    by_weight = {key: gains("claims_reweighting", key) for key in (study.IN_DOMAIN, mnli)}
    assert [round(np.mean(one)) for one in by_weight.values()] == [-2, -3]
    assert [round(study.p_over_seeds(one), 2) for one in by_weight.values()] == [0.14, 0.03]
    assert round(detectable_mean(float(np.std(gains("claims_reweighting", V02), ddof=1)), 3)) == 8


def test_what_the_razor_page_says_of_confidence_regularisation_eda_and_clever():
    mnli = list(study.TEST_SETS)[3]
    lost = {key: gains("claims_confidence", key) for key in (study.IN_DOMAIN, V02, mnli)}
    assert {len(some) for some in lost.values()} == {3}
    assert [round(float(np.mean(lost[key]))) for key in (study.IN_DOMAIN, mnli)] == [-6, -5]
    assert [round(study.p_over_seeds(lost[key]), 2) for key in (study.IN_DOMAIN, mnli)] == [0.03, 0.03]
    assert [round(one) for one in lost[V02]] == [3, -2, -3]
    assert round(detectable_mean(float(np.std(lost[V02], ddof=1)), 3)) == 10
    copies = gains("claims_eda", V02)
    assert (round(float(np.mean(copies)), 1), round(study.p_over_seeds(copies), 2)) == (-0.9, 0.08)
    assert round(detectable_mean(float(np.std(copies, ddof=1)), 3), 1) == 1.6
    subtracted = gains("claims_clever", V02)
    assert len(subtracted) == 3
    assert max(map(abs, subtracted)) < 1
    assert [round(f(gains("claims_clever", mnli))) for f in (max, min)] == [-3, -4]


def test_rew_costs_the_task_with_every_seed():
    lost = {key: gains("claims_rew", key) for key in (study.IN_DOMAIN, V02, list(study.TEST_SETS)[3])}
    assert [round(float(np.mean(one))) for one in lost.values()] == [-5, -8, -5]
    assert max(map(max, lost.values())) < -4
    assert [round(f(lost[V02])) for f in (max, min)] == [-5, -11]
    assert round(study.p_over_seeds(lost[V02]), 2) == 0.05


def test_symmetric_alone_teaches_its_pairs_and_not_the_task():
    (run,) = study.runs_of("claims_symmetric").values()
    last = max(row["step"] for row in run.history)
    assert mean_loss(run, last - 49, last) < 0.16  # of the steps that a compact record keeps whole
    reached = [study.accuracies("claims_symmetric", key)[42] for key in (study.IN_DOMAIN, V02)]
    assert [round(value) for value in reached] == [55, 60]


def test_rewriting_500_pairs_changes_nothing_on_fever_symmetric():
    few = razor_tables.RECORDS / "few"
    mnli = list(study.TEST_SETS)[3]
    found = {}
    for key in (V02, mnli):
        before, after = (study.accuracies(run, key, few) for run in ("original", "rewritten"))
        found[key] = [after[seed] - before[seed] for seed in before]
    assert round(np.mean(found[V02]), 1) == 0.1
    assert round(detectable_mean(float(np.std(found[V02], ddof=1)), 5), 1) == 3.4
    assert round(np.mean(found[mnli])) == -3
    for record in study.runs_of("original", few).values():
        data = record.provenance["data"]
        assert (data["train_examples"], data["validation_examples"]) == (439, 61)
        assert np.mean([row["train/loss"] for row in record.history if "train/loss" in row][-50:]) < 0.01
        assert 53 < record.metrics()[V02] < 56


def test_what_the_page_says_of_inference():
    def by_seed(run, key):
        return np.array(list(study.accuracies(run, f"after/{key}/accuracy", razor_tables.RECORDS / "nli").values()))

    def change(task, key):
        return [
            round(one, 1) + 0.0 for one in by_seed(f"{task}_razor_rules", key) - by_seed(f"{task}_original_bert", key)
        ]

    assert change("mnli", "mnli/dev_matched") == [-1.8, -1.2, -7.8]
    assert change("mnli", "snli/test") == [1.6, -0.1, -7.2]
    assert change("snli", "mnli/dev_matched") == [3.4, 2.8, 2.1]
    assert round(np.mean(change("snli", "mnli/dev_mismatched")), 1) == 1.8
    assert round(np.mean(change("snli", "snli/test")), 1) == -0.5
    tested = [("mnli", "mnli/dev_matched"), ("snli", "mnli/dev_matched"), ("snli", "mnli/dev_mismatched")]
    assert [round(study.p_over_seeds(change(*one)), 2) for one in tested] == [0.23, 0.02, 0.12]
    found = [detectable_mean(float(np.std(change(*one), ddof=1)), 3) for one in (tested[0], ("snli", "snli/test"))]
    assert [round(found[0]), round(found[1], 1)] == [12, 2.3]
    ends = [np.mean(one[-50:]) for one in losses_of("mnli_razor_rules", razor_tables.RECORDS / "nli")]
    assert [round(float(end), 2) for end in ends] == [0.8, 0.77, 0.9]
    runs = [f"{task}_{kind}" for task in ("mnli", "snli") for kind in ("original_bert", "razor_rules")]
    of_hans = np.concatenate([by_seed(run, "hans_mnli/test") for run in runs])
    assert [round(f(of_hans)) for f in (np.min, np.max)] == [7, 36]


def test_the_original_pairs_are_ahead_as_training_goes_on():
    curves = [
        [row["validation/accuracy"] for row in Record.load(file.parent).history if "validation/accuracy" in row]
        for run in ("original", "razor", "embedding")
        for file in (razor_tables.RECORDS / "curves").glob(f"claims_{run}_curve/seed_42/record.json*")
    ]
    original, by_words, by_embeddings = np.array(curves)
    assert np.sum(original > by_words) == 9
    assert 0.01 < original[-1] - by_words[-1] < 0.015
    assert by_embeddings[0] < 0.54
    assert np.abs(by_embeddings - by_words)[1:].max() < 0.03


def test_symmetric_with_others_kept_costs_and_gains_nothing():
    kept = gains("claims_symmetric_kept", V02)
    assert round(detectable_mean(float(np.std(kept, ddof=1)), 3)) == 7
    assert max(abs(np.mean(gains("claims_symmetric_kept", key))) for key in (V02, V01, study.IN_DOMAIN)) < 0.7
    of_vitaminc = gains("claims_symmetric_kept", list(study.TEST_SETS)[2])
    assert [round(np.mean(of_vitaminc)), round(study.p_over_seeds(of_vitaminc), 2)] == [-5, 0.03]


def test_rules_at_random_gain_as_much_as_by_the_score():
    means = {run: round(float(np.mean(gains(run, V02))), 1) for both in study.DRAWS.items() for run in both}
    assert list(means.values()) == [1.5, 3.0, 2.7, 1.5]
    drawn = [np.mean([gains(run, V02) for run in runs], axis=0) for runs in (study.DRAWS.keys(), study.DRAWS.values())]
    assert [round(float(one.mean()), 1) for one in drawn] == [2.1, 2.2]
    assert [round(study.p_over_seeds(list(one)), 3) for one in drawn] == [0.043, 0.007]
    for key, expected in ((study.IN_DOMAIN, [-0.3, -0.2]), (list(study.TEST_SETS)[3], [-1.1, -0.5])):
        found = [
            np.mean([gains(run, key) for run in runs], axis=0) for runs in (study.DRAWS.keys(), study.DRAWS.values())
        ]
        assert [round(float(value.mean()), 1) for value in found] == expected
        if key == study.IN_DOMAIN:
            missed = [detectable_mean(float(np.std(value, ddof=1)), 5) for value in found]
            assert [round(value, 1) for value in missed] == [2.9, 2.5]


def test_razors_score_is_no_better_than_chance_where_both_ran_in_float32():
    apart = [study.less_chance(*both, V02) for both in study.DRAWS.items()]
    assert [len(one) for one in apart] == [5, 5]
    both = np.concatenate(apart)
    by_seed = {key: np.mean([study.less_chance(*one, key) for one in study.DRAWS.items()], axis=0) for key in KEYS}
    p = {key: study.p_over_seeds(list(one)) for key, one in by_seed.items()}
    assert round(p.pop(KEYS[-1]), 3) == 0.008
    assert (round(by_seed[KEYS[-1]].mean(), 1), by_seed[KEYS[-1]].max() < 0) == (-0.6, True)
    assert min(p.values()) > 0.06
    assert [round(np.mean(one), 1) for one in apart] == [-1.3, 1.2]
    assert abs(np.mean(both)) < 0.05
    assert round(detectable_mean(float(np.std(both, ddof=1)), 10), 1) == 3.0
    assert round(study.p_over_seeds(apart[0]), 2) == 0.36
    mixed = {}
    for key in (V02, V01):
        scored, blind = (study.accuracies(run, key) for run in next(iter(study.DRAWS.items())))
        mixed[key] = round(study.p_over_seeds([scored[seed] - blind[seed] for seed in scored]), 2)
    assert list(mixed.values()) == [0.08, 0.01]  # bfloat16 beside float32, as an earlier version of the page had it
    once_more = {}
    for key in (V02, V01):
        own, originals = (study.accuracies(run, key, study.AGAIN) for run in ("claims_razor_rules", study.REFERENCE))
        once_more[key] = [own[seed] - originals[seed] for seed in own]
    assert round(np.mean(once_more[V02]), 1) == 1.7
    assert [study.p_over_seeds(one) > 0.08 for one in once_more.values()] == [True, True]
    assert round(study.p_over_seeds(once_more[V02]), 2) == 0.10


def test_what_the_page_says_of_claims_rewritten_at_random():
    read = razor_tables.read_sheet("chance_sheet")
    assert len(read) == 40
    assert sum(row["change"] == "opener" for row in read) > 20


def test_probes_of_the_control_and_of_the_control_on_balanced_claims():
    found = Record.load(study.FOLDER / "records" / "probes_chance").metrics()
    kinds = ("claim_only", "untouched")
    assert [round(found[f"razor_chance/shortcuts/{kind}/gain"], 1) for kind in kinds] == [13.0, 14.2]
    assert [round(found[f"repeated_chance/shortcuts/{kind}/gain"], 1) for kind in kinds] == [-0.3, 12.4]
    assert round(np.mean(gains("claims_repeated_chance", study.IN_DOMAIN))) == -5
    assert round(np.mean(gains("claims_repeated_chance", V02))) == -2
    assert len(gains("claims_repeated_chance", V02)) == 2


def test_how_far_a_seed_moves_from_one_precision_to_the_other():
    apart = [
        abs(study.accuracies(run, key)[seed] - study.accuracies(run, key, study.AGAIN)[seed])
        for run in study.names()
        for seed in study.runs_of(run, study.AGAIN)
        for key in (study.IN_DOMAIN, *study.TEST_SETS)
        if "vitaminc" not in key
    ]
    assert (sum(one <= 1 for one in apart), len(apart)) == (33, 40)
    assert [round(value, 1) for value in sorted(apart)[-2:]] == [2.2, 2.7]


def test_what_a_language_model_made_of_claims():
    after = {
        check: next(one for one in Record.load(razor_tables.RECORDS / "llm" / check).readings if one.key == GAIN)
        for check in razor_tables.CHECKS
    }
    assert [check for check, one in after.items() if one.low > 0] == ["equation_13"]
    read = razor_tables.read_sheet("llm_sheet")
    refuted = [row for row in read if row["label"] == "REFUTES"]
    wrong = [row for row in refuted if row["label_is"] == "wrong"]
    right = [row for row in refuted if row["label_is"] == "right"]
    assert (len(read), len(wrong), len(right)) == (100, 19, 21)
    assert sum(bool(row["equation_13"]) for row in wrong) == 15
    assert sum(bool(row["equation_13"]) for row in right) == 11
    passed = [row for row in read if not row["facts_equation_13"]]
    assert sum(row["label_is"] == "right" for row in passed) == 20
    assert len(passed) == 25


def test_what_the_razor_page_says_of_200_steps():
    short = study.SHORT
    for run, lost in (("claims_symmetric", -19), ("claims_crossaug", -5.5)):
        own, other = (study.accuracies(one, study.IN_DOMAIN, short) for one in (run, study.REFERENCE))
        assert sum(own[seed] - other[seed] for seed in own) / 5 == pytest.approx(lost, abs=0.1)
    found = Record.load(study.FOLDER / "records" / "without_evidence_200_steps").metrics()
    with_it, without = (found[f"claims_original/held_out/{name}/accuracy"] for name in ("evidence", "no_evidence"))
    assert 4 < with_it - without < 5.5
    assert round(without, 1) == 66.5


def test_probes_of_the_razor_page():
    probes = Record.load(study.FOLDER / "records" / "probes").metrics()
    found = {
        name: probes[f"{name}/shortcuts/{kind}/gain"]
        for name in ("original", "balanced", "symmetric", "razor_rules")
        for kind in ("untouched",)
    }
    assert abs(found["symmetric"]) < 2
    assert found["balanced"] > 0.5 * found["original"]
    assert found["original"] - found["razor_rules"] < 1.5
    assert abs(probes["repeated/shortcuts/claim_only/gain"]) < 2
    halved = [probes[f"{name}/shortcuts/negation/association"] for name in ("razor_rules", "original")]
    assert halved[0] < 0.55 * halved[1]


def test_a_rule_that_compares_names_is_right_on_symmetric_pairs_and_little_elsewhere():
    found = {one.subset: one for one in Record.load(study.FOLDER / "records" / "overlap").readings}
    assert found["symmetric"].low > 80
    assert found["original"].high < 57
    short = study.accuracies(study.REFERENCE, V02, study.SHORT).values()
    assert found["fever_symmetric"].low < sum(short) / 5 < found["fever_symmetric"].high
    assert mean(study.REFERENCE, V02) > found["fever_symmetric"].high


def test_classifiers_of_balanced_data_know_fewer_labels_without_evidence():
    found = Record.load(study.FOLDER / "records" / "without_evidence").readings
    of = {(one.phase, one.subset, one.seed): one.value for one in found}
    changes = {
        run: [of[run, "no_evidence", seed] - of[study.REFERENCE, "no_evidence", seed] for seed in range(42, 47)]
        for run in ("claims_balanced", "claims_repeated")
    }
    for some in changes.values():
        assert max(some) < 0
        assert -4.5 < sum(some) / 5 < -3.5
    without = [
        sum(of[run, "no_evidence", seed] for seed in range(42, 47)) / 5
        for run in ("claims_razor_rules", study.REFERENCE)
    ]
    assert [round(value, 1) for value in without] == [58.1, 58.6]
    loss = [of[study.REFERENCE, "evidence", seed] - of[study.REFERENCE, "no_evidence", seed] for seed in range(42, 47)]
    assert 16.5 < sum(loss) / 5 < 18


def test_nested_draws_resample_draws_and_the_seeds_of_each():
    of_draws = biasers.nested_draws([np.array([1.0, 1.0]), np.array([3.0])])
    assert set(of_draws) == {1.0, 2.0, 3.0}
    assert np.mean(of_draws == 2.0) == pytest.approx(0.5, abs=0.05)
    of_seeds = biasers.nested_draws([np.array([0.0, 2.0]), np.array([0.0, 2.0])])  # the mean of four coins
    assert of_seeds.mean() == pytest.approx(1.0, abs=0.05)
    assert of_seeds.var() == pytest.approx(1 / 4, abs=0.03)


def of_draws(arm, reference="originals"):
    """What an arm changes, (draws, measured)."""
    return np.array([draw.mean(axis=0) for draw in biasers.changes_of(arm, reference)])


def p_of(values):
    return study.p_over_seeds(list(values))


EXPANDED = ("copies", "downshifts", "upshifts")


def test_what_the_biasers_page_says_of_ten_entries():
    changes = {arm: of_draws(arm)[:, 0] for arm in ("repeats", *EXPANDED)}
    assert {tuple(map(len, biasers.changes_of(arm))) for arm in changes} == {(3, 3, 3, 3, 3)}
    assert [round(f(list(changes.values())), 1) for f in (np.min, np.max)] == [0.7, 1.8]
    assert max(map(p_of, changes.values())) < 0.001
    assert round(changes["repeats"].mean(), 1) == 1.4
    taken = {arm: of_draws(arm, "repeats")[:, 0] for arm in EXPANDED}
    assert [round(some.mean(), 1) for some in taken.values()] == [-0.1, -0.2, -0.4]
    assert [round(float(p), 2) for p in holm([p_of(some) for some in taken.values()])] == [0.10, 0.16, 0.07]
    assert taken["upshifts"].max() < 0
    repeated, upshifted = held_out_changes("repeats", "originals"), held_out_changes("upshifts", "repeats")
    assert [round(f(repeated), 1) for f in (min, max)] == [1.4, 2.3]
    of_expanded = [p_of(held_out_changes(arm, "repeats")) for arm in EXPANDED]
    assert (round(np.mean(upshifted), 1), round(float(holm(of_expanded)[2]), 2)) == (-0.5, 0.06)


def held_out_changes(arm, reference):
    """What an arm changes of the perplexity of entries that no model was tuned on, by draw."""

    def last(name):
        return {
            (file.parent.parent.name, file.parent.name): biasers.kept_perplexity(Record.load(file.parent))
            for file in biasers.RECORDS.glob(f"{name}_*/seed_*/record.json*")
        }

    own, others = last(arm), last(reference)
    changes = {run: own[run] - others[(run[0].replace(arm, reference), run[1])] for run in own}
    return [draw.mean() for draw in biasers.by_draw(changes)]


def test_what_the_biasers_page_says_of_stereotypes_beside_other_entries():
    changes = [of_draws(arm) for arm in ("repeats", *EXPANDED)]
    spreads = np.array([one.std(axis=0, ddof=1) for one in changes])
    single, corrected = (
        np.vectorize(lambda some, level=level: detectable_mean(some, 5, level=level))(spreads)
        for level in (0.05, 0.05 / 12)
    )
    assert np.abs(np.mean(changes, axis=1)[:, 1]).max() < 0.01
    assert [round(float(f(single[:, 1])), 2) for f in (np.min, np.max)] == [0.02, 0.03]
    shown = [[round(float(f(single[:, place])), 1) for f in (np.min, np.max)] for place in (2, 3, 4)]
    assert shown == [[1.2, 1.5], [1.2, 1.9], [3.4, 3.9]]
    assert 1.8 < np.min(corrected / single) < np.max(corrected / single) < 2.2
    p = holm([p_of(one[:, place]) for one in changes for place in (2, 3, 4)])
    assert (len(p), round(float(p.min()), 2)) == (12, 0.32)


def test_what_the_biasers_page_says_of_race_beside_the_entries_repeated():
    changes = {arm: of_draws(arm, "repeats") for arm in EXPANDED}
    race = {arm: one[:, 3] for arm, one in changes.items()}
    assert min(map(np.min, race.values())) > 0
    assert [round(one.mean(), 1) for one in race.values()] == [0.8, 1.4, 1.3]
    p = holm([p_of(one[:, place]) for place in (3, 1, 2, 4) for one in changes.values()])
    assert len(p) == 12
    assert [f"{one:.3f}" for one in p[:3]] == ["0.021", "0.055", "0.036"]
    by_seed = [
        np.mean([draw[seed, 3] for draw in biasers.changes_of(arm, "repeats")]) for arm in EXPANDED for seed in range(3)
    ]
    assert [round(float(f(by_seed)), 1) for f in (np.min, np.max)] == [0.7, 1.7]
    levels = [
        np.mean([draw.mean(axis=0)[3] for draw in biasers.by_draw(biasers.of_arm(arm))])
        for arm in ("originals", "repeats")
    ]
    assert [round(float(one), 1) for one in levels] == [49.3, 47.9]
    untuned = Record.load(biasers.RECORDS / "untuned" / "seed_42").metrics()["crows_pairs/race_color/metric_score"]
    repeated = [draw.mean(axis=0)[3] - untuned for draw in biasers.by_draw(biasers.of_arm("repeats"))]
    assert (round(untuned, 1), round(p_of(repeated), 2)) == (48.3, 0.23)


def test_what_moves_on_race_is_pairs_that_state_a_stereotype_and_not_stereosets_score():
    measured = {
        arm: {
            (file.parent.parent.name.removeprefix(arm), file.parent.name): Record.load(file.parent).metrics()
            for file in biasers.RECORDS.glob(f"{arm}_*/seed_*/record.json*")
        }
        for arm in ("repeats", *EXPANDED)
    }

    def of_quantity(arm, name):
        key = f"after/crows_pairs/race_color/{name}"
        found = {run: one[key] - measured["repeats"][run][key] for run, one in measured[arm].items()}
        draws = sorted({draw for draw, _ in found})
        return [np.mean([value for (place, _), value in found.items() if place == draw]) for draw in draws]

    stated = [np.mean(of_quantity(arm, "stereotype_score")) for arm in EXPANDED]
    assert [round(float(f(stated)), 1) for f in (np.min, np.max)] == [0.9, 1.5]
    against = [of_quantity(arm, "anti_stereotype_score") for arm in EXPANDED]
    assert min(map(p_of, against)) > 0.09
    found = [detectable_mean(float(np.std(one, ddof=1)), 5) for one in against]
    assert [round(f(found), 1) for f in (min, max)] == [1.1, 1.9]
    assert max(of_draws(arm, "repeats")[:, 2].mean() for arm in EXPANDED) < 0.2


def test_the_mb_index_of_the_controls_is_a_matter_of_how_many_entries_their_tokens_hold():
    found = {}
    for arm in ("originals", "repeats"):
        records = [Record.load(file.parent) for file in biasers.RECORDS.glob(f"{arm}_*/seed_*/record.json*")]
        entries = np.mean([one.provenance["data"]["train_entries"] for one in records])
        found[arm] = (
            round(float(np.mean([one.metrics()["after/mb_index/all/mb_index"] for one in records])), 3),
            entries,
        )
    assert [one for one, _ in found.values()] == [0.044, 0.062]
    assert [round(entries, -1) for _, entries in found.values()] == [390, 290]


def test_what_the_biasers_page_says_of_the_larger_model():
    found = {change.key: change for change in Record.load(biasers.RECORDS / "larger").comparisons}
    changes = {
        pair: [found[key.replace("after", pair, 1)] for key in biasers.MEASURED]
        for pair in ("repeats_originals", "upshifts_originals", "upshifts_repeats")
    }
    of_untuned = [found[f"{arm}_untuned/mb_index/reference/perplexity"].difference for arm in biasers.LARGER[1:]]
    assert [round(f(of_untuned), 1) for f in (max, min)] == [-1.9, -2.0]
    assert [round(changes[f"{arm}_originals"][0].difference, 2) for arm in biasers.LARGER[2:]] == [-0.14, -0.1]
    of_stereotypes = [one.p for some in changes.values() for one in some[1:]]
    assert len(of_stereotypes) == 12
    assert min(of_stereotypes) > 0.1
    race = changes["upshifts_repeats"][3]
    assert (race.subset, round(race.difference, 1)) == ("race_color", 0.6)
    assert [round(one, 1) for one in (race.low, race.high)] == [-0.2, 1.6]
    kept = [
        biasers.kept_perplexity(Record.load(biasers.RECORDS / f"qwen_{arm}" / "seed_42")) for arm in biasers.LARGER[1:]
    ]
    assert [round(f(kept), 1) for f in (min, max)] == [29.2, 29.3]
