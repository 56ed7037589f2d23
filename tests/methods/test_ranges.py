"""Values outside the annotations of the methods, which are refused before a method is built."""

import pytest

from fairlab.checks.values import node_faults


@pytest.mark.parametrize(
    ("target", "values", "sentence"),
    [
        ("ccd.CCD", {"beta": -0.1}, "method.beta must be a number of at least 0, not -0.1"),
        ("ccd.CCD", {"rho": 0}, "method.rho must be variance, std or rms or a number above 0, not 0"),
        ("ccd.CCD", {"neutral": "all"}, "method.neutral must be own or batch, not all"),
        ("ccd.CCD", {"lr": 0}, "method.lr must be a number above 0, not 0"),
        ("ccd.CCD", {"epochs": 0}, "method.epochs must be a whole number of at least 1, not 0"),
        ("ccd_linear.CCDLinear", {"lean": 1.2}, "method.lean must be a number from 0 to 1, not 1.2"),
        ("ccd_linear.CCDLinear", {"drift": -1}, "method.drift must be a number of at least 0, not -1"),
        ("leace.LEACE", {"ridge": -1}, "method.ridge must be a number of at least 0, not -1"),
        ("leace.LEACE", {"covariance": "all"}, "method.covariance must be classes or within, not all"),
        ("inlp.INLP", {"classifiers": 0}, "method.classifiers must be a whole number of at least 1, not 0"),
        ("sentence_debias.SentenceDebias", {"components": 0}, "method.components must be a whole number of at least 1"),
        ("adept.ADEPT", {"rho": 0}, "method.rho must be a number above 0, scaled or null, not 0"),
        ("dpce.DPCE", {"alpha": -1}, "method.alpha must be a number of at least 0, not -1"),
        ("mlm.MLM", {"rank": 0}, "method.rank must be a whole number of at least 1 or null, not 0"),
        ("mlm.MLM", {"clip": -1}, "method.clip must be a number of at least 0, not -1"),
        ("causal_lm.CausalLMTuning", {"alpha": 0}, "method.alpha must be a number above 0 or null, not 0"),
        ("perturber.PerturberTraining", {"decay": 2}, "method.decay must be a number from 0 to 1, not 2"),
        (
            "sequence_classifier.SequenceClassifier",
            {"patience": 0},
            "method.patience must be a whole number of at least",
        ),
    ],
)
def test_a_value_that_does_not_fit(target, values, sentence):
    (found,) = node_faults("method", {"_target_": f"fairlab.methods.{target}"} | values)
    assert found.startswith(sentence)
