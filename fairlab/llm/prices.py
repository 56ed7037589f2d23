"""Published prices of providers' models, from a table with a date."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import yaml

from fairlab.llm.budget import Price

TABLE = "prices.yaml"
DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")  # end of the name of a model's version
COSTS = ("input", "output", "cached")


def listed_price(base_url: str, model: str, today: date | None = None) -> Price | None:
    """Return the published price of a provider's model, or None if the table has no current price.

    The host of the address determines the provider, and the model's name may end with the date of its version.
    ``today`` is the day of the calls.
    """
    models = _table().get(urlsplit(base_url).hostname or "", {}).get("models", {})
    row = models.get(model) or models.get(DATED.sub("", model))
    if row is None or (today or datetime.now(tz=UTC).date()) > row.get("until", date.max):
        return None
    return Price(**{name: float(row[name]) for name in COSTS})


@cache
def _table() -> dict[str, Any]:
    return dict(yaml.safe_load((files("fairlab.llm") / TABLE).read_text(encoding="utf-8")))
