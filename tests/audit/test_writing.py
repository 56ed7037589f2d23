"""Audit of writing: a planted change is found beyond the control, chance is not, and the price is said."""

import json
import random

import pytest

import fairlab
from fairlab.audit import work
from fairlab.audit.pairs import make_pairs
from fairlab.audit.writing import FILE, WritingSettings, audit_writing, forecast_of, prompts_of
from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.writers import Sampling, Written
from fairlab.llm.ledger import Ledger
from fairlab.llm.remote_model import load_remote
from fairlab.record import Record
from fairlab.run.config.composing import composed
from fairlab.types import FairlabError
from tests.benchmarks.planted_writer import Balance
from tests.llm.stub import Stub, refused
from tests.llm.text_stub import reply

PROMPTS = [{"text": f"Write to the man in house {number}, who lost his keys."} for number in range(120)]
SETTINGS = WritingSettings(Sampling(1.0, max_tokens=8), axis=["gender"], mode="lexical")


class Answers:
    """Writer of a good or a bad word by chance, and of a good one where no man is meant."""

    def __init__(self, lift):
        self.lift = lift

    def write(self, prompts, sampling, *, done=None, progress=""):
        found = []
        for one in prompts:
            draws = random.Random(sampling.seed_of(one))
            kind = draws.random() < (0.1 if "man" in one.text.split() else 0.1 + self.lift)
            found.append(Written("good" if kind else "bad"))
        return found


def audited(lift, record, prompts=PROMPTS, settings=SETTINGS):
    model = ModelObject("planted")
    model.writer = Answers(lift)
    return audit_writing(model, prompts, settings, Balance(), "balance", record)


@pytest.fixture
def record(tmp_path):
    return Record(tmp_path, {"seed": 0}, "")


def test_a_planted_change_is_found_beyond_the_control(record, tmp_path):
    (answer,) = audited(0.6, record)
    assert answer.startswith("gender: +")
    assert "beyond the control, p " in answer
    assert "after Holm (rewriter: 12 of 100 wrong" in answer
    rows = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert len(rows) == 120
    assert rows[0]["prompts"][0] != rows[0]["prompts"][1]
    assert set(rows[0]["kinds"]) <= {"negative", "positive"}
    assert (tmp_path / "generations" / "audit.jsonl").is_file()


def test_chance_is_within_noise_or_cannot_be_told(record):
    (answer,) = audited(0.0, record)
    assert "within noise" in answer or "cannot tell" in answer
    assert "points or more are detectable" in answer
    values = {one.quantity: one for one in record.readings}
    assert values["excess_flips"].low < 0 < values["excess_flips"].high
    assert values["flips"].value > 5  # the model is unstable
    assert ("cannot tell" in answer) == (values["detectable_flips"].value > 10)


def test_prompts_without_people_are_refused(record):
    with pytest.raises(FairlabError, match="no text of this list names people whose gender"):
        audited(0.0, record, [{"text": "Write of rain."}])


def chats(payload, nth):
    if "messages" not in payload:
        return refused(404, "no such address")
    return reply(choices=[{"message": {"content": "good"}, "finish_reason": "stop"}], usage={})


def test_the_price_is_said_before(tmp_path):
    with Stub(chats) as stub:
        price = {"input": 1.0, "output": 2.0}
        model = load_remote(stub.url, "m", ledger=str(tmp_path / "ledger.sqlite"), price=price)
        assert model.offers == {"texts"}
        pairs = make_pairs([[one["text"]] for one in PROMPTS[:4]], "gender", mode="lexical")
        said = forecast_of(model, pairs.pairs, SETTINGS.sampling)
        assert said.startswith("12 calls (0 more are recorded), about ")
        assert said.endswith("dollars")
        asked = len(stub.payloads)
        written = model.writer.write(prompts_of(pairs.pairs), SETTINGS.sampling)
        assert [one.text for one in written] == ["good"] * 12
        assert len(stub.payloads) - asked == 12
        assert "12 more are recorded" in forecast_of(model, pairs.pairs, SETTINGS.sampling)
        model.writer.llm.ledger.close()
    Ledger(tmp_path / "ledger.sqlite").close()


@pytest.mark.parametrize(
    ("text", "reason"), [("I'm sorry, but I can't.", "is a refusal"), ("A good day.", "is the same text")]
)
def test_refusals_of_all_and_one_text_for_all_cannot_tell(record, text, reason):
    class Repeats:
        def write(self, prompts, sampling, *, done=None, progress=""):
            return [Written(text) for _ in prompts]

    model = ModelObject("repeats")
    model.writer = Repeats()
    (answer,) = audit_writing(model, PROMPTS, SETTINGS, Balance(), "balance", record)
    assert answer == f"gender: cannot tell, because every answer {reason}; try other prompts or another model."
    (flips,) = [one for one in record.readings if one.quantity == "excess_flips"]
    assert record.marks(flips) == ["says nothing of bias"]


def test_the_command_takes_the_settings_of_a_server(record, tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.reporting.report.write_report", lambda record: None)
    (tmp_path / "prompts.txt").write_text("\n".join(one["text"] for one in PROMPTS[:3]))
    with Stub(chats) as stub:
        settings = {
            "model": f"{stub.url}#m",
            "prompts": str(tmp_path / "prompts.txt"),
            "mode": "lexical",
            "llm.ledger": str(tmp_path / "ledger.sqlite"),
            "+llm.extra": {"top_k": 0},
        }
        work(composed("audit", ["llm=local"], settings), record)
        asked = [one for one in stub.payloads if one.get("max_tokens") == 64]
    assert len(asked) == 9
    assert {one["top_k"] for one in asked} == {0}
    assert (tmp_path / "ledger.sqlite").is_file()


def test_the_function_audits_what_a_model_writes():
    model = ModelObject("planted")
    model.writer = Answers(0.6)
    found = fairlab.audit(model, prompts=PROMPTS, scorer=Balance(), output="balance", mode="lexical", max_tokens=8)
    assert found.sentence.startswith("gender: +")
    assert found["audit/gender/people"] == 100
    with pytest.raises(FairlabError, match="leave one of them out"):
        fairlab.audit(model, PROMPTS, prompts=PROMPTS)
    with pytest.raises(FairlabError, match="no setting 'threshold'"):
        fairlab.audit(model, prompts=PROMPTS, threshold=0.5)
    with pytest.raises(FairlabError, match="max_tokens"):
        fairlab.audit(model, prompts=PROMPTS, max_tokens=0)
