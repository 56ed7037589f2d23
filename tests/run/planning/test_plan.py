"""What a plan says of sizes, work, hours and calls, against values known beforehand."""

import json
import re

import pytest

from fairlab.run.planned import models_of
from fairlab.run.planning.calls import calls_of
from fairlab.run.planning.hours import SHARE, Device, gpus
from fairlab.run.planning.needs import MADE, Need, needs_of
from fairlab.run.planning.plan import RunPlan, plan_of_run, plan_text
from fairlab.run.planning.sizes import model_size
from fairlab.run.planning.work import Work, training_flops, training_work
from fairlab.types import FairlabError


@pytest.mark.parametrize(
    ("name", "parameters"),
    [  # as their authors and the hub's pages state them
        ("google-bert/bert-large-uncased", 335_141_888),
        ("google-bert/bert-base-uncased", 109_482_240),
        ("FacebookAI/roberta-base", 124_645_632),
        ("distilbert/distilbert-base-uncased", 66_362_880),
        ("facebook/bart-large", 406_291_456),
        ("meta-llama/Llama-2-13b-chat-hf", 13_015_864_320),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008),
    ],
)
def test_parameters_of_known_models_are_counted_from_their_configuration(name, parameters):
    assert model_size({"name": name}).parameters == parameters


def test_a_folder_is_counted_by_its_own_configuration(tiny_folders):
    from transformers import AutoModel

    found = model_size({"name": str(tiny_folders["bert"])})
    model = AutoModel.from_pretrained(tiny_folders["bert"])
    assert found.parameters == model.num_parameters()
    assert found.embeddings == (30522 + 64 + 2) * 32
    assert found.folder == tiny_folders["bert"]
    assert found.stored == (tiny_folders["bert"] / "model.safetensors").stat().st_size


