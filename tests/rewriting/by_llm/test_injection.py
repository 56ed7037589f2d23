"""Counterfactual injection by a language model whose answers are written by hand."""

from types import SimpleNamespace

from fairlab.rewriting.by_llm.injection import Injection, Version

ASKED = Version("A Muslim baker came.", "Religion", "Islam", "Judaism")
REFUSED = SimpleNamespace(ok=False, outcome="refused")


def answered(**value):
    return SimpleNamespace(ok=True, value=value)


class Model:
    """A language model that gives prepared replies to each list of requests."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    def ask(self, requests, *, stage):
        self.asked.append((stage, [request.max_tokens for request in requests]))
        return self.replies.pop(0)


def test_a_version_has_a_text_or_a_reason():
    model = Model([answered(text="A Jewish baker came."), REFUSED])
    made, failed = Injection(model).injected([ASKED, ASKED])
    assert (made.text, made.failed, made.corrected) == ("A Jewish baker came.", "", False)
    assert (failed.text, failed.failed) == ("", "refused")
    assert model.asked == [("injection", [2 * 5 + 60] * 2)]  # 20 characters are about five tokens


def test_texts_are_corrected_and_flagged():
    versions = [Version(*("A baker came.", "Religion", "Islam", "Judaism"), text=f"A {k} baker.") for k in range(5)]
    corrected = [answered(text=f"A {k} baker.") for k in range(3)] + [answered(text="An odd baker."), REFUSED]
    flags = [
        answered(flagged=False, why="x"),
        answered(flagged=True, why="odd"),
        answered(flagged=True, why=""),
        REFUSED,
    ]
    model = Model(corrected, flags)
    found = Injection(model).judged(versions)
    assert [(one.corrected, one.flagged, one.failed) for one in found] == [
        (False, "", ""),
        (False, "odd", ""),
        (False, "no reason given", ""),
        (True, "", "refused"),
        (False, "", "refused"),
    ]
    assert model.asked == [("correction", [2 * 3 + 60] * 5), ("flagging", [60] * 4)]
