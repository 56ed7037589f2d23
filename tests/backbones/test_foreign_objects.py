"""Objects of other tools: lm-evaluation-harness' language models and MTEB's encoders, by their contracts."""

import importlib.util
import sys
import types

import numpy as np
import pytest

import fairlab
from fairlab.backbones.causal_lm import CausalLM
from fairlab.types import CannotScore, FairlabError

TEXTS = ["She is a nurse.", "He left.", "She is a nurse."]
PAIRS = [("The nurse was tired.", " She slept."), ("A", " b c")]


class HarnessModel:
    """Stands for a ``TemplateLM``: requests with ``args``, one (log-likelihood, is greedy) or one number for each."""

    def __init__(self, backbone):
        self.backbone, self.scorer = backbone, CausalLM(backbone)

    def tok_encode(self, string, add_special_tokens=None, **_):
        return self.backbone.tokenizer(string, add_special_tokens=False)["input_ids"]

    def loglikelihood(self, requests, disable_tqdm=False):
        sums = self.scorer.continuation_log_likelihoods([request.args for request in requests]).sums
        return [(value, False) for value in sums.tolist()]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        return self.scorer.log_likelihoods([text for (text,) in (request.args for request in requests)]).sums.tolist()


@pytest.fixture
def causal(tiny_folders):
    return fairlab.load(tiny_folders["gpt2"], max_length=64)


def test_a_harness_model_scores_as_its_weights(causal):
    found, own = fairlab.load(HarnessModel(causal)), CausalLM(causal)
    assert found.offers == {"token_log_probabilities"}
    for remote, local in (
        (found.scorer.log_likelihoods(TEXTS), own.log_likelihoods(TEXTS)),
        (found.scorer.continuation_log_likelihoods(PAIRS), own.continuation_log_likelihoods(PAIRS)),
    ):
        assert np.allclose(remote.sums, local.sums)
        assert remote.counts.tolist() == local.counts.tolist()
    with pytest.raises(CannotScore, match="only reads texts in its own way"):
        found.scorer.log_likelihoods(TEXTS, start_apart=True)


@pytest.mark.data
def test_a_harness_model_gives_the_readings_of_its_weights(causal):
    names = ["crows_pairs", "cced"]
    found, own = (fairlab.evaluate(model, names, limit=2) for model in (HarnessModel(causal), causal))
    scored = {key: value for key, value in own.record.metrics().items() if not key.startswith("cced")}
    assert found.record.metrics() == pytest.approx(scored, abs=1e-5, nan_ok=True)
    assert found.record.metrics()
    lacking = {entry.benchmark: entry.reason for entry in found.not_run}
    assert "embeds no texts" in lacking["cced"]


def test_what_breaks_the_contract_is_one_sentence(causal):
    model = HarnessModel(causal)
    model.loglikelihood_rolling = lambda requests: [None] * len(requests)
    with pytest.raises(CannotScore, match="returns log-likelihoods that are NaN"):
        fairlab.load(model).scorer.log_likelihoods(TEXTS)
    model.loglikelihood_rolling = lambda requests: [0.0]
    with pytest.raises(CannotScore, match="returns 1 log-likelihoods for 2 requests"):
        fairlab.load(model).scorer.log_likelihoods(TEXTS)
    model.loglikelihood_rolling = lambda requests: 1 / 0
    with pytest.raises(CannotScore, match=r"HarnessModel raised an error \(ZeroDivisionError: division by"):
        fairlab.load(model).scorer.log_likelihoods(TEXTS)
    model.tok_encode = None
    with pytest.raises(FairlabError, match="has no tok_encode, which is needed to count its tokens"):
        fairlab.load(model)


class MtebEncoder:
    """Stands for an encoder of MTEB 2: ``encode`` of batches, with the task by keyword."""

    def __init__(self, backbone):
        self.backbone = backbone

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        assert task_metadata.name == "STSBenchmark"
        assert list(inputs.dataset.features) == ["text"]  # as mteb's wrappers of SentenceTransformers read it
        return self.backbone.embed([text for batch in inputs for text in batch["text"]]).numpy()


def test_an_mteb_encoder_embeds_as_its_weights(tiny, monkeypatch):
    if importlib.util.find_spec("mteb") is None:
        task = types.SimpleNamespace(metadata=types.SimpleNamespace(name="STSBenchmark"))
        stand_in = types.SimpleNamespace(get_task=lambda name: task)
        monkeypatch.setitem(sys.modules, "mteb", stand_in)
    texts = [f"Text {k}." for k in range(70)]
    assert np.allclose(fairlab.load(MtebEncoder(tiny)).embed(texts), tiny.embed(texts), atol=1e-6)


def test_a_cross_encoder_is_measured_as_model_and_tokenizer(tiny_folders, tmp_path):
    from sentence_transformers import CrossEncoder
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(tiny_folders["bert"], num_labels=1)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_folders["bert"]).save_pretrained(tmp_path)
    cross = CrossEncoder(str(tmp_path), device="cpu")
    found = fairlab.load(cross)
    assert type(found.model).__name__ == "BertForSequenceClassification"
    assert np.allclose(found.embed(TEXTS), fairlab.load(tmp_path).embed(TEXTS), atol=1e-6)
