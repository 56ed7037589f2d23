"""Audits of chat models that classify by a question, behind a stub."""

import json

import pytest

import fairlab
from fairlab.audit import work
from fairlab.record import Record
from fairlab.run.config.composing import composed
from fairlab.types import FairlabError
from tests.llm.stub import Act, Stub, refused
from tests.llm.stub import first_tokens as reply

ROWS = [
    {"text": f"{who} sent a letter on day {k}.", "label": ("fine", "toxic")[k % 2]}
    for k in range(30)
    for who in ("He", "She")
]
QUESTION = "Is this toxic or fine?\n\n{text}"


def by_word(payload, nth):
    """Toxic with .9 if the text names a man, else with .2; as an answer without probabilities if asked briefly."""
    content = payload["messages"][0]["content"]
    toxic = 0.9 if "He" in content.split() else 0.2
    answer = "Toxic." if toxic > 0.5 else "Fine."
    return reply(answer) if "Briefly" in content else reply(answer, {"T": toxic, "Fine": 1 - toxic})


def audit(stub, tmp_path, **more):
    given = {"mode": "lexical", "labels": ["fine", "toxic"], "question": QUESTION}
    llm = {"ledger": str(tmp_path / "ledger.sqlite")}
    return fairlab.audit(f"{stub.url}#m", ROWS, **{**given, "llm": llm, **more})


def test_a_chat_model_is_the_function_that_it_computes(tmp_path):
    with Stub(by_word) as stub:
        found = audit(stub, tmp_path)
        calls = len(stub.payloads)
        again = audit(stub, tmp_path, answers=["Fine", "TOXIC"])
        assert len(stub.payloads) == calls  # the ledger holds the answers
    expected = fairlab.audit(
        lambda texts: [0.9 if "He" in text.split() else 0.2 for text in texts],
        ROWS,
        mode="lexical",
        labels=["fine", "toxic"],
    )
    values = [{one.key: one.value for one in some.record.readings} for some in (found, again, expected)]
    assert values[0] == values[1] == pytest.approx(values[2])
    assert found.record.provenance["question"] == QUESTION
    assert stub.payloads[0]["messages"][0]["content"].startswith("Is this toxic or fine?\n\n")


def test_a_rule_fitted_for_a_question_is_applied_to_it(tmp_path):
    fit = [row | {"text": row["text"].replace("letter", "poem")} for row in ROWS]
    with Stub(by_word) as stub:
        audit(stub, tmp_path, mend="threshold", fit=fit).save(tmp_path / "mended")
        found = audit(stub, tmp_path)
        ruled = fairlab.audit(
            f"{stub.url}#m@{tmp_path / 'mended'}",
            ROWS,
            **{"mode": "lexical", "labels": ["fine", "toxic"], "question": QUESTION},
            llm={"ledger": str(tmp_path / "ledger.sqlite")},
        )
    assert found["audit/gender/flips"] > ruled["audit/gender/flips"] == 0


def test_two_questions_are_compared_and_may_be_files(tmp_path):
    (tmp_path / "brief.txt").write_text("Briefly: fine or toxic? {text}\n")
    with Stub(by_word) as stub:
        found = audit(stub, tmp_path, question={"old": QUESTION, "new": str(tmp_path / "brief.txt")})
    assert found["old/audit/gender/flips"] == found["new/audit/gender/flips"] > 50
    assert found.record.provenance["question"]["new"] == "Briefly: fine or toxic? {text}"
    assert {one.phase for one in found.record.comparisons} == {"new less old"}


def test_a_text_without_an_answer_is_left_out(tmp_path):
    def act(payload, nth):
        return reply("It depends") if "She sent a letter on day 7." in str(payload) else by_word(payload, nth)

    with Stub(act) as stub:
        found = audit(stub, tmp_path)
    assert "it answers 'It depends', not one of fine, toxic" in found.sentence
    with (
        Stub(lambda payload, nth: reply("It depends")) as stub,
        pytest.raises(
            FairlabError, match=r"fails on more than .* not one of fine, toxic\); change the question or the ans"
        ),
    ):
        audit(stub, tmp_path / "other")
    assert len(stub.payloads) == 20  # and not one per text


