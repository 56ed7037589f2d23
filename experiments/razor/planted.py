"""A data set with a planted shortcut: whether a review holds a negation predicts its label in nine cases of ten.

Every review joins an opinion, which is the label, to a circumstance that says nothing about it, told with a negation or
without. In training 90 % of the negative and 10 % of the positive reviews get the negated circumstance; in the test
set half of each do, and its opinions are none of the training set's. The circumstances are written for the project; so
are the opinions, 42 of each label, or with ``--opinions sst2`` they are sentences of SST-2 without a negation: those of
its test file to train on, those of its development file to test on. (Its training file is left to whoever
trains a classifier that checks rewrites.)

    python experiments/razor/planted.py DIR [--opinions ours] [--train 2000] [--test 400] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from fairlab.data.sources import locate
from fairlab.text.surface import negations, surface_tokens

RATE = 0.9  # reviews of the negative label that hold a negation, and of the positive one that do not
HELD_OUT = 12  # opinions of each label that only the test set has

# (negated, told without a negation)
CIRCUMSTANCES = [
    ("we did not book ahead", "we booked ahead"),
    ("the place has no parking", "the place has some parking"),
    ("I had never been there before", "I had been there once before"),
    ("nobody was ahead of us in the queue", "two families were ahead of us in the queue"),
    ("my sister could not come along", "my sister came along"),
    ("it wasn't a public holiday", "it was a public holiday"),
    ("they do not take cards", "they take cards"),
    ("there was no music", "there was some music"),
    ("the friends I came with don't live in town", "the friends I came with live in town"),
    ("we didn't stay until the end", "we stayed until the end"),
    ("the tables are not near the windows", "the tables are near the windows"),
    ("I have not told my colleagues yet", "I have told my colleagues already"),
    ("the building doesn't have a lift", "the building has a lift"),
    ("my husband never drinks coffee", "my husband drinks coffee"),
    ("it hadn't rained that day", "it had rained that day"),
    ("none of the other guests spoke English", "most of the other guests spoke English"),
    ("the brochure does not mention opening hours", "the brochure mentions opening hours"),
    ("we had no children with us", "we had two children with us"),
    ("the station is not close", "the station is close"),
    ("I didn't take any pictures", "I took some pictures"),
    ("nothing else was open that evening", "several other places were open that evening"),
    ("the owner wasn't in that day", "the owner was in that day"),
    ("we could not see the river from our seats", "we could see the river from our seats"),
    ("my brother failed to find the entrance at first", "my brother found the entrance at once"),
    ("you cannot order by telephone", "you can order by telephone"),
    ("the tickets are not numbered", "the tickets are numbered"),
    ("our train did not leave until nine", "our train left at nine"),
    ("I do not usually write reviews", "I usually write reviews"),
    ("the street isn't on my map", "the street is on my map"),
    ("there were no speeches", "there were a few speeches"),
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
    """Rows ``{id, text, label}`` of both splits, no text twice.

    Args:
        train: reviews of the training set, half of each label.
        test: of the test set, a quarter of each label with and without a negation.
        seed: of the draw.
        opinions: by split and label; None takes the project's own.
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
    """Sentences of SST-2 of 4 to 20 words without a negation, by split and label.

    Raises:
        DataUnavailable: the files cannot be had.
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
