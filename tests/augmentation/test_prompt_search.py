"""Which wrong group algorithm 1 has corrected: the one with the highest confidence, which is measured."""

import json
from types import SimpleNamespace

import pytest

from fairlab.augmentation.prompt_search import PromptSearch, search_history
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.rewriting.group_rewriters import LLMGroups
from fairlab.types import FairlabError, ReviewNeeded
from tests.llm.stub import Act, Stub, said

TEXTS = ["The queen spoke.", "The policeman spoke.", "She left."]


def sure_of_all(payload, nth):
    """Never right, and always sure; samples for policemen agree, and those for queens do not."""
    text, seed = payload["messages"][-1]["content"], payload.get("seed", 0)
    other = f" {seed}" if "queen" in text else ""
    return said(json.dumps(dict.fromkeys(("neutral", "man", "woman"), text + other) | {"confidence": 1.0}))


def with_tokens(payload, nth):
    """The same, with log-probabilities: the queen's are the higher ones."""
    text = payload["messages"][-1]["content"]
    answer = json.dumps(dict.fromkeys(("neutral", "man", "woman"), text) | {"confidence": 1.0})
    content = [{"token": answer, "logprob": -0.5 if "queen" in text else -2.0}]
    choice = {"message": {"content": answer}, "finish_reason": "stop", "logprobs": {"content": content}}
    return Act(body=json.dumps({"choices": [choice]}).encode())


def searched(act, folder, texts=TEXTS, **values):
    with Stub(act) as stub:
        llm = LLM(Server(stub.url, "m"), "m", Ledger(folder / "ledger.sqlite"))
        rewriter = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, facts=False)
        search = PromptSearch(rewriter=rewriter, **{"rounds": 2, "corrector": "rules"} | values)
        rounds = search(texts, folder / "new" / "search")
    return rounds, stub.payloads


@pytest.mark.parametrize(
    ("act", "values", "text", "by", "confidence"),
    [
        (sure_of_all, {}, TEXTS[1], "samples", 1.0),
        (sure_of_all, {"samples": 0}, TEXTS[0], "stated", 1.0),
        (with_tokens, {}, TEXTS[0], "tokens", pytest.approx(0.6065, abs=1e-4)),
    ],
)
def test_the_group_to_correct_is_the_surest_by_tokens_else_by_samples(act, values, text, by, confidence, tmp_path):
    chosen = searched(act, tmp_path, **values)[0][0]["chosen"]
    assert (chosen["text"], chosen["confidence_by"], chosen["confidence"]) == (text, by, confidence)


def test_a_reviewer_is_shown_the_surest_group(tmp_path):
    with pytest.raises(ReviewNeeded):
        searched(with_tokens, tmp_path, corrector="file")
    review = tmp_path / "new" / "search" / "review-01.yaml"
    assert f"\ntext: {TEXTS[0]}\nversions:\n  neutral: {TEXTS[0]}\n" in review.read_text()
    review.write_text(review.read_text().replace("corrected: false", "corrected: true").replace("man: The", "man: A"))
    rounds, _ = searched(with_tokens, tmp_path, corrector="file")
    assert rounds[0]["correction"] == {
        **{"text": TEXTS[0], "neutral": TEXTS[0]},
        **{"man": "A queen spoke.", "woman": "A queen spoke."},
    }
    review.write_text(review.read_text().replace("  woman: A queen spoke.", "  woman: ' '"))
    (tmp_path / "new" / "search" / "round-01.json").unlink()
    with pytest.raises(FairlabError, match="no text for the version 'woman'"):
        searched(with_tokens, tmp_path, corrector="file")
    with pytest.raises(FairlabError, match="needs a terminal"):
        searched(with_tokens, tmp_path / "new", corrector="terminal")


def test_versions_are_typed_at_a_terminal_or_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda asked: " The king spoke. " if asked.startswith("man") else "")
    rounds, _ = searched(with_tokens, tmp_path, corrector="terminal")
    versions = {"neutral": TEXTS[0], "man": "The king spoke.", "woman": TEXTS[0]}
    assert rounds[0]["correction"] == {"text": TEXTS[0], **versions}


def test_texts_that_were_corrected_are_not_chosen_again(tmp_path):
    rounds, _ = searched(sure_of_all, tmp_path, rounds=5, samples=0)
    assert [(one["round"], len(one["examples"]), one["correction"] is None) for one in rounds] == [
        *[(1, 0, False), (2, 1, False), (3, 2, False), (4, 3, True)],
    ]
    assert {one["correction"]["text"] for one in rounds[:3]} == {*TEXTS}
    assert [(one["texts"], one["rewritten"], one["right"]) for one in rounds] == [(3, 3, 0)] * 4
    rounds, _ = searched(sure_of_all, tmp_path / "short", samples=0)
    assert [one["correction"] is None for one in rounds] == [False, True]


def test_a_search_by_its_defaults(tmp_path):
    llm = LLM(Server("http://127.0.0.1:9", "m"), "m", Ledger(tmp_path / "ledger.sqlite"))
    rewriter = LLMGroups(lexicon=load_lexicon("gender"), llm=llm, facts=False)
    found = PromptSearch(rewriter=rewriter)
    assert (found.rounds, found.samples, found.texts, found.corrector) == (10, 5, None, "file")
    assert [found.wanted(text) for text in ("She left.", "It rained.")] == [True, False]
    for verify in ((), ("polarity", "label")):
        with pytest.raises(FairlabError, match="verifiers that separate"):
            PromptSearch(rewriter=rewriter, verify=verify)


def test_one_candidate_and_the_last_round_need_no_samples(tmp_path):
    _, payloads = searched(sure_of_all, tmp_path, texts=TEXTS[:1])
    assert not [payload for payload in payloads if payload["temperature"]]


def test_a_search_resumes_from_its_folder(tmp_path):
    first, asked = searched(sure_of_all, tmp_path)
    again, asked_again = searched(sure_of_all, tmp_path)
    assert asked
    assert (again, asked_again) == (first, [])


def test_the_history_holds_percentages_of_texts_and_of_rewrites():
    rounds = [
        {"round": 1, "examples": [], "texts": 8, "rewritten": 4, "right": 1},
        {"round": 2, "examples": [{}], "texts": 8, "rewritten": 0, "right": 0},
    ]
    assert search_history(rounds) == [
        {"round": 1, "examples": 0, "accuracy": 25.0, "rewritten": 50.0},
        {"round": 2, "examples": 1, "accuracy": 0.0, "rewritten": 0.0},
    ]
