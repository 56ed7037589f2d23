"""What a plan says of sizes, work, hours and calls, against values known beforehand."""

import json
import re
from dataclasses import replace

import pytest

from fairlab.run.planned import models_of
from fairlab.run.planning.calls import Calls, calls_of
from fairlab.run.planning.hours import SHARE, Device, gpus
from fairlab.run.planning.memory import Memory
from fairlab.run.planning.needs import MADE, Need, needs_of
from fairlab.run.planning.plan import RunPlan, plan_of_run, plan_text
from fairlab.run.planning.sizes import model_size
from fairlab.run.planning.work import Work, training_flops, training_work
from fairlab.types import FairlabError


@pytest.fixture
def nothing_here(monkeypatch):
    """Leave out models that a cache holds, whose files have a size of their own."""
    monkeypatch.setattr("fairlab.run.planning.sizes.folder_at_hand", lambda *_: None)


@pytest.mark.parametrize(
    ("name", "parameters", "table", "stored"),
    [  # as their authors and the hub's pages state them; tables of words, positions and segments; bytes of a weight
        ("google-bert/bert-large-uncased", 335_141_888, (30_522 + 512 + 2) * 1024, 4),
        ("google-bert/bert-base-uncased", 109_482_240, (30_522 + 512 + 2) * 768, 4),
        ("FacebookAI/roberta-base", 124_645_632, (50_265 + 514 + 1) * 768, 4),
        ("distilbert/distilbert-base-uncased", 66_362_880, (30_522 + 512) * 768, 4),
        ("facebook/bart-large", 406_291_456, (50_265 + 2 * 1026) * 1024, 4),
        ("meta-llama/Llama-2-13b-chat-hf", 13_015_864_320, 32_000 * 5120, 2),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008, 0, 2),  # its head has the same weights
    ],
)
@pytest.mark.usefixtures("nothing_here")
def test_parameters_of_known_models_are_counted_from_their_configuration(name, parameters, table, stored):
    found = model_size({"name": name})
    assert (found.parameters, found.embeddings, found.stored) == (parameters, table, stored * parameters)
    assert found.multiplied == parameters - table


@pytest.mark.usefixtures("nothing_here")
def test_shapes_of_models_with_a_decoder_and_with_a_gate():
    bart = model_size({"name": "facebook/bart-large"})
    assert (bart.layers, bart.width, bart.inner, bart.vocabulary) == (24, 1024, 4096, 50_265)
    llama = model_size({"name": "HuggingFaceTB/SmolLM2-135M-Instruct"})
    assert (llama.layers, llama.inner, llama.gated, bart.gated) == (30, 1536, True, False)
    packed = model_size({"name": "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"})
    assert packed.stored == pytest.approx(0.63 * packed.parameters)  # five bits a weight


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
    assert gpus()[0] == Device("NVIDIA L4", 30.3e12, 121e12, 24e9)


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
    config["data"] = data | {"validation": 0.5}  # which the dataset marks itself
    assert training_work(config).steps == 90


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


@pytest.mark.parametrize(
    ("settings", "trainer", "tokens", "layers"),
    [  # three texts of ten tokens for each of 32 groups; 6 layers of 24,576 bytes, and 4,608 of embeddings
        ({"dropout": False}, {}, 960, 6 * 24_576),
        ({}, {}, 960, 6 * (24_576 + 2 * 384)),
        ({"dropout": False}, {"device_batch_size": 8}, 240, 6 * 24_576),
        ({"dropout": False}, {"device_batch_size": 64}, 960, 6 * 24_576),
        ({"dropout": False}, {"devices": 5}, 210, 6 * 24_576),  # seven of 32 groups each
        ({"dropout": False, "checkpointing": True}, {}, 960, 6 * 1536 + 24_576),
        ({"dropout": False}, {"recompute": "full"}, 960, 6 * 1536 + 24_576),
        ({"dropout": False}, {"devices": 5, "strategy": "fsdp"}, 210, 6 * 24_576),
    ],
)
def test_values_kept_for_the_backward_pass_follow_the_settings(tmp_path, settings, trainer, tokens, layers):
    backbone = {"name": "sentence-transformers/all-MiniLM-L6-v2", "max_length": 10}
    config = config_of(tmp_path) | {"backbone": backbone, "trainer": trainer}
    plan = plan_of_run("", config | {"method": {"_target_": "fairlab.methods.ccd.CCD", **settings}})
    assert plan.memory.activations == tokens * (layers + 4608)
    shards = 5 if "strategy" in trainer else 1
    assert plan.memory.weights == round(4 * plan.size.parameters / shards)
    assert (plan.memory.gathered > 0) is (shards > 1)
    assert (plan.times, plan.mixed) == (1, False)


