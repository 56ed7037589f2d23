"""Methods and sources from outside the package that lack something."""

import re

import pytest

from fairlab.methods.base import Fitted
from fairlab.methods.safety_ensemble.sources.registry import source_class
from fairlab.train import refuse_incomplete
from fairlab.types import FairlabError

TITLED = {"title": "mine", "limits": "An example.", "citation": "An example."}


def method(base=Fitted, **members):
    return type("Mine", (base,), members)()


def test_a_method_with_all_members_is_taken_and_one_without_fit_says_so():
    complete = method(encoder=object(), **TITLED)
    refuse_incomplete(complete)
    with pytest.raises(FairlabError, match="the method Mine has no fit; give its class one"):
        complete.fit(None)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (method(**TITLED), "the method Mine has no encoder; derive its class from fairlab.methods.base.Trained"),
        (method(encoder=1, **TITLED | {"limits": " "}), "the method Mine has no limits; give its class one"),
        (method(object, epochs=1, encoder=1, **TITLED), "the method Mine has no validate_every, steps, monitor"),
    ],
)
def test_what_a_method_lacks_is_named_in_a_sentence(made, said):
    with pytest.raises(FairlabError, match=re.escape(said)):
        refuse_incomplete(made)


def test_a_source_without_a_title_is_refused(tmp_path, monkeypatch):
    base = "fairlab.methods.safety_ensemble.sources.base"
    (tmp_path / "untitled_source.py").write_text(
        f"from {base} import Source\n\nclass Mine(Source):\n    limits = 'x'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FairlabError, match="the source Mine has no title; give its class one"):
        source_class("untitled_source.Mine")
