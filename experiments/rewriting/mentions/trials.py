"""Mentions that the rewriter changes with its rules, and those that it would change if a judge decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from experiments.rewriting.mentions.labels import Labelled
from experiments.rewriting.mentions.measure import turned
from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.rewriting.english.people_judge import PeopleJudge, Spans
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.vocabulary import Sense

UNSURE = np.log(4)  # logits between this and its negative, probabilities of .2 to .8, are left to the rules
JUDGED = ("noun", "adjective")  # parts of speech of the sections that a judge decides on


class Everybody(PeopleJudge):
    """Judge that takes every listed word for a person."""

    def people(self, text: str, spans: Spans) -> frozenset[int]:
        """Return the starts of all spans."""
        return frozenset(start for start, _ in spans)


class EverybodyAndNames(Everybody):
    """Judge for lexicons without judged sections, whose names, pronouns and titles are mentions, too."""

    def attributes(self, senses: Iterable[Sense]) -> frozenset[str]:
        """Return the attributes of all senses."""
        return frozenset(sense.attribute for sense in senses)


def judged_throughout(lexicon: Lexicon) -> RuleRewriter:
    """Return a rewriter that takes every noun and adjective of a lexicon for a person."""
    sections = lexicon.judged or tuple(sorted({one.section for one in lexicon.entries if one.pos in JUDGED}))
    rewriter = RuleRewriter(replace(lexicon, judged=sections))
    judge = Everybody if lexicon.judged else EverybodyAndNames
    rewriter.finder.judge = judge(lexicon.axis, sections)
    return rewriter


def turned_by(mentions: Sequence[Labelled], logits: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """Return whether each mention is changed, by way of deciding.

    The ways are to change all listed words, those that the rules select, those that the judge selects, and those that
    the rules select if the judge is unsure.
    """
    rules, listed = np.zeros(len(mentions), bool), np.zeros(len(mentions), bool)
    axes = np.array([one.axis for one in mentions])
    for axis in dict.fromkeys(axes.tolist()):
        places = np.flatnonzero(axes == axis)
        own, lexicon = [mentions[place] for place in places], load_lexicon(axis)
        rules[places] = turned(own, RuleRewriter(replace(lexicon, judged=())))
        listed[places] = turned(own, judged_throughout(lexicon))
    sure = listed & (logits > UNSURE)
    unsure = rules & (logits > -UNSURE)
    return {"listed": listed, "rules": rules, "judge": listed & (logits > 0), "rules where unsure": sure | unsure}
