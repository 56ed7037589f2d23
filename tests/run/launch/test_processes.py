"""Two processes of a run against one: every method, benchmarks, and what happens when one of them fails."""

import copy
import json
from types import SimpleNamespace

import lightning
import pytest
import torch
from omegaconf import OmegaConf
from torch.distributed.tensor import DTensor
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import find_weights
from fairlab.benchmarks.runner import measure
from fairlab.data.counterfactual import GroupBatch
from fairlab.distributed import (
    BatchShare,
    gather_over_ranks,
    mean_or_zero,
    own_share,
    rank,
    ranks,
    sum_over_ranks,
    without_items,
)
from fairlab.methods.causal_lm import CausalLMTuning
from fairlab.methods.ccd import CCD
from fairlab.methods.debiasing.rew import ReW
from fairlab.methods.mlm import MLM
from fairlab.methods.perturber import PerturberTraining
from fairlab.methods.sequence_classifier import SequenceClassifier
from fairlab.methods.sharding import gather_sharded_weights
from fairlab.record import Outcome, Reading, Record
from fairlab.run.checkpoints import Checkpoints
from fairlab.run.history import History
from fairlab.run.launch.processes import _why_it_ended, count_of, refuse_other_count, run_in_processes
from fairlab.run.launch.sharded import Sharded
from fairlab.types import CannotScore, Description, FairlabError
from tests.conftest import MINILM, WORDS
from tests.data import test_entries
from tests.methods import test_causal_lm, test_ccd, test_mlm, test_perturber, test_sequence_classifier
from tests.run.failing import be_killed, fail
from tests.tiny_models import SMALL, byte_tokenizer

QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "num_sanity_val_steps": 0}


def encoder(tokenizer):
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    # In double precision: Adam's first steps go by the sign of gradients, also of those that rounding alone makes.
    model = BertModel(BertConfig(**SMALL, **size)).eval().double()
    return Backbone(model, copy.deepcopy(tokenizer), pooling="mean", max_length=32, normalize=False)


def encoder_decoder(tokenizer):
    torch.manual_seed(0)
    size = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(
        vocab_size=30522, max_position_embeddings=64, bos_token_id=101, **test_perturber.IDS, **size, **heads
    )
    model = BartForConditionalGeneration(config).eval().double()
    return Backbone(model, copy.deepcopy(tokenizer), pooling="mean", max_length=48, normalize=False)


def causal(folder):
    torch.manual_seed(0)
    words = byte_tokenizer()
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = LlamaConfig(vocab_size=len(words), max_position_embeddings=64, bos_token_id=0, eos_token_id=0, **size)
    model = LlamaForCausalLM(config).eval().double()
    backbone = Backbone(model, words, pooling="mean", max_length=32, normalize=False)
    texts = [f"he saw the {WORDS[k % 11]} and he wrote of {k}" for k in range(40)]
    (folder / "reports.txt").write_text("\n\n".join(texts))
    return backbone, test_entries.make(backbone, str(folder / "reports.txt"), sample=13)


def cases(tokenizer, folder):
    """Method and data by name; the last batch of an epoch is one item, so that one of two processes has none."""
    values = {"lr": 1e-3, "validate_every": 2}
    backbone = encoder(tokenizer)
    yield "ccd", CCD(backbone, **test_ccd.VALUES | values), test_ccd.make_data(backbone, folder, 11)
    backbone = encoder(tokenizer)
    changes = {"rank": None, "preserve": 1.0, "whole_words": True}
    data = test_mlm.make_data(backbone, folder, 24, limit=13)
    yield "mlm", MLM(backbone, **test_mlm.VALUES | values | changes), data
    backbone = encoder_decoder(tokenizer)
    data = test_perturber.make_data(backbone, folder, 24, limit=13)
    yield "perturber", PerturberTraining(backbone, **test_perturber.VALUES | values), data
    for name, adapters in {"causal": None, "adapters": 4}.items():
        backbone, data = causal(folder)
        yield name, CausalLMTuning(backbone, **test_causal_lm.VALUES | values | {"rank": adapters}), data
    backbone = encoder(tokenizer)
    data = test_sequence_classifier.make_data(backbone, folder, "mnli", limit=13)
    settings = test_sequence_classifier.VALUES | values
    yield "classifier", SequenceClassifier(backbone, **settings), data
    backbone = encoder(tokenizer)
    data = test_sequence_classifier.make_data(backbone, folder, "mnli", limit=13)
    debiasing = ReW(weights="lmi", at_least=1, steps=1)
    yield "weighted classifier", SequenceClassifier(backbone, **settings, debiasing=debiasing), data


