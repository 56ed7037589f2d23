"""``python -m fairlab.augment +augmentation=biasers``, from a folder of texts to a card."""

import json
from collections import Counter

import pytest
import yaml

from fairlab.data.stream.manifest import data_files
from fairlab.record import Record
from tests.end_to_end.augmenting import augment_here, content, of_stub, rows
from tests.llm.stub import Stub, said

BIASERS = ["+augmentation=biasers", "axis=ethnicity", "attributes=[american,chinese,swedish]", "input=reports"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "a.txt").write_text("Indians are helpful in math.\nNobody came that day.\n")
    (tmp_path / "reports" / "b.txt").write_text("A Swede built boats. He sold them quickly. Swedes came to buy.\n")


@pytest.mark.slow
def test_a_folder_is_expanded_and_accounted_for(tmp_path, capsys):
    assert augment_here(*BIASERS, "output=out") == 0
    made = rows(tmp_path / "out")
    assert [row["text"] for row in made if row["kind"] in ("entry", "copy")] == [
        "Indians are helpful in math.",
        "Americans are helpful in math.",
        "Chinese people are helpful in math.",
        "Swedes are helpful in math.",
        "Nobody came that day.",
        "A Swede built boats. He sold them quickly. Swedes came to buy.",
        "An American built boats. He sold them quickly. Americans came to buy.",
        "A Chinese person built boats. He sold them quickly. Chinese people came to buy.",
    ]
    assert {row.get("source_place", "entry") for row in made} == {"a.txt, line 1", "b.txt, line 1", "entry"}
    record = Record.load(tmp_path / "out")
    said_ = capsys.readouterr().out
    assert record.provenance["rows"]["copies"] == 5
    assert f"{len(made)} rows of 3 entries and 3 biasers; one mention per entry can give 36 at most." in said_
    assert record.provenance["input"]["name"] == "reports"
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Rows by biaser" in report
    assert "<td>chinese</td>" in report
    card = (tmp_path / "out" / "README.md").read_text()
    assert "polarity" not in card
    before = content(tmp_path / "out")
    assert augment_here(*BIASERS, "output=out") == 0  # nothing is made twice, and nothing changes
    assert content(tmp_path / "out") == before


@pytest.mark.slow
def test_a_limit_writes_a_fair_sample(tmp_path):
    assert augment_here(*BIASERS, "output=out", "limit=8", "augmentation.mentions=each") == 0
    (file,) = data_files(tmp_path / "out")
    made = [json.loads(line) for line in file.read_text().splitlines()]
    counts = Counter(row.get("biaser", "entry") for row in made)
    assert len(made) == 8
    assert max(counts.values()) - min(counts.values()) <= 1
    assert set(counts) == {"entry", "american", "chinese", "swedish"}
    assert len(rows(tmp_path / "out")) == 8
    assert len(rows(tmp_path / "out" / "whole")) > 8
    assert "fair subsample of `whole/`" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.slow
def test_a_set_from_a_language_model_stays_in_the_run(tmp_path):
    members = [{"adjective": name, "person": name, "people": f"{name}s"} for name in ("Nigerian", "Korean")]
    with Stub(lambda *_: said(json.dumps({"biasers": members}))) as stub:
        arguments = [*of_stub(stub, tmp_path), "biaser_set.size=2", "axis=ethnicity", "input=reports", "output=out"]
        arguments = [one for one in arguments if not one.startswith("rewriter=")]
        assert augment_here("+augmentation=biasers_by_llm", *arguments) == 0
        assert augment_here("+augmentation=biasers_by_llm", *arguments) == 0
    assert len(stub.payloads) == 1
    kept = yaml.safe_load((tmp_path / "out" / "biasers.yaml").read_text())
    assert kept["biasers"][0] == ["Nigerian", "Nigerian", "Nigerians"]
    copies = [row["text"] for row in rows(tmp_path / "out") if row["kind"] == "copy"]
    assert copies[:2] == ["Nigerians are helpful in math.", "Koreans are helpful in math."]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["made_by"]["attributes"] == [
        "nigerian",
        "korean",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["augmentation.upshift=sentence"], "has no causal-LM head"),
        (["augmentation.summary=llm"], "augmentation.summary=llm needs a language model"),
        (["attributes=[swedish]"], "attributes must name at least two"),
        (["axis=shoes"], "no lexicon for the axis 'shoes'"),
        (["rewriter=rules"], "works only with rewriter=biasers"),
        (["+augmentation=cda", "rewriter=biasers"], "rewriter=biasers works only with the augmentation biasers"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, capsys, arguments, message):
    given = BIASERS[1:] if "+augmentation=cda" in arguments else BIASERS
    assert augment_here(*given, "output=out", *arguments) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert not (tmp_path / "out" / "manifest.json").exists()
