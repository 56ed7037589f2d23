"""Test whether layout, markup or case affect which words of a text are rewritten, and to what.

Sentences from sixteen published sources and passages from two are written in another way, such as over several lines or
as a web page, and rewritten. The words must be those of the rewritten plain text.

    FAIRLAB_DATA=... python -m experiments.rewriting.metamorphic [--sentences 500] [--passages 100] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.rewriting.natural import SOURCES, sentences
from experiments.rewriting.sets import published
from fairlab.files import compressed, replaced_when_written
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.text.view import read_view

RECORD = Path(__file__).parent / "metamorphic.json.xz"
SEED = 1
GOALS = {"gender": ("woman", "neutral"), "race": ("black",), "age": ("senior",)}
LONGEST = 1200  # characters of a passage

Rewrite = Callable[[Sequence[str]], list[str]]


def wrapped(text: str, width: int = 48, mark: str = "", end: str = "\n") -> str:
    """Wrap a text to lines of a given width, each with a mark before it."""
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return end.join(mark + line for line in lines)


def curly(text: str) -> str:
    """Replace the quotation marks and apostrophes in a text by curly ones."""
    text = re.sub(r'(^|[\s(\[])"', "\\1“", text).replace('"', "”")
    return re.sub(r"(^|[\s(\[])'", "\\1‘", text).replace("'", "’")


def parted(text: str) -> str:
    """Insert a soft hyphen into every longer word of a text."""
    return re.sub(r"\b([a-z]{3})([a-z]{4,})\b", "\\1\u00ad\\2", text)


# For each way of writing: the function that applies it, and the words that it adds before and after the text.
WAYS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "blanks: two": (lambda text: text.replace(" ", "  "), "", ""),
    "blanks: tabs": (lambda text: text.replace(" ", "\t"), "", ""),
    "blanks: line ends": (lambda text: text.replace(" ", "\n"), "", ""),
    "blanks: non-breaking": (lambda text: text.replace(" ", "\u00a0"), "", ""),
    "layout: lines of 48": (wrapped, "", ""),
    "layout: lines of 30, CR LF": (lambda text: wrapped(text, 30, end="\r\n"), "", ""),
    "layout: indented": (lambda text: wrapped(text, 60, "    "), "", ""),
    "mail: quoted": (lambda text: wrapped(text, 60, "> "), "", ""),
    "mail: quoted twice, answered": (lambda text: wrapped(text, 60, ">> ") + "\nI agree.", "", "I agree"),
    "mail: subject and signature": (
        lambda text: f"Subject: news\n\n{text}\n\n-- \nSent today",
        "Subject news",
        "Sent today",
    ),
    "web: tags": (lambda text: f'<p class="x">{text.replace(" ", " <b>", 1)}</b></p>', "", ""),
    "web: breaks": (lambda text: f"It rained.<br /><br />{text}<br /><br />It stopped.", "It rained", "It stopped"),
    "web: every word a tag": (lambda text: re.sub(r"(\S+)", r"<i>\1</i>", text), "", ""),
    "web: entities": (lambda text: text.replace("'", "&#39;").replace('"', "&quot;").replace(" ", "&nbsp;"), "", ""),
    "markdown: strong": (lambda text: f"**{text}**" if "*" not in text else text, "", ""),
    "markdown: heading and list": (lambda text: f"# News\n\n- {text}\n- It rained.", "News", "It rained"),
    "subtitles": (lambda text: f"1\n00:00:01,000 --> 00:00:04,000\n{wrapped(text, 40)}\n", "", ""),
    "subtitles: dash": (lambda text: f"- {text}\n- Yes.", "", "Yes"),
    "quoting: curly": (curly, "", ""),
    "unicode: decomposed": (lambda text: unicodedata.normalize("NFD", text), "", ""),
    "unicode: soft hyphens": (parted, "", ""),
    "unicode: byte-order mark": (lambda text: f"\ufeff{text}", "", ""),
    "unicode: zero width": (lambda text: text.replace(" ", " \u200b"), "", ""),
    "social: emoji and tags": (lambda text: f"🎉{text}😀 #herstory", "", "herstory"),
    "table: cells": (lambda text: f"17\t{text}\t4.5", "17", "4 5"),
    "before: a paragraph": (lambda text: f"It rained all day.\n\n{text}", "It rained all day", ""),
    "after: a paragraph": (lambda text: f"{text}\n\nIt rained all day.", "", "It rained all day"),
    "case: capitals": (str.upper, "", ""),
    "case: small letters": (str.lower, "", ""),
}


def words(text: str) -> list[str]:
    """Return the case-folded words of a text as the rules read it."""
    return re.findall(r"\w+", read_view(text).text.casefold())


def rewriters() -> dict[str, Rewrite]:
    """Return the functions that rewrite texts, by name."""
    found: dict[str, Rewrite] = {}
    for axis, targets in GOALS.items():
        lexicon = load_lexicon(axis)
        for target in targets:
            for mode in ("syntax", "lexical"):
                rules = RuleRewriter(lexicon, mode=mode)  # type: ignore[arg-type]
                found[f"{mode}, {axis} to {target}"] = _rules(rules, target)
            found[f"word_swap, {axis} to {target}"] = _swap(WordSwap(lexicon), target)
    found["cda, gender exchanged"] = lambda texts: [WordSwap(load_lexicon("gender")).swap(text) for text in texts]
    return found


def _rules(rules: RuleRewriter, target: str) -> Rewrite:
    return lambda texts: rules.rewrite_all(texts, [target] * len(texts))


def _swap(swap: WordSwap, target: str) -> Rewrite:
    return lambda texts: [swap(text, target) for text in texts]


def differing(texts: Sequence[str], rewrite: Rewrite, way: str, plainly: Sequence[str]) -> list[tuple[str, str]]:
    """Return the texts that are rewritten differently when they are written in another way.

    Args:
        texts: Plain texts.
        rewrite: Function that rewrites texts.
        way: Way of writing, a key of :data:`WAYS`.
        plainly: Rewrites of the plain texts.

    Returns:
        Expected and actual rewrite of each differing text.
    """
    write, before, after = WAYS[way]
    made = rewrite([write(text) for text in texts])
    wanted = [f"{before} {text} {after}" for text in plainly]
    return [(one, other) for one, other in zip(wanted, made, strict=True) if words(one) != words(other)]


def texts(number: int, passages: int) -> dict[str, list[str]]:
    """Sample sentences with a word of an axis, and passages, from the sources. Each passage is a single line."""
    finders = [WordSwap(load_lexicon(axis)) for axis in GOALS]
    drawn = [text for source in SOURCES for _, text in random.Random(SEED).sample(sentences(source), 200)]
    held = [text for text in drawn if any(one.marked(text) for one in finders)]
    return {"sentences": random.Random(SEED).sample(held, number), "passages": list(_passages(passages))}


def _passages(number: int) -> Iterable[str]:
    lines = published("corpora/imdb_sample/imdb_test_sample.jsonl").read_text(encoding="utf-8").splitlines()
    pool = [re.sub(r"\s+", " ", json.loads(line)["text"].replace("<br />", " ")) for line in lines[: 3 * number]]
    wiki = json.loads(published("corpora/bold_wikipedia/gender_wiki.json").read_text(encoding="utf-8"))
    pool += [" ".join(some) for group in wiki.values() for some in list(group.values())[:number]]
    fitting = [text.strip() for text in pool if 200 < len(text) < LONGEST]
    return random.Random(SEED).sample(fitting, number)


def measure(number: int, passages: int) -> dict[str, Any]:
    """Return the proportion of texts that are rewritten alike, by kind of text, way of writing and rewriter."""
    found: dict[str, Any] = {}
    for kind, some in texts(number, passages).items():
        found[kind] = {"texts": len(some), "alike": {way: {} for way in WAYS}}
        for name, rewrite in rewriters().items():
            plainly = rewrite(some)
            for way in WAYS:
                wrong = differing(some, rewrite, way, plainly)
                found[kind]["alike"][way][name] = 1 - len(wrong) / len(some)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    record = measure(given.sentences, given.passages)
    print(json.dumps(record, indent=2))
    if given.write:
        with replaced_when_written(RECORD) as temporary:
            temporary.write_bytes(compressed(json.dumps(record)))