def train_all(folder, strategy="ddp"):
    """The history of every method, trained by the processes there are."""
    tokenizer = AutoTokenizer.from_pretrained(find_weights(**MINILM))
    own = folder / str(rank())
    own.mkdir(parents=True)
    histories = {}
    several = {"devices": ranks()} if ranks() > 1 else {}
    for name, method, data in cases(tokenizer, own):
        history = History(folder / name)
        checkpoints = Checkpoints(folder / name, 2, monitor=getattr(method, "monitor", "validation/loss"))
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_epochs=1,
            val_check_interval=2,
            log_every_n_steps=1,
            use_distributed_sampler=False,
            callbacks=[history, checkpoints],
            default_root_dir=own,
            **QUIET,
            **several | ({"strategy": Sharded() if strategy == "fsdp" else strategy} if several else {}),
        )
        (folder / name).mkdir(exist_ok=True)
        trainer.fit(method, data)
        histories[name] = history.rows
        assert (folder / name / "best.ckpt").is_file(), "a checkpoint is there for all processes once it is saved"
        shapes, kind = {key: value.shape for key, value in method.state_dict().items()}, type(method)
        gather_sharded_weights(method)
        method.load_state_dict(torch.load(folder / name / "best.ckpt", weights_only=True)["state_dict"])
        assert not any(isinstance(value, DTensor) for value in method.parameters())
        assert {key: value.shape for key, value in method.state_dict().items()} == shapes
        assert (type(method) is kind) == (strategy != "fsdp" or ranks() == 1)
    return histories


class Counting:
    """A benchmark that says which process measured it."""

    def __init__(self, name, fails=None):
        self.name, self.fails = name, fails

    version = 1
    description = Description("counting", "Counting", "?", {})

    def measure(self, backbone, before):
        if self.fails:
            raise self.fails
        return Outcome([Reading(self.name, "", "rank", float(rank()), "", None, 1, 0.0, 1.0)])


def measured(folder):
    """Readings of five benchmarks, the fourth of which cannot score."""
    record = Record(folder / f"record_{rank()}", {"seed": 0}, "")
    record.folder.mkdir()
    benchmarks = [Counting(name) for name in "abc"] + [Counting("d", CannotScore("no head")), Counting("e")]
    measure(benchmarks, encoder(AutoTokenizer.from_pretrained(find_weights(**MINILM))), "", record)
    return record


def primitives():
    """What the processes share by themselves: here 5 items."""
    batch = GroupBatch(torch.arange(10), torch.arange(10), torch.arange(5), list("abcde"))
    assert own_share(batch.ids) == list("abcde")[rank() :: ranks()]
    none = without_items(batch)
    assert (none.ids, none.input_ids.tolist(), none.positions.dtype) == ([], [], torch.long)
    own = torch.tensor(own_share(range(5)))
    values = own.double().requires_grad_()
    part = BatchShare(len(values), torch.device("cpu"))
    assert part.total == 5
    assert part.mean(mean_or_zero(values)).item() == pytest.approx(2.0)
    (gradient,) = torch.autograd.grad(part.loss(mean_or_zero(values)), values)
    assert gradient.tolist() == pytest.approx([ranks() / 5] * len(values))
    assert sum_over_ranks(torch.tensor(rank())) == sum(range(ranks()))
    assert gather_over_ranks(rank()) == list(range(ranks()))


def everything(folder):
    primitives()
    measured(folder).save()
    histories = train_all(folder)
    if rank() == 0:
        (folder / "histories.json").write_text(json.dumps(histories))
        print("rank 0 prints")


def test_one_process_is_a_share_of_everything():
    primitives()


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_do_what_one_does(tmp_path, capfd):
    alone = tmp_path / "alone"
    together = tmp_path / "together"
    alone.mkdir()
    together.mkdir()
    everything(alone)
    assert capfd.readouterr().out.count("rank 0 prints") == 1
    run_in_processes(2, everything, together)
    assert capfd.readouterr().out.count("rank 0 prints") == 1
    assert ranks() == 1
    histories, shared = (json.loads((folder / "histories.json").read_text()) for folder in (alone, together))
    assert len(histories) == 7
    for name, rows in histories.items():
        assert len(rows) == len(shared[name]) >= 3
        for row, other in zip(rows, shared[name], strict=True):
            assert set(row) == set(other)
            for key, value in row.items():
                assert other[key] == pytest.approx(value, rel=1e-5, abs=1e-6), (name, key)
    record, first, second = (Record.load(folder) for folder in (alone / "record_0", *together.glob("record_*")))
    assert {reading.key for reading in first.readings} == {reading.key for reading in record.readings}
    assert [reading.value for reading in first.readings] == [0, 1, 0, 0]  # e is the first of the third round
    assert [entry.reason for entry in first.not_run] == ["no head"]
    assert second.readings == first.readings, "comparisons need what other processes measured"