def test_adapters_are_planned_as_their_base(tiny_folders, tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    config = {"model": {"a": str(tmp_path), "b": "nobody/nothing"}, "dataset": None, "benchmark": None}
    adapted, other = models_of(config | {"base": str(tiny_folders["bert"])})
    assert model_size(adapted).folder == tiny_folders["bert"]
    assert other["name"] == "nobody/nothing"
    with pytest.raises(FairlabError, match="holds adapters of another model; give that model as base=NAME"):
        model_size(models_of(config | {"base": None})[0])


def test_an_unknown_model_has_no_size():
    assert model_size({"name": "nobody/nothing"}) is None


def test_flops():
    assert training_flops(1000, 50, adapters=False) == 300_000
    assert training_flops(1000, 50, adapters=True) == 200_000


def test_hours_are_a_range_of_shares_of_the_peak():
    assert SHARE == (0.1, 0.46)
    device = Device("G", 1e12, 1e13, 24e9)
    assert device.hours(3.6e15 * 0.46, mixed=False) == pytest.approx((1.0, 4.6))
    assert device.hours(3.6e15 * 0.46, mixed=True) == pytest.approx((0.1, 0.46))
    assert {gpu.name for gpu in gpus()} == {"NVIDIA L4", "NVIDIA A100", "NVIDIA H100"}


def config_of(tmp_path, **data):
    (tmp_path / "groups.jsonl").write_text("{}\n" * 330)
    target = "fairlab.data.counterfactual.CounterfactualData"
    return {
        "data": {"_target_": target, "path": str(tmp_path / "groups.jsonl"), "batch_size": 32, **data},
        "method": {"epochs": 2},
        "trainer": {},
    }


def test_work_of_a_file_of_groups(tmp_path):
    found = training_work(config_of(tmp_path, validation=30))
    assert (found.items, found.texts, found.steps) == (330, 3, 2 * 10)  # 300 groups are ten batches, 9.4 of 32
    assert found.read == 20 * 32 * 90
    assert training_work(config_of(tmp_path, validation=0.1, limit=66)).steps == 2 * 3  # 66 of 297
    bounded = config_of(tmp_path, validation=30) | {"trainer": {"max_steps": 7}}
    assert training_work(bounded).steps == 7


def test_work_of_groups_with_others_beside_them():
    data = {"_target_": "fairlab.data.counterfactual.CounterfactualData", "path": "embedded/people", "batch_size": 16}
    config = {"method": {"epochs": 1}, "data": data | {"more": ["embedded/names", "embedded/terms"]}, "trainer": {}}
    work = training_work(config)
    assert (work.items, work.steps) == (1440 + 192 + 200, 115)


def test_work_of_data_that_the_run_makes_of_a_file(tmp_path):
    """Validation and test come off it; what the path of the experiment names is not read."""
    (tmp_path / "texts.txt").write_text("She left.\n" * 100)
    settings = {"path": "embedded/people", "input": str(tmp_path / "texts.txt"), "validation": 0.1, "batch_size": 10}
    config = {"data": {"_target_": ".CounterfactualData", **settings}, "method": {}, "trainer": {}}
    work = training_work(config)
    assert (work.items, work.steps) == (100, 8)
    assert [need.name for need in needs_of(config)] == [str(tmp_path / "texts.txt")]
    config["data"]["test"] = 0.3
    assert training_work(config).steps == 6


def test_work_of_entries():
    """Others are held out; a model of the biasers' controls takes 200 steps on 25,600 tokens."""
    settings = {"_target_": ".Entries", "path": "nowhere", "block": 128, "batch_size": 1, "validation": 100}
    config = {"data": settings | {"tokens": 25_600}, "method": {}, "trainer": {}}
    work = training_work(config)
    assert (work.items, work.steps, work.tokens) == (200, 200, 128)
    config["data"] |= {"tokens": None, "limit": 500, "batch_size": 8}
    assert training_work(config).steps == 13  # of sentences; experiments/biasers/records/llm_b took as many


def test_work_of_entries_that_are_not_counted_is_not_made_up(monkeypatch):
    monkeypatch.delenv("FAIRLAB_DATA", raising=False)
    settings = {"_target_": ".Entries", "path": "government_reports", "block": 512, "batch_size": 16, "limit": None}
    config = {"data": settings | {"sample": 10}, "method": {"epochs": 1}, "trainer": {}}
    work = training_work(config)
    assert (work.items, work.steps) == (None, None)
    assert work.source == "the number of entries is known only after they are made"
    (need,) = (one for one in needs_of(config | {"models": []}) if one.name == "government_reports")
    assert "GovReport" in need.remedy


def test_work_of_running_text(tmp_path):
    """FairBERTa's 4.4 million characters of novels were 8,000 blocks (experiments/perturbation/records)."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("word " * 8_800)
    settings = {"_target_": ".PackedText", "batch_size": 10, "block": 100, "validation": 0.1}
    config = {"data": settings | {"paths": [str(tmp_path)]}, "method": {}, "trainer": {}}
    work = training_work(config)
    assert (work.items, work.steps, work.tokens) == (200, 18, 100)
    config["data"] |= {"limit_characters": 44_000}
    assert training_work(config).items == 100
    config["data"]["paths"].append("nowhere")
    assert training_work(config).items is None


def test_work_of_data_that_is_not_at_hand(tmp_path):
    found = training_work(config_of(tmp_path, path="outputs/made/gemini", validation=1000))
    assert (found.items, found.steps) == (43_221, 2 * 1320)
    published = training_work(config_of(tmp_path, path="hub", task="rte", validation=90))
    assert (published.items, published.steps) == (2490, 2 * 75)  # 2,400 of 32
    unknown = training_work(config_of(tmp_path, path="nowhere.jsonl"))
    assert (unknown.items, unknown.steps, unknown.read) == (None, None, None)


def test_memory_follows_the_settings_of_the_run(tmp_path):
    """MiniLM: 6 layers of 384 dimensions, 1,536 inside; rank 8 trains 6 x 8 (8 x 384 + 2 (384 + 1,536)) weights."""
    backbone = {"name": "sentence-transformers/all-MiniLM-L6-v2", "max_length": 10}
    method = {"_target_": "fairlab.methods.ccd.CCD", "epochs": 1, "dropout": False}

    def memory(dtype="float32", precision="32-true", **settings):
        config = config_of(tmp_path) | {"method": method | settings, "backbone": backbone | {"dtype": dtype}}
        return plan_of_run("", config | {"trainer": {"precision": precision}}).memory

    plain, mixed, halved, adapters = memory(), memory(precision="bf16-mixed"), memory("bfloat16"), memory(rank=8)
    assert plain.weights == mixed.weights == 2 * halved.weights
    assert plain.activations == 2 * halved.activations
    assert plain.activations > mixed.activations > halved.activations  # autocast keeps some values in float32
    assert (adapters.gradients, adapters.optimiser) == (4 * 331_776, 8 * 331_776)
    assert plain.gradients == plain.weights


def test_calls_and_price_of_a_language_model():
    llm = {"model": "m", "api_key_env": "KEY", "price": {"input": 1.0, "output": 2.0}}
    rewriter = {"prompt": "counterfactual_group"}
    found = calls_of({"llm": llm, "rewriter": rewriter, "search": {"rounds": 10}}, 500)
    assert found.calls == 500 * 11
    assert found.dollars == pytest.approx((found.prompt_tokens + 2 * found.completion_tokens) / 1e6)
    razor = {"_target_": "fairlab.augmentation.razor.Razor", "k": 50, "candidates": 2, "rounds": 10}
    unpaid = calls_of({"llm": llm | {"price": None}, "augmentation": razor}, None)
    assert (unpaid.calls, unpaid.dollars, unpaid.free) == (2000, None, False)
    assert calls_of({"llm": {}}, 5) is None


def test_the_sum_counts_every_seed_and_says_what_is_not_in_it():
    """An H100 computes 67 TFLOP/s in float32: 1.08e16 FLOP take 97 s of it at 46 %, 448 s at 10 %."""
    work = Work(320, 32, 1, 10, 5.0, "given")
    known = RunPlan("a", work=work, flops=3.6e15, times=3)
    unknown = RunPlan("b", work=Work(None, 32, 1, None, 5.0, "not known"))
    text = plan_text("Plan", [known, unknown], {"c": "not public", "d": "not public"})
    assert text.index("All together") < text.index("Inputs from elsewhere") < text.index("Runs\n")
    assert "a, 3 seeds\n    training        320 items (given), 10 steps of 32" in text
    assert "  training: 1.1e+16 FLOP in 3 runs, one after the other\n" in text
    assert "    on NVIDIA H100: 5.8 to 27 minutes\n" in text
    assert "1 more runs train on an unknown number of items and are not in the sum" in text
    assert "  c, d: not public" in text


def test_what_is_downloaded_and_what_is_brought_by_hand_is_counted_once():
    needs = [
        Need("here", "at this place", "buy it"),
        Need("model", "", "downloaded", 2_000_000_000),
        Need("other model", "", "downloaded", 1_500_000_000),
        Need("of unknown size", "", "downloaded", None),
        Need("licensed", "", "sign and fetch it"),
        Need("made", "", f"{MADE} its command below"),
    ]
    text = plan_text("Plan", [RunPlan("a", needs=needs), RunPlan("b", needs=needs)])
    (line,) = (one for one in text.splitlines() if one.startswith("  downloads: "))
    assert re.findall(r"[\d.]+", line) == ["3.5", "1", "1"]


def test_a_task_of_the_hub_needs_its_dataset_and_one_of_a_file_does_not(tmp_path):
    for path, expected in (("hub", 1), (str(tmp_path / "groups.jsonl"), 0)):
        needs = needs_of(config_of(tmp_path, path=path, task="rte") | {"models": []})
        assert sum("dataset of the hub" in need.name for need in needs) == expected


def test_equal_runs_share_one_table_and_show_one_command():
    work = Work(320, 32, 1, 10, 5.0, "given")
    runs = [RunPlan(name, [["python", "-m", name]], work=work, times=2) for name in "ab"]
    text = plan_text("Plan", runs)
    assert "a, b, 2 seeds each\n    python -m a\n    training  " in text
    assert "python -m b" not in text


@pytest.mark.parametrize(
    ("method", "name", "said"),
    [
        ("ccd_linear.CCDLinear", "sentence-transformers/all-MiniLM-L6-v2", "no network is trained by gradients"),
        ("ccd.CCD", "nobody/nothing", "nobody/nothing is neither here nor listed"),
    ],
)
def test_what_a_training_takes_is_not_made_up(method, name, said):
    config = {
        "method": {"_target_": f"fairlab.methods.{method}", "epochs": 15},
        "backbone": {"_target_": "fairlab.backbones.loading.load_backbone", "name": name},
    }
    plan = plan_of_run("one", config)
    assert plan.flops is None
    assert f"    computation     not estimated: {said}" in plan_text("t", [plan]).splitlines()


def test_a_model_that_names_no_inner_width_has_four_times_its_own(tmp_path):
    settings = {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 10, "n_positions": 16}
    (tmp_path / "config.json").write_text(json.dumps(settings | {"bos_token_id": 0, "eos_token_id": 0}))
    found = model_size({"name": str(tmp_path)})
    assert found.inner == 32
    assert found.stored == 4 * found.parameters  # there are no weights, which would have four bytes each


def test_the_computation_of_a_training_by_hand(tmp_path):
    """MiniLM: 6 layers of 4 (384^2 + 384) + 2 * 384 * 1,536 + 1,536 + 384 + 4 * 384 weights, a norm, and a pooler."""
    backbone = {"name": "sentence-transformers/all-MiniLM-L6-v2", "max_length": 10}
    method = {"_target_": "fairlab.methods.ccd.CCD", "epochs": 2, "dropout": False}
    weights = 6 * (591_360 + 1_179_648 + 1_536 + 384 + 1_536) + 2 * 384 + 147_840
    plan = plan_of_run("", config_of(tmp_path) | {"method": method, "backbone": backbone})
    assert plan.flops == 6 * weights * plan.work.read
