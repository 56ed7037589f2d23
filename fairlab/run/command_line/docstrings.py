"""Extraction of the first sentence of a docstring or comment."""

from __future__ import annotations

import re


def first_sentence(docstring: str | None) -> str:
    """Return the first sentence of a docstring, on one line, without its full stop."""
    text = " ".join((docstring or "").split("\n\n")[0].split())
    return re.split(r"(?<!al)\. ", text)[0].removesuffix(".")  # "Qian et al. 2022" is not the end of a sentence