def divided(folder):
    histories = train_all(folder, "fsdp")
    if rank() == 0:
        (folder / "histories.json").write_text(json.dumps(histories))


@pytest.mark.slow
@pytest.mark.long
def test_weights_divided_among_two_processes_train_as_whole_ones(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    for folder in (alone, together):
        folder.mkdir()
    divided(alone)
    run_in_processes(2, divided, together)
    histories, shared = (json.loads((folder / "histories.json").read_text()) for folder in (alone, together))
    assert len(histories) == 7
    for name, rows in histories.items():
        for row, other in zip(rows, shared[name], strict=True):
            for key, value in row.items():
                assert other[key] == pytest.approx(value, rel=1e-5, abs=1e-6), (name, key)


PREFIX = "process {} of 2 ended before the run did: "


@pytest.mark.parametrize(
    ("task", "arguments", "sentence"),
    [
        pytest.param(
            fail, (0, FairlabError("no such file; give another")), "no such file; give another", marks=pytest.mark.slow
        ),
        pytest.param(
            fail, (1, FairlabError("no such file")), PREFIX.format(1) + "no such file", marks=pytest.mark.slow
        ),
        (fail, (1, ValueError("a bug")), PREFIX.format(1) + "ValueError: a bug"),
        pytest.param(be_killed, (1,), PREFIX.format(1) + "Signal 9 (SIGKILL) received by PID ", marks=pytest.mark.slow),
        pytest.param(be_killed, (0,), PREFIX.format(0) + "Signal 9 (SIGKILL) received by PID ", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_process_that_fails_ends_the_run_with_its_words(capfd, task, arguments, sentence):
    with pytest.raises(FairlabError) as error:
        run_in_processes(2, task, *arguments)
    assert str(error.value).rstrip("0123456789") == sentence
    printed = capfd.readouterr().err
    assert ("Traceback" in printed) == ("bug" in sentence), "a bug's traceback is shown, and nothing else"


@pytest.mark.parametrize(
    ("trainer", "count"),
    [
        ({"devices": 1}, 1),
        ({}, 1),
        *[({"accelerator": "cpu", "devices": every}, 1) for every in (-1, "-1")],
        *[({"devices": every}, 4) for every in (-1, "auto")],
        ({"accelerator": "cpu", "devices": 3}, 3),
        ({"accelerator": "cpu", "devices": "auto"}, 1),
        ({"accelerator": "gpu", "devices": [0, 2]}, 2),
        ({"accelerator": "cpu", "devices": 2, "num_nodes": 4}, 8),
    ],
)
def test_the_number_of_processes(monkeypatch, trainer, count):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert count_of(OmegaConf.create(trainer)) == count


@pytest.mark.parametrize("devices", [0, -2, "two"])
def test_a_wrong_number_is_refused(devices):
    with pytest.raises(FairlabError, match="devices"):
        count_of(OmegaConf.create({"devices": devices}))


def test_torchrun_must_start_as_many_as_are_asked_for(monkeypatch):
    for name, value in {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    words = r"torchrun started 4 processes, but .* ask for 2"
    with pytest.raises(FairlabError, match=words):
        refuse_other_count(2)


@pytest.mark.parametrize(
    ("number", "message", "exitcode", "sentence", "printed"),
    [
        (0, "FairlabError: no file; give one", 1, "no file; give one", ""),
        (1, "FairlabError: no file;\n give one", 1, PREFIX.format(1) + "no file; give one", ""),
        (0, "ValueError: a  bug", 1, PREFIX.format(0) + "ValueError: a bug", "stack\n"),
        (1, None, 1, PREFIX.format(1) + "exit status 1", ""),
        (1, None, -9, PREFIX.format(1) + "Signal 9", ""),
    ],
)
def test_what_is_said_of_the_process_that_failed_first(capsys, number, message, exitcode, sentence, printed):
    said = {"message": message, "extraInfo": {"py_callstack": "stack"}} if message else "Signal 9"
    failure = SimpleNamespace(message=said, exitcode=exitcode)
    assert (_why_it_ended(number, failure, 2), capsys.readouterr().err) == (sentence, printed)