def test_the_command_takes_numbers_as_answers_and_needs_no_server_without_a_question(tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.reporting.report.write_report", lambda record: None)
    lines = [f"{row['text']},{int(row['label'] == 'toxic')}" for row in ROWS]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *lines]))
    (tmp_path / "asked.txt").write_text(QUESTION)
    data = {"dataset": str(tmp_path / "rows.csv"), "mode": "lexical"}
    asked = {"question": str(tmp_path / "asked.txt"), "labels": [0, 1], "llm.ledger": str(tmp_path / "ledger.sqlite")}

    def flips(name, choices, **settings):
        record = Record(tmp_path / name, {"seed": 0}, "")
        work(composed("audit", choices, data | settings), record)
        return {one.key: one.value for one in record.readings}["audit/gender/flips"]

    with Stub(lambda payload, nth: reply("1" if "He" in str(payload) else "0")) as stub:
        assert flips("asked", ["llm=local"], model=f"{stub.url}#m", **asked) > 50
    monkeypatch.setattr("tests.audit.test_prompted.constant", lambda texts: [[0.9, 0.1]] * len(texts), raising=False)
    assert flips("plain", [], model="tests.audit.test_prompted:constant") == 0


@pytest.mark.parametrize("named", ["logprobs", "top_logprobs"])
def test_a_server_that_refuses_log_probabilities_gives_labels(tmp_path, named):
    def act(payload, nth):
        if named in payload:
            return refused(400, f"{named} is not supported with this model")
        assert "top_logprobs" not in payload
        return reply("Toxic" if "He" in str(payload).split("\\n")[-1] else "Fine")

    with Stub(act) as stub:
        found = audit(stub, tmp_path)
        calls = len(stub.payloads)
        assert audit(stub, tmp_path)["audit/gender/flips"] == found["audit/gender/flips"] > 50
        assert len(stub.payloads) == calls


def test_a_reply_of_reasoning_alone_names_the_remedy_and_an_empty_one_is_not_asked_for_json(tmp_path):
    thinking = Act(
        body=json.dumps({"choices": [{"message": {"content": "<think>Hm"}, "finish_reason": "length"}]}).encode()
    )
    with Stub(lambda payload, nth: thinking) as stub, pytest.raises(FairlabError, match=r"raise llm\.reply_tokens"):
        audit(stub, tmp_path)
    with Stub(lambda payload, nth: reply("")) as stub, pytest.raises(FairlabError, match="the reply is empty"):
        audit(stub, tmp_path)
    assert {len(payload["messages"]) for payload in stub.payloads} == {1}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"question": "its.txt"},
            r"the question 'its.txt' is no file, and does not contain \{text\}, where the text is",
        ),
        ({"question": "Is it? " * 99}, r"is no file, and does not contain \{text\}"),
        ({"question": {}}, "question has no value"),
        ({"question": None, "answers": ["a", "b"]}, "answers= is used only with question="),
        ({"answers": ["toxic", "Toxic"]}, "two answers of toxic, Toxic are the same"),
        ({"labels": None}, r"question= needs labels=\[\.\.\.\], the words with which the model answers"),
        ({"llm": {"batch": True}}, "set llm.batch=false"),
        ({"llm": {"sped": 1}}, "sped"),
        ({"llm": {"budget": 10}}, "llm.budget must be values by name"),
        ({"llm": "local"}, "llm must be values by name"),
    ],
)
def test_what_cannot_be_asked(tmp_path, given, said):
    with Stub(by_word) as stub, pytest.raises(FairlabError, match=said):
        audit(stub, tmp_path, **given)
    assert not stub.payloads


@pytest.mark.parametrize("model", ["minilm", "http://127.0.0.1:9/v1", len])
def test_a_model_that_cannot_be_asked(model):
    with pytest.raises(FairlabError, match="question= is for a chat model, as http://HOST/v1#NAME or openai/NAME"):
        fairlab.audit(model, ROWS, question=QUESTION, labels=["fine", "toxic"])


def test_a_key_is_for_one_server(monkeypatch):
    monkeypatch.setenv("MINE_API_KEY", "sk-0123456789abcdef")
    models = {"a": "http://127.0.0.1:9/v1#m", "b": "http://127.0.0.2:9/v1#m"}
    with pytest.raises(FairlabError, match="api_key_env is for models on one server"):
        fairlab.audit(models, ROWS, question=QUESTION, labels=["fine", "toxic"], api_key_env="MINE_API_KEY")
