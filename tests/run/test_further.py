"""Methods one after the other in one run."""

import pytest
import torch
from omegaconf import OmegaConf

from fairlab.methods.inlp import INLP
from fairlab.methods.sentence_debias import SentenceDebias
from fairlab.run.further import facts_after_fitting, further_methods, method_settings
from fairlab.types import FairlabError
from tests.methods.test_ccd import make_data


def config(*then, scale="quickstart"):
    return OmegaConf.create({"then": list(then), "scale": {"name": scale}, "seed": 42})


def test_each_works_on_what_the_ones_before_left(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    first, second = further_methods(config("sentence_debias", "inlp"), tiny, data)
    assert isinstance(first, SentenceDebias)
    assert isinstance(second, INLP)
    second.classifiers = 1
    first.fit(data)
    after_first = tiny.projection.clone()
    second.fit(data)
    both = tiny.projection
    # What the first took away stays away, and the second took away more.
    assert torch.linalg.matrix_rank(both) < torch.linalg.matrix_rank(after_first) < tiny.width
    gone = torch.linalg.svd(after_first)[2][torch.linalg.matrix_rank(after_first) :]
    torch.testing.assert_close(both @ gone.T, torch.zeros(tiny.width, len(gone)), atol=1e-4, rtol=0)


def test_the_record_holds_the_facts_of_each(tiny, tmp_path):
    data = make_data(tiny, tmp_path)
    facts = facts_after_fitting(further_methods(config("sentence_debias"), tiny, data), data)
    assert [one["title"] for one in facts["then"]] == [SentenceDebias.title]
    assert tiny.projection is not None
    assert facts_after_fitting([], data) == {}


def test_settings_are_those_of_the_file_at_the_scale():
    quick, paper = (method_settings("inlp", scale)["classifiers"] for scale in ("quickstart", "paper"))
    assert quick < paper == 80


def test_a_setting_may_be_another(tiny, tmp_path):
    inlp, linear = further_methods(config({"inlp": {}}, {"ccd_linear": {"lean": 1}}), tiny, make_data(tiny, tmp_path))
    assert isinstance(inlp, INLP)
    assert linear.lean == 1 != method_settings("ccd_linear", "quickstart")["lean"]


def test_nothing_follows_unless_asked(tiny):
    assert further_methods(config(), tiny, object()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ccd", "then=ccd cannot follow another method"),
        ("inlq", "then=inlq names no method; there are adept, "),
        ({"ccd_linear": {"leen": 1}}, "then=ccd_linear has no setting leen; there are lean, drift, "),
        ({"ccd_linear": {"lean": "most"}}, "lean"),
        ({"ccd_linear": 1}, "then must list methods such as inlp or "),
        ({"inlp": {}, "ccd_linear": {}}, "then must list methods such as inlp or "),
        ({}, "then must list methods such as inlp or "),
    ],
)
def test_what_makes_no_sense_is_refused(tiny, tmp_path, name, message):
    with pytest.raises(FairlabError, match=message):
        further_methods(config(name), tiny, make_data(tiny, tmp_path))


def test_data_without_groups_is_refused_before_training(tiny):
    with pytest.raises(FairlabError, match="needs counterfactual groups"):
        further_methods(config("inlp"), tiny, object())
