"""The table of published prices: what holds, on which day, and for which model."""

import re
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from fairlab.llm.budget import Price
from fairlab.llm.loading import as_price, load_server
from fairlab.llm.prices import listed_price
from fairlab.types import FairlabError

TABLE = yaml.safe_load((files("fairlab.llm") / "prices.yaml").read_text(encoding="utf-8"))
OPENAI, GEMINI = "https://api.openai.com/v1", "https://generativelanguage.googleapis.com/v1beta/openai"


@pytest.mark.parametrize("host", TABLE)
def test_every_price_has_its_source_and_its_day(host):
    assert re.fullmatch(r"https://\S+pricing", TABLE[host]["source"])
    for model, row in TABLE[host]["models"].items():
        assert {"input", "cached", "output", "checked"} <= set(row) <= {"input", "cached", "output", "checked", "until"}
        assert date(2025, 1, 1) < row["checked"] < date(2026, 11, 28)
        assert 0 < row["cached"] < row["input"] < row["output"]
        assert listed_price(f"https://{host}/v1", model, row["checked"]) is not None


def test_a_price_is_looked_up_by_host_model_and_day():
    luna = Price(0.20, 1.20, 0.02)
    assert listed_price(OPENAI, "gpt-5.6-luna") == listed_price(OPENAI, "gpt-5.6-luna-2026-07-30") == luna
    assert listed_price("http://127.0.0.1:8000/v1", "gpt-5.6-luna") is None  # a namesake elsewhere
    assert listed_price(OPENAI, "gpt-5.6-luna-mini") is None
    assert listed_price(GEMINI, "gemini-3.6-flash", date(2026, 12, 31)) == Price(0.75, 3.75, 0.075)
    assert listed_price(GEMINI, "gemini-3.6-flash", date(2027, 1, 1)) is None


def test_settings_of_a_price():
    assert as_price("listed", OPENAI, "gpt-5-nano") == Price(0.05, 0.40, 0.005)
    assert as_price("listed", OPENAI, "unheard-of") is None
    assert as_price(None, OPENAI, "gpt-5-nano") is None
    with pytest.raises(
        FairlabError, match=r"llm\.price must be listed, null or \{input: \.\.\., output: \.\.\.\}, not cheap"
    ):
        as_price("cheap", OPENAI, "gpt-5-nano")


@pytest.mark.parametrize("name", ["openai", "gemini", "anthropic"])
def test_the_models_of_the_configurations_have_a_price(name, tmp_path):
    values = yaml.safe_load(Path(f"conf/llm/{name}.yaml").read_text(encoding="utf-8"))
    values |= {"ledger": str(tmp_path / "ledger.sqlite"), "budget": {"dollars": 1.0}}
    del values["_target_"]
    assert load_server(**values).price is not None
    with pytest.raises(FairlabError, match=r"llm\.budget\.dollars needs a price, which is unknown"):
        load_server(**values | {"model": "unheard-of"})
