"""The page on broken models holds what the record of the check says, and the record is good enough."""

import json

from experiments.reliability import gate
from experiments.reliability.damage import DAMAGES


def test_the_page_bears_the_record():
    page = gate.PAGE.read_text(encoding="utf-8")
    assert page.split(gate.BEGIN)[1].split(gate.END)[0].strip() == gate.table().strip()


def test_the_record_is_of_all_kinds_and_marks_no_sound_model():
    found = json.loads(gate.RESULT.read_text(encoding="utf-8"))
    kinds = {(one.name, one.model, one.kept_back) for one in DAMAGES}
    assert {(row["damage"], row["model"], row["kept_back"]) for row in found["damaged"]} == kinds
    assert len(kinds) == 30
    assert sum(kept_back for _, _, kept_back in kinds) == 10
    marked = [all(row["marked"] for row in rows) for rows in gate.by_kind(found["damaged"])]
    assert len(marked) == 30
    assert sum(marked) >= 26
    assert not [row for row in [*found["sound"], *found["trained"]] if row["marked"]]
    assert found["cost"]["share"] <= 0.05
    assert found["cost"]["check"] < 2
