"""Validation of replies against the requested JSON schema."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from fairlab.llm.exchange import Attempt, ExchangeOutcome, parse_answer


def judged(attempt: Attempt, schema: dict[str, Any] | None) -> Attempt:
    """Check the text of an attempt against its schema, and return the attempt with the resulting outcome.

    An invalid text has the outcome ``malformed JSON`` or ``wrong schema``.
    """
    if attempt.outcome != ExchangeOutcome.OK or schema is None:
        return attempt
    from jsonschema import Draft202012Validator  # every training run imports this module, few use a schema
    from jsonschema.exceptions import best_match

    try:
        value = parse_answer(attempt.text)
        json.dumps(value, ensure_ascii=False).encode()  # an escaped unpaired surrogate is not valid text
    except (ValueError, RecursionError) as error:
        return replace(attempt, outcome=ExchangeOutcome.MALFORMED, reason=str(error) or type(error).__name__)
    fault = best_match(Draft202012Validator(schema).iter_errors(value))
    if fault is None:
        return attempt
    place = "".join(f"{step}: " for step in fault.path)
    return replace(attempt, outcome=ExchangeOutcome.WRONG_SCHEMA, reason=f"{place}{fault.message}"[:200])
