"""Tables in the documentation are those the committed records give."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "experiments" / "tables.py"
spec = importlib.util.spec_from_file_location("tables", SCRIPT)
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


@pytest.mark.parametrize("page", tables.PAGES)
def test_a_page_shows_what_its_records_hold(page):
    assert tables.filled(page) == (tables.ROOT / page).read_text(encoding="utf-8")


def test_committed_records_name_no_path_of_a_machine():
    records = list(tables.RECORDS.glob("*/records/**/record.json"))
    assert len(records) >= 10
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert "/home/" not in text
        assert "/tmp/" not in text
        assert "-dirty" not in text
