from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from fairlab.backbones.model_object import ModelObject
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.db_index import DBIndexBenchmark
from fairlab.benchmarks.finding import own_parts, refuse_undescribed
from fairlab.benchmarks.needs import LACKING, OF_AN_ENCODER_DECODER, offered_by, why_lacking, why_not_measured
from fairlab.benchmarks.perplexity import Perplexity
from fairlab.benchmarks.runner import measure
from fairlab.benchmarks.safety import Safety
from fairlab.benchmarks.stsb import STSB
from fairlab.data.safety import Judged
from fairlab.record import Record
from fairlab.run.planning.plan import plan_of_run, plan_text
from fairlab.types import Description, FairlabError


@dataclass
class Encoder:
    """An object that only encodes."""

    width: int = 4

    def embed(self, texts, **_):
        return np.ones((len(texts), self.width))


@pytest.mark.parametrize(
    ("kind", "offered"),
    [
        ("BertModel", {"embeddings"}),
        ("BertForMaskedLM", {"embeddings", "token_log_probabilities", "option_scores"}),
        ("BertForPreTraining", {"embeddings", "token_log_probabilities", "option_scores"}),
        ("ElectraForPreTraining", {"embeddings"}),  # its head tells replaced tokens
        ("LlamaForCausalLM", {"embeddings", "token_log_probabilities", "option_scores", "texts"}),
        ("GPT2LMHeadModel", {"embeddings", "token_log_probabilities", "option_scores", "texts"}),
        ("BartForConditionalGeneration", {"embeddings", "texts"}),
        ("RobertaForSequenceClassification", {"embeddings", "labels"}),
    ],
)
def test_what_a_class_offers(kind, offered):
    assert offered_by(kind) == offered


def test_the_first_need_that_is_not_met_is_told():
    assert why_lacking("X", {"embeddings"}, ("embeddings",)) == ""
    assert why_lacking("X", {"embeddings"}, ("embeddings", "labels", "texts")).startswith(
        "X has no classification head"
    )
    assert why_lacking("X", (), ()) == ""
    bart = partial(why_lacking, "BartForConditionalGeneration", {"embeddings", "texts"})
    for need in ("token_log_probabilities", "option_scores"):
        assert bart((need,)).endswith(OF_AN_ENCODER_DECODER)
    assert bart(("labels",)).endswith(LACKING["labels"])


def test_an_object_may_say_itself_why_it_lacks_something():
    known = ModelObject(
        "m", encode=lambda texts: np.ones((len(texts), 4)), lacks={"token_log_probabilities": "is mute"}
    )
    assert why_not_measured(Perplexity(None, 10), known) == "m is mute"
    assert why_not_measured(STSB(), known) == ""
    assert why_not_measured(STSB(), ModelObject("m")).startswith("m embeds no texts")


def test_every_need_is_one_that_can_be_met():
    needs = {
        need for part in own_parts() for need in (part if isinstance(part, Description) else part.description).needs
    }
    assert needs <= set(LACKING)
    assert needs >= {"embeddings", "token_log_probabilities", "texts", "labels", "harm_scores"}


def test_an_object_that_encodes_an_ensemble_and_data():
    judged = Judged({}, [], np.zeros((0, 0)), {})
    assert why_not_measured(STSB(), Encoder()) == ""
    assert why_not_measured(Perplexity(None, 10), Encoder()).startswith("Encoder has no language-modelling head")
    assert why_not_measured(Safety(of="test", threshold=0.5), Encoder()).startswith("Encoder scores no harms")
    assert why_not_measured(Safety(of="test", threshold=0.5), judged) == ""
    assert why_not_measured(STSB(), judged) == "Judged embeds no texts; give an encoder"
    assert why_not_measured(DBIndexBenchmark(vectors=""), Encoder()).startswith("it measures a dataset, not a model")


def test_what_is_lacking_is_not_run_before_anything_is_read(tiny, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("it was measured")

    monkeypatch.setattr(Perplexity, "measure", never)
    record = Record(tmp_path, {"seed": 0}, "")
    measure([Perplexity(None, 10)], tiny, "", record)
    (entry,) = record.not_run
    assert (entry.benchmark, entry.reason) == (
        "perplexity",
        "BertModel has no language-modelling head; take a checkpoint saved with one",
    )
    assert not record.readings


def test_a_plan_says_what_will_not_be_run(tiny_folders):
    config = {
        "models": [{"name": str(tiny_folders["bert"])}],
        "benchmark": {"perplexity": {}, "stsb": {}},
    }
    plan = plan_of_run("one", config)
    assert plan.not_run == {"perplexity": "BertModel has no language-modelling head; take a checkpoint saved with one"}
    assert "    not run         perplexity: BertModel has no language-modelling head" in plan_text("t", [plan])


def test_a_need_of_another_name_is_refused():
    class Own(CCED):
        __module__ = "my_benchmarks"

    own = Own.__new__(Own)
    own.description = replace(CCED.description, name="own", needs=("vibes",))
    with pytest.raises(
        FairlabError, match=r"needs 'vibes'; the possible needs are: embeddings, token_log_probabilities"
    ):
        refuse_undescribed(own)
