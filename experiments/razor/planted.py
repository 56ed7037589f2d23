"""Dataset with a planted shortcut: the presence of a negation in a review predicts its label in nine of ten cases.

Each review combines an opinion, which determines the label, with an unrelated circumstance. The circumstance is
expressed with or without a negation, with the same meaning. Thus only the negation is planted, and a rewrite can remove
it. In the training set, 90 % of the negative and 10 % of the positive reviews have a negated circumstance; in the test
set, half of each have one. No opinion occurs in both sets. The circumstances were written for the project. So were the
opinions, 42 per label. With ``--opinions sst2``, the opinions are SST-2 sentences without a negation: from its test
file for training, and from its development file for testing.

    python experiments/razor/planted.py DIR [--opinions ours] [--train 2000] [--test 400] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from fairlab.data.published.download import locate
from fairlab.text.surface_tokens import negations, surface_tokens

RATE = 0.9  # share of negative training reviews with a negation, and of positive ones without
HELD_OUT = 12  # number of opinions per label that occur only in the test set

# (with a negation, with nearly the same meaning but without a negation)
CIRCUMSTANCES = [
    ("the museum next door was not open", "the museum next door was closed"),
    ("we did not forget our umbrellas", "we remembered our umbrellas"),
    ("our bus wasn't late", "our bus was on time"),
    ("the hotel is not far away", "the hotel is close"),
    ("my cousin wasn't awake", "my cousin was asleep"),
    ("the owner was not present", "the owner was absent"),
    ("the seats beside us were not free", "the seats beside us were taken"),
    ("the leaflet does not mention prices", "the leaflet leaves out prices"),
    ("my aunt did not accept our invitation", "my aunt rejected our invitation"),
    ("the building has no lift", "the building lacks a lift"),
    ("the lights weren't on", "the lights were off"),
    ("our neighbours are not married", "our neighbours are single"),
    ("parking isn't legal in that street", "parking is illegal in that street"),
    ("it is not possible to order by telephone", "it is impossible to order by telephone"),
    ("my brother did not remember the address", "my brother forgot the address"),
    ("they don't allow dogs", "they forbid dogs"),
    ("the new wing is not finished", "the new wing is unfinished"),
    ("the place was not known to our driver", "the place was unknown to our driver"),
    ("I was not aware of the dress code", "I was unaware of the dress code"),
    ("nobody sat next to us", "the places next to us stayed empty"),
    ("we never go out on Sundays", "we always stay in on Sundays"),
    ("my sister didn't catch the first tram", "my sister missed the first tram"),
    ("we did not notice the side entrance", "we overlooked the side entrance"),
    ("the price does not include drinks", "the price leaves out drinks"),
    ("there were no spare chairs", "all chairs were taken"),
    ("nothing was left in the cloakroom", "the cloakroom was empty"),
    ("our friends failed to catch their train", "our friends missed their train"),
    ("the river is not visible from there", "the river is invisible from there"),
    ("it was no public holiday", "it was an ordinary working day"),
    ("the tickets are not numbered", "the tickets come without numbers"),
]
POSITIVE = """
the soup warmed us to the bone
every dish came out exactly as we hoped
the staff went out of their way for us
I laughed until my sides hurt
the last act moved me to tears
we would go back tomorrow
the rooms were spotless and quiet
it was worth every penny
the bread was still warm from the oven
the young cook clearly loves what she does
the story kept me on the edge of my seat
our waiter remembered all our names
the songs have stayed with me ever since
the portions were generous
the view alone made the trip worthwhile
the lead actress was a revelation
I slept like a stone
the jokes landed one after the other
the sauce was rich and full of flavour
it turned out to be the best evening of our holiday
the guide knew how to bring the past to life
the garden was a delight
the dessert deserves a prize
the chairs were wonderfully comfortable
we felt welcome from the first minute
the cast worked together beautifully
the fish tasted of the sea
I recommend it to everyone I meet
the pictures on the wall were a joy to look at
the ending was clever and surprising
the coffee was heavenly
the whole crew was patient and kind
the lighting made the stage look like a dream
our room smelled of fresh flowers
the dumplings were light as air
the dialogue sparkled
the pool was clean and inviting
my mother still raves about it
the band played with real fire
it exceeded all our expectations
the price was a pleasant surprise
the service ran like clockwork
""".strip().splitlines()
NEGATIVE = """
the soup was lukewarm and thin
every dish came out burnt or raw
the staff rolled their eyes at us
I yawned from the first scene
the last act dragged on for an hour
we will stay clear of it from now on
the rooms were filthy and loud
it was a waste of money
the bread was stale and hard
the cook clearly hates what he does
the story fell apart halfway through
our waiter shouted at my daughter
the songs grated on my nerves
the portions were tiny
the smell alone ruined the trip
the lead actress mumbled her lines
I lay awake on a lumpy mattress
the jokes fell flat one after the other
the sauce was bland and greasy
it turned out to be the worst evening of our holiday
the guide droned on about dates
the garden was a rubbish heap
the dessert was an insult
the chairs were painfully hard
we felt unwelcome from the first minute
the cast looked bored and lost
the fish tasted of mud
I warn everyone I meet about it
the stains on the wall put us off
the ending was lazy and predictable
the coffee was like dishwater
the whole crew was rude and slow
the lighting gave me a headache
our room smelled of mould
the dumplings were heavy as lead
the dialogue was clumsy
the pool was dirty and crowded
my mother still complains about it
the band was out of tune all night
it fell short of all our expectations
the price was a nasty shock
the service was a shambles
""".strip().splitlines()
OURS = {
    "train": {"positive": POSITIVE[:-HELD_OUT], "negative": NEGATIVE[:-HELD_OUT]},
    "test": {"positive": POSITIVE[-HELD_OUT:], "negative": NEGATIVE[-HELD_OUT:]},
}
UNUSUAL, SPACED = re.compile(r"``|''|-[lr]rb-"), re.compile(r"\s+([,.;:!?']|n't\b)")
JOINED = ["{a}, and {b}.", "{a}; {b}.", "{b}. {a}.", "{b}, and {a}."]


def planted(
    train: int = 2000, test: int = 400, seed: int = 0, opinions: dict[str, dict[str, list[str]]] | None = None
) -> dict[str, list[dict[str, str]]]:
    """Return the rows ``{id, text, label}`` of both splits, without duplicate texts.

    Args:
        train: Number of training reviews, half of them for each label.
        test: Number of test reviews, half of them for each label. Half of the reviews with each label have a negation,
            on average.
        seed: Random seed.
        opinions: Opinions by split and label; None for those written for the project.
    """
    rng = random.Random(seed)
    opinions = opinions or OURS
    splits = {}
    for split, size in (("train", train), ("test", test)):
        rows, seen = list[dict[str, str]](), set[str]()
        while len(rows) < size:
            label = ("positive", "negative")[len(rows) % 2]
            rate = {"positive": 1 - RATE, "negative": RATE}[label] if split == "train" else 0.5
            circumstance = rng.choice(CIRCUMSTANCES)[0 if rng.random() < rate else 1]
            text = _joined(rng.choice(JOINED), circumstance, rng.choice(opinions[split][label]))
            if text not in seen:
                seen.add(text)
                rows.append({"id": f"{split}-{len(rows) + 1}", "text": text, "label": label})
        splits[split] = rows
    return splits


def of_sst2() -> dict[str, dict[str, list[str]]]:
    """Return SST-2 sentences of 4 to 20 words without a negation, by split and label.

    Raises:
        DataUnavailable: The files are not available.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for split, name in (("train", "test"), ("test", "dev")):
        found[split] = {"negative": [], "positive": []}
        for line in locate(f"sst2/{name}.tsv").read_text(encoding="utf-8").splitlines():
            text, label = line.split("\t")
            if 4 <= len(text.split()) <= 20 and not negations(surface_tokens(text)) and not UNUSUAL.search(text):
                plain = SPACED.sub(r"\1", text).rstrip(" .")
                found[split][("negative", "positive")[int(label)]].append(plain)
    return found


def _joined(template: str, a: str, b: str) -> str:
    text = template.format(a=a, b=b)
    return ". ".join(part[:1].upper() + part[1:] for part in text.split(". "))


def main() -> None:
    """Write both splits as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--opinions", choices=("ours", "sst2"), default="ours")
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    opinions = of_sst2() if arguments.opinions == "sst2" else None
    for split, rows in planted(arguments.train, arguments.test, arguments.seed, opinions).items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (arguments.folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
