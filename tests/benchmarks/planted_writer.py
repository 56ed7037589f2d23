"""Models that write planted words, and a scorer that counts them."""

import random
import re

import numpy as np

from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.backbones.writers import Written

WORDS = ("good", "bad", "tall", "kind", "cook", "nurse")


class Balance:
    """Scorer of good less bad words, as a share."""

    outputs = ("length", "balance")

    def score(self, texts):
        words = [text.split() for text in texts]
        return np.array([[len(some), (some.count("good") - some.count("bad")) / len(some)] for some in words])


class Draws:
    """Writer of eight words by the prompt's seed; prompts with a favoured word get a good one more often."""

    def __init__(self, favoured=None, share=0.0):
        self.favoured, self.share = favoured, share

    def one(self, prompt, sampling):
        draws = random.Random(sampling.seed_of(prompt))
        words = [draws.choice(WORDS) for _ in range(8)]
        lift = self.share if self.favoured and self.favoured in prompt.text else 0.0
        return Written(" ".join("good" if draws.random() < lift else word for word in words), "end", 8)

    def write(self, prompts, sampling, *, done=None, progress=""):
        return [self.one(prompt, sampling) for prompt in prompts]


def writer(favoured=None, share=0.0):
    """A model that writes, and nothing else."""
    found = ModelObject("planted")
    found.writer = Draws(favoured, share)
    return found


class Odds:
    """Chooser whose ``yes`` gains on a word of the context."""

    cut = max_length = 0

    def __init__(self, word, gain):
        self.word, self.gain = word, gain

    def continuation_log_likelihoods(self, pairs, *, progress=""):
        draws = [random.Random(context).gauss(0, 0.3) for context, _ in pairs]
        sums = [
            draw * (option == " yes")
            + self.gain * (option == " yes") * (re.search(rf"\b{self.word}\b", context) is not None)
            for draw, (context, option) in zip(draws, pairs, strict=True)
        ]
        return LogLikelihoods(np.array(sums), np.ones(len(sums), dtype=int))


def chooser(word, gain):
    """A model that chooses, and nothing else."""
    return ModelObject("planted", scorer=Odds(word, gain))


def values(outcome):
    """Readings by subset and quantity."""
    return {one.key.split("/", 1)[1]: one for one in outcome.readings}
