"""Plain English: phrases that readers stumble over stay rare on the pages and in the docstrings."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Phrases of this project's early pages, and what to write instead.
INSTEAD = {
    r"\bbeside\b": "next to, in addition to, compared with",
    r"\bstands? (in|below|above|on|at|for)\b": "is in, is below, represents",
    r"\blies? (in|on|near|below|above|between|beside|at)\b": "is in, is near",
    r"\b(can|cannot) be had\b": "is available",
    r"\bat hand\b": "available",
    r"\b(goes|gone|go) on\b": "continues",
    r"\bin the place of\b": "instead of",
    r"\banew\b": "again",
    r"\bmend(s|ed)?\b": "fix",
    r"\bwhatever\b": "any, regardless of",
    r"\bone another\b": "each other",
    r"\bwhere (there is|it has) (no|none)\b": "if there is no",
    r"\b(says?|tells?) nothing\b": "does not show",
    r"\bthose of\b": "name the thing again",
}
MOST = 25  # per 10,000 words


def prose_of_pages():
    """Yield the prose of each page, without code and tables."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "experiments").rglob("*.md")]
    for page in pages:
        text = re.sub(r"```.*?```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        yield re.sub(r"^ *\|.*$|`[^`\n]*`", "", text, flags=re.MULTILINE)


def docstrings():
    """Yield every docstring of the package."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for file in (ROOT / "fairlab").rglob("*.py"):
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        yield from (ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))


@pytest.mark.parametrize("texts", [prose_of_pages, docstrings])
def test_awkward_phrases_are_rare(texts):
    text = "\n".join(texts())
    words = len(re.findall(r"\w+", text))
    found = {phrase: len(re.findall(phrase, text, flags=re.IGNORECASE)) for phrase in INSTEAD}
    often = sorted(found, key=found.get, reverse=True)[:3]
    advice = ", ".join(f"{found[phrase]} of {phrase} ({INSTEAD[phrase]})" for phrase in often)
    assert words > 50_000
    assert 1e4 * sum(found.values()) / words <= MOST, advice
