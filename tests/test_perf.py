"""The performance scripts give the same numbers both ways; how fast is measured by `make bench`, never here."""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.backbones.loading import load_backbone
from tests.backbones.reference import livened

PERF = Path(__file__).parents[1] / "perf"


def load(name, monkeypatch):
    monkeypatch.syspath_prepend(str(PERF))
    spec = importlib.util.spec_from_file_location(name, PERF / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    if absl := sys.modules.get("absl.logging"):
        # Hydra closes all logging handlers, and this one of rouge_score's then closes its stream, which is pytest's.
        absl.get_absl_handler().python_handler.stream = sys.__stderr__
    return module


@pytest.fixture
def ccd_training(monkeypatch):
    return load("ccd_training", monkeypatch)


@pytest.mark.slow
@pytest.mark.long
def test_plain_and_ours_give_equal_losses_per_group_at_the_same_weights(ccd_training, monkeypatch):
    monkeypatch.setattr(ccd_training, "matmul_peak", lambda dtype: 1e9)  # which takes longer than the rest
    result = ccd_training.measure(num_groups=4, batch=2, sample=2, repeats=1)
    assert result["largest_difference"] < 1e-5
    assert "| plain | " in ccd_training.table(result)


@pytest.mark.slow
@pytest.mark.long
def test_a_part_of_the_gpu_check_runs_on_a_cpu(monkeypatch, tmp_path):
    gpu_check = load("gpu_check", monkeypatch)
    result = gpu_check.check(tmp_path, "cpu", tiny=True, names=["one_device", "ccd", "equal_mlm"], seconds=500)
    assert gpu_check.wrong(result) == []
    assert result["parts"]["equal_mlm"]["figures"]["losses"] == 0
    assert result["parts"]["ccd"]["figures"]["tokens_per_second"] > 0
    assert "| CCD of BERT-large, texts of full length | done |" in gpu_check.table(result)


def test_flops_of_the_gpu_check_by_hand(monkeypatch):
    parts = load("gpu_parts", monkeypatch)
    model = {"multiplied": 100, "layers": 2, "width": 3}
    assert parts.flops(model, 5, adapters=False) == 6 * 100 + 12 * 2 * 3 * 5
    assert parts.flops(model, 5, adapters=True) == pytest.approx(2 / 3 * 960)


def test_the_gpu_check_tells_equal_runs_from_others(monkeypatch):
    parts = load("gpu_parts", monkeypatch)

    def run(*losses, gap=0.1):
        history = [{"step": step, "train/loss": loss} for step, loss in enumerate(losses)]
        return SimpleNamespace(history=history, metrics=lambda: {"after/cced/embedded/gap": gap})

    same = parts.difference(run(2.0, 1.0), run(2.0, 1.0005), "float32")
    assert same["equal"]
    assert same["losses"] == pytest.approx(5e-4)
    assert not parts.difference(run(2.0, 1.0), run(2.0, 1.1), "float32")["equal"]
    assert parts.difference(run(2.0, 1.0), run(2.0, 1.1), "float32", first_step=True)["equal"]
    assert not parts.difference(run(2.0), run(2.0, gap=0.2), "float32")["equal"]
    assert not parts.difference(run(2.0), run(float("nan")), "float32")["equal"]
    other = parts.difference(run(2.0), run(2.1), "float32")
    assert parts.together(a=same, b=same)["equal"]
    assert parts.together(a=same, b=other) == {"a": same, "b": other, "equal": False}


def test_the_gpu_check_names_parts_that_are_not_as_they_should_be(monkeypatch, tmp_path):
    gpu_check = load("gpu_check", monkeypatch)
    parts = {
        "a": {"state": "done", "figures": {"equal": True}},
        "b": {"state": "done", "figures": {"equal": False}},
        "c": {"state": "failed", "error": "no"},
        "d": {"state": "done", "figures": {"tokens_per_second": 3.0}},
    }
    assert gpu_check.wrong({"parts": parts}) == ["b", "c"]
    ended = gpu_check.run_part(
        gpu_check.Part("late", "Late", 90, (gpu_check.Command("x", "y", ()),), dict), tmp_path, 0
    )
    assert ended["state"] == "no time was left"


def test_parts_of_the_quickstart_by_hand(monkeypatch):
    quickstart = load("quickstart", monkeypatch)
    stages = {"loading": 1.0, "before/cced": 2.0, "before/stsb": 3.0, "training": 10.0}
    stages |= {"after/cced": 4.0, "export": 0.5, "report": 1.5}
    found = quickstart.parts(stages, first_items=8.0, seconds=28.0)
    named = {"start": 5.0, "loading": 1.0, "before": 5.0, "training": 10.0, "after": 4.0, "export and report": 2.0}
    assert found == named | {"end": 1.0}
    assert next(iter(found)) == "start"
    machine = {"processor": "one", "threads": 2, "torch": "2", "matmul_peak": 2e11}
    row = {"seconds": 28.0, "seconds_to_first_line": 0.5, "parts": found, "peak_bytes": 2_000_000_000}
    row["after"] = dict.fromkeys(quickstart.SHOWN, 0.25)
    text = quickstart.table({"machine": machine, "flops": 4e12, "ways": {"float32": row}})
    assert "4.0 TFLOP of a run's matrix products would take 20 s" in text
    assert text.splitlines()[-1] == "| float32 | 28 | 0.5 | 5 | 1 | 5 | 10 | 4 | 2 | 1 | 2.0 | 0.25 | 0.25 |"


def test_flops_by_hand(ccd_training):
    class Config:
        hidden_size, intermediate_size, num_hidden_layers = 2, 3, 1

    # One token: 4 projections of 2x2 and 2 of 2x3, 2 FLOPs a weight, and attention 4*1*2; three times for backward.
    assert ccd_training.flops([[[5]]], Config) == 3 * (2 * (4 * 4 + 2 * 6) + 8)


@pytest.mark.slow
@pytest.mark.long
def test_the_ledger_changes_no_reply_and_keeps_calls_in_flight(monkeypatch):
    llm_ledger = load("llm_ledger", monkeypatch)
    result = llm_ledger.measure(calls=40, replayed=20, concurrency=8, repeats=1)  # asserts that replies are equal
    assert result["most_in_flight"] == 8
    assert "| replay of 20 calls | " in llm_ledger.table(result)


def test_quality_of_rewrites_by_hand(monkeypatch):
    rewriting = load("rewriting", monkeypatch)
    pairs = [("He saw her.", "She saw him."), ("He left.", "She left.")]
    items = [rewriting.Rewriting(source, expected, ((0, "woman"),)) for source, expected in pairs]
    assert rewriting.quality([expected for _, expected in pairs], items) == {
        "exact": 1.0,
        "bleu": pytest.approx(100.0),
        "rouge_2": 100.0,
        "levenshtein": 0.0,
    }
    found = rewriting.quality(["She saw her.", "She left."], items)
    # Bigrams: one of two right, then the one there is; one word of four wrong, then none.
    assert (found["exact"], found["rouge_2"], found["levenshtein"]) == (0.5, 75.0, 0.5)
    assert found["bleu"] < 100


@pytest.mark.data
def test_the_plain_swap_takes_the_first_pair_and_keeps_capitals(monkeypatch, data_folder):
    swap = load("rewriting", monkeypatch).plain_swap()
    assert swap(["His father and the queen.", "A river."]) == ["Her mother and the king.", "A river."]


def test_the_permutation_test_agrees_with_a_loop_of_shuffles(monkeypatch):
    seat_permutations = load("seat_permutations", monkeypatch)
    result = seat_permutations.measure(repeats=1, shuffles=4000)
    found, loop = result["p_values"]["ours"], result["p_values"]["loop"]
    assert abs(found - loop) < 5 * (found / 4000) ** 0.5
    assert "| Python loop of shuffles | " in seat_permutations.table(result)


@pytest.mark.slow
@pytest.mark.data
def test_likelihoods_equal_those_of_one_masked_copy_at_a_time(monkeypatch, tiny_folders):
    likelihoods = load("likelihoods", monkeypatch)
    model = livened(load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=64, normalize=False))
    result = likelihoods.measure(model, pairs=3, examples=4, repeats=1)  # asserts equal results
    assert [row["items"] for row in result["tasks"].values()] == [3, 4]
    assert "| CrowS-Pairs | 3 | " in likelihoods.table(result)