def test_weights_of_four_bits_are_multiplied_in_bfloat16(tmp_path):
    backbone = {"name": "sentence-transformers/all-MiniLM-L6-v2"}
    method = {"_target_": "fairlab.methods.ccd.CCD", "quantize": True, "rank": 8, "dropout": False}
    plan = plan_of_run("", config_of(tmp_path) | {"backbone": backbone, "method": method})
    assert plan.memory.weights == round(plan.size.parameters / 2)
    assert plan.memory.activations == 32 * 3 * 128 * (6 * 12_288 + 2304)  # 128 tokens unless a length is given
    assert plan.flops == 4 * plan.size.multiplied * plan.work.read


@pytest.mark.parametrize(
    ("method", "name", "words"),
    [
        ("mlm.MLM", "google-bert/bert-base-uncased", 3_516_134),  # 15 % of 30,522 x 768
        ("ccd.CCD", "google-bert/bert-base-uncased", 0),
        ("causal_lm_tuning.CausalLMTuning", "HuggingFaceTB/SmolLM2-135M-Instruct", 0),  # counted already
        ("causal_lm_tuning.CausalLMTuning", "facebook/bart-large", 50_265 * 1024),
    ],
)
def test_a_loss_over_words_multiplies_by_the_vocabulary(tmp_path, method, name, words):
    settings = {"_target_": f"fairlab.methods.{method}", **({"mask_share": 0.15} if "mlm" in method else {})}
    backbone = {"name": name, "max_length": 10}
    plan = plan_of_run("", config_of(tmp_path) | {"method": settings, "backbone": backbone})
    assert plan.flops == 6 * (plan.size.multiplied + words) * plan.work.read
    plain = plan_of_run("", config_of(tmp_path) | {"method": {"_target_": ".CCD"}, "backbone": backbone})
    share = 0.0 if "ccd" in method else settings.get("mask_share", 1.0)
    kept = round(share * 960) * 3 * plan.size.vocabulary * 4
    assert plan.memory.activations - plain.memory.activations == kept


def test_a_size_that_another_run_makes_stands_for_its_folder(tmp_path):
    size = model_size({"name": "google-bert/bert-base-uncased"})
    config = config_of(tmp_path) | {"method": {"_target_": ".CCD"}, "backbone": {"name": "out/runs/a/model"}}
    assert plan_of_run("", config, made={"runs/b": None, "runs/a": size}).size is size
    assert plan_of_run("", config, made={"runs/b": size}).size is None


def test_texts_of_an_augmentation_are_the_rows_of_its_input(tmp_path):
    (tmp_path / "a.txt").write_text("She left.\n" * 9)
    config = {"llm": {"model": "m"}, "input": str(tmp_path / "a.txt")}
    assert plan_of_run("", config).calls.calls == 9
    assert plan_of_run("", config | {"limit": 4}).calls.calls == 4
    assert plan_of_run("", {"llm": {"model": "m"}}).calls.calls == 1000


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
    plain = calls_of({"llm": llm | {"batch": True}}, 500)
    assert (plain.calls, plain.prompt_tokens, plain.completion_tokens) == (500, 500 * 60, 500 * 100)
    assert plain.dollars == pytest.approx(0.5 * (30_000 + 2 * 50_000) / 1e6)
    assert (plain.model, plain.free) == ("m", False)
    named = calls_of({"llm": {"name": "n", "price": llm["price"]}}, 1)
    assert (named.model, named.free) == ("n", False)
    assert calls_of({"llm": {"name": "n", "model": "m"}}, 1).model == "m"
    assert calls_of({"llm": {"api_key_env": None, "url": "u"}}, 1).free


