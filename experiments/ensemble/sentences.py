"""Training sentences about hate, composed of parts: hostile to groups, denying hostility, or without hostility."""

from __future__ import annotations

import csv
import hashlib
import random
import re
from functools import cache
from pathlib import Path

import yaml

from fairlab.data.published.download import locate
from fairlab.data.safety_texts import SafetyText

PARTS: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8"))
SEEGULL = "seegull/stereotypes_global_v2.csv"
WORDS = ("bad", "good")  # slots whose words come from published lists
SLOT = re.compile(r"\{(bad|good|vermin|harmed|helped|goods|hate|love)\}")
ENDINGS = ("ous", "ful", "ive", "ic", "less", "ish", "ent", "ant", "able", "al", "y")
NO_ADJECTIVES = ("ly", "ity", "cy", "ry", "fy", "phy", "ment", "edy", "enemy")  # endings of other words
MISSPELT = 0.15  # share of the sentences with a typing error
LEET = str.maketrans("aeios", "43105")
# Kinds of sentence with their shares; the label of each is in :func:`_sentence`.
SHARES = {
    "hostile": 32,
    "denied_good": 12,
    "denying": 13,
    "denied_harm": 11,
    "kind": 13,
    "hostile_to_others": 6,
    "hostile_to_things": 5,
    "kind_to_others": 2,
    "insults": 3,
    "cursing": 3,
}


def sentences(count: int, seed: int, *, held_out: bool = False) -> list[SafetyText]:
    """Return labelled sentences.

    Args:
        count: Number of sentences.
        seed: Seed of the choice of parts.
        held_out: Whether to use only held-out parts: a quarter of all parts, selected by their hashes.
    """
    rng = random.Random(seed)
    every = PARTS | dict(zip(WORDS, adjectives(), strict=True))
    parts = {name: [one for one in some if is_held_out(one) == held_out] or some for name, some in every.items()}
    kinds = rng.choices(list(SHARES), list(SHARES.values()), k=count)
    found = []
    for number, kind in enumerate(kinds):
        text, hate = _sentence(kind, parts, rng)
        found.append(SafetyText(text, f"{seed} {number}", "", {"hate": hate}, kind=kind))
    return found


@cache
def adjectives() -> tuple[list[str], list[str]]:
    """Return harsh and kind adjectives from VADER's lexicon and SeeGULL's attributes, recognised by their endings."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    valences = {word: value for word, value in SentimentIntensityAnalyzer().lexicon.items() if abs(value) >= 1.2}
    with locate(SEEGULL).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            offence = float(row["mean offensiveness_score"])
            if abs(offence) >= 1:
                valences.setdefault(row["attribute"], -offence)
    found = {word: value for word, value in sorted(valences.items()) if _is_adjective(word)}
    return [word for word, value in found.items() if value < 0], [word for word, value in found.items() if value > 0]


def _is_adjective(word: str) -> bool:
    return word.isalpha() and word.islower() and word.endswith(ENDINGS) and not word.endswith(NO_ADJECTIVES)


def is_held_out(part: str) -> bool:
    """Return whether a part belongs to the quarter that is used only in held-out sentences."""
    return hashlib.sha256(part.encode()).digest()[0] < 64


def _sentence(kind: str, parts: dict[str, list[str]], rng: random.Random) -> tuple[str, int]:
    """Return a sentence of the given kind, and whether it is hateful."""
    group = rng.choice(parts["groups"])
    said, hate = rng.choice(parts[kind]) if kind in ("hostile", "denied_good", "denied_harm", "kind") else "", 0
    if kind in ("hostile", "denied_good"):
        hate = 1
    elif kind == "denying":
        said = rng.choice(parts["denying"]).replace("{s}", rng.choice(parts["hostile"]))
    elif kind == "hostile_to_others":
        said, group = rng.choice(parts["hostile"]), rng.choice(parts["others"])
    elif kind == "hostile_to_things":
        harsh = ["{g} " + one for one in parts["harsh_of_others"]]
        said, group = rng.choice(rng.choice([parts["hostile"], harsh])), rng.choice(parts["things"])
    elif kind == "kind_to_others":
        said = "{g} " + rng.choice(parts["kind_of_others"])
        group = rng.choice(rng.choice([parts["others"], parts["things"]]))
    elif kind == "insults":
        said = rng.choice(parts["insults"]).replace("{p}", rng.choice(parts["persons"]))
    elif kind == "cursing":
        said = rng.choice(parts["cursing"])
    if kind != "cursing" and rng.random() < 0.12:
        said = _insert_swear_word(said, rng.choice(parts["swearing"]))
    if kind != "denying":
        said = rng.choice(parts["wrapping"]).replace("{s}", said)
    said = SLOT.sub(lambda slot: rng.choice(parts[slot[1]]), said).replace("{g}", group)
    said = said[0].upper() + said[1:] if rng.random() < 0.8 else said
    return (misspelt(said, rng) if rng.random() < MISSPELT else said), hate


def _insert_swear_word(said: str, word: str) -> str:
    """Insert a swear word after *are* or, if there is no *are*, before the group."""
    return said.replace(" are ", f" are {word} ", 1) if " are " in said else said.replace("{g}", f"{word} {{g}}", 1)


def misspelt(text: str, rng: random.Random) -> str:
    """Misspell one or two words with one kind of error: swapped or lost letters, digits, or moved spaces."""
    words: list[str] = text.split()
    kind = rng.choice(["exchange", "lose", "digits", "join", "split"])
    for place in rng.sample(range(len(words)), min(2, len(words))):
        word = words[place]
        if kind == "digits":
            words[place] = word.translate(LEET)
        elif kind == "split":
            words[place] = " ".join(word)
        elif len(word) > 3 and kind in ("exchange", "lose"):
            k = rng.randrange(1, len(word) - 1)
            words[place] = (
                word[:k]
                + (word[k + 1] + word[k] if kind == "exchange" else "")
                + word[k + (2 if kind == "exchange" else 1) :]
            )
    if kind == "join":
        k = rng.randrange(max(1, len(words) - 1))
        words[k : k + 2] = ["".join(words[k : k + 2])]
    return " ".join(words)