@pytest.mark.slow
@pytest.mark.long
def test_the_db_index_is_the_loops(monkeypatch):
    db_index = load("db_index", monkeypatch)
    result = db_index.measure(repeats=1, entries=60, part=6)
    assert result["values"]["ours"] == pytest.approx(result["values"]["loop"], abs=1e-9)
    result["large"] = db_index.large(3000)
    assert result["large"]["clusters"] == 6
    assert "| Python double loop | " in db_index.table(result)


def test_the_shortcut_score_is_the_quadratic_forms(monkeypatch):
    shortcut = load("shortcut", monkeypatch)
    result = shortcut.measure(repeats=1, documents=80, part=4)
    assert result["difference"] < 1e-9
    result["large"] = shortcut.large(500)
    assert "| quadratic form | " in shortcut.table(result)


@pytest.mark.slow
@pytest.mark.long
def test_batched_decoding_gives_what_generate_gives(monkeypatch):
    perturber_decoding = load("perturber_decoding", monkeypatch)
    result = perturber_decoding.measure(texts=4, repeats=1)
    assert result["equal"] == 4
    assert "| 4 | " in perturber_decoding.table(result)


@pytest.mark.slow
def test_pretraining_is_timed_on_the_same_text(monkeypatch, tmp_path, tiny_folders):
    mlm_pretraining = load("mlm_pretraining", monkeypatch)
    (tmp_path / "x.txt").write_text(
        "\n\n".join(f"The boat {k} left. She saw it go down the river." for k in range(3000))
    )
    backbone = load_backbone(str(tiny_folders["bert_mlm"]), pooling="mean", max_length=32, normalize=False)
    result = mlm_pretraining.measure(backbone, tokens=90, steps=2, repeats=1, path=tmp_path / "x.txt")
    assert 0 < result["padding"] < 1
    assert "| speedup |" in mlm_pretraining.table(result)