def test_the_sum_of_memory_and_of_calls():
    gb = 10**9
    paid = Calls("m", 1200, "every 1,000 texts", 120_000, 1_500_000, 2.5, False)
    runs = [
        RunPlan("a", memory=Memory(gb, 2 * gb, 3 * gb, 4 * gb, 0), calls=paid),
        RunPlan("b", memory=Memory(gb, gb, gb, gb, gb // 2), calls=replace(paid, calls=300, dollars=None, free=True)),
    ]
    text = plan_text("Plan", runs)
    assert (
        "  memory of a device: 11 GB at most, libraries included\n  language models: 1,500 calls, about $2.50\n" in text
    )
    assert "weights 1 GB + gradients 2 GB + optimiser 3 GB + activations 4 GB = 10 GB, and" in text
    assert "activations 1 GB + gathered 0.5 GB = 4.5 GB" in text
    assert "about 0.12 million prompt tokens and 1.5 million of replies; about $2.50\n" in text
    assert "of replies; free\n" in text
    unknown = RunPlan("c", calls=replace(paid, dollars=None))
    assert "2,700 calls, about $2.50; a price is unknown for some\n" in plan_text("Plan", [*runs, unknown])
    assert "$" not in plan_text("Plan", runs[1:])
    assert "All together" not in plan_text("Plan", runs, single=True)
    assert "language models" not in plan_text("Plan", [RunPlan("d")])


@pytest.mark.parametrize(("total", "small"), [(23 * 10**9, False), (23 * 10**9 + 1, True)])
def test_a_memory_that_is_too_small_is_marked(total, small):
    run = RunPlan("a", flops=6.0e15, times=2, memory=Memory(total, 0, 0, 0, 0))
    text = plan_text("Plan", [run])
    assert "computation     6e+15 FLOP per seed: NVIDIA L4 7.2 to 33 minutes" in text  # 6e15 / 30.3e12 / 0.46 / 60
    assert text.count("(its memory is too small)") == small
    assert "6e+15 FLOP: " in plan_text("Plan", [replace(run, times=1)])


def test_runs_of_which_something_is_not_known():
    runs = [
        RunPlan("a", work=Work(None, 32, 1, None, 5.0, "there"), times=3),
        RunPlan("b", work=Work(1320, 32, 1, 1042, 5.25, "here"), times=2),
        RunPlan("c", not_run={"seat": "no head"}, calls=Calls("m", 3, "3 texts", 1_000_000_000, 2_000, None, False)),
        RunPlan("d", problem="no data"),
    ]
    lines = plan_text("Plan", runs).splitlines()
    assert "    training        an unknown number of items (there)" in lines
    assert "    training        1,320 items (here), 1,042 steps of 32, about 5.25 tokens per item" in lines
    assert sum(line.startswith("    computation     unknown") for line in lines) == 2
    assert "    not run         seat: no head" in lines
    assert any(
        "3 texts, about 1 billion prompt tokens and 0.002 million of replies; cost unknown" in one for one in lines
    )
    assert "    cannot be planned: no data" in lines
    assert "  5 more runs train on an unknown number of items and are not in the sum" in lines
    assert "a, 3 seeds" in lines
    assert "c" in lines


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
        Need("sold", "", "buy it"),
        Need("made", "", f"{MADE} its command below"),
    ]
    text = plan_text("Plan", [RunPlan("a", needs=needs), RunPlan("b", needs=needs)])
    (line,) = (one for one in text.splitlines() if one.startswith("  downloads: "))
    assert re.findall(r"[\d.]+", line) == ["3.5", "1", "2"]


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