@pytest.mark.slow
def test_continuations_in_batches_are_those_of_generate(monkeypatch, tiny_folders):
    script = load("continuations", monkeypatch)
    contexts = ["he saw the river", "a clock", "she saw the bridge", "he saw a clock"]
    monkeypatch.setattr(script, "drawn_contexts", lambda count: contexts[:count])
    gpt2 = livened(load_backbone(str(tiny_folders["gpt2"]), pooling="mean", max_length=64, normalize=False))
    result = script.measure(gpt2, count=4, repeats=1)
    assert result["same"] == 4
    assert "| ours | " in script.table(result)


@pytest.mark.slow
def test_perturbation_is_measured_on_texts_of_which_half_are_about_people(monkeypatch, tmp_path):
    perturbation = load("perturbation", monkeypatch)
    source = perturbation.write(tmp_path / "texts.jsonl", rows=300)
    taken, made = perturbation.seconds(source, "lexical", 1)
    rows = [json.loads(line) for line in made.splitlines()]
    assert taken > 0
    assert len(rows) == 300
    assert 110 < sum(row["perturbed"] for row in rows) < 190  # four standard deviations
    assert perturbation.write(tmp_path / "size.jsonl", size=5000).stat().st_size == pytest.approx(5000, abs=300)
    result = {
        "mode": "lexical",
        "rows_per_second": {1: [10.0], 2: [18.0]},
        "ratio": [1.8],
        "memory": {10: (300.0, 5.0)},
    }
    assert "| 2 | 18 |" in perturbation.table(result)
    assert "| 10 MB | 300 MB | 5 |" in perturbation.table(result)


@pytest.mark.slow
@pytest.mark.long
def test_choosing_words_holds_no_more_of_a_larger_file(monkeypatch):
    perturbation = load("perturbation", monkeypatch)
    small, large = (perturbation.peak_megabytes(size)[0] for size in (1_000_000, 10_000_000))
    assert large < small + 50


def test_precision_counts_verdicts_that_change(monkeypatch):
    precision = load("likelihood_precision", monkeypatch)
    exact = np.array([[-1.0, -2.0, 0.0], [-3.0, -3.5, 0.0], [-4.0, -1.0, 0.0], [-2.0, -2.0, 0.0]])
    rounded = exact + np.array([[0.5, 0, 0], [-1.0, 0, 0], [0, 0, 0.1], [0, 0, 0]])
    found = precision.apart(exact, rounded)
    assert found["items"] == 4
    assert found["largest"] == 1.0
    assert found["mean"] == pytest.approx(1.6 / 12)
    assert found["between"] == pytest.approx((1 + 0.5 + 3 + 0) / 4)
    assert found["changed"] == 0.25  # the second: -4 and -3.5


@pytest.mark.slow
@pytest.mark.data
def test_precision_of_a_masked_and_of_a_causal_model(monkeypatch, tiny_folders):
    precision = load("likelihood_precision", monkeypatch)
    settings = {"pooling": "mean", "max_length": 64, "normalize": False}
    monkeypatch.setattr(precision.fairlab, "load", lambda name, dtype: load_backbone(name, dtype=dtype, **settings))
    result = precision.measure([str(tiny_folders[name]) for name in ("bert_mlm", "gpt2")], pairs=3, examples=4)
    for tasks in result["models"].values():
        assert [row["items"] for row in tasks.values()] == [3, 4]
        assert all(0 < row["mean"] <= row["largest"] for row in tasks.values())
    assert "| CrowS-Pairs | 3 | " in precision.table(result)
