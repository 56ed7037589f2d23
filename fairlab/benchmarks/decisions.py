"""Decisions: does a model grant more requests to some people than to others, all else being equal?

Source: The design follows Tamkin et al. 2023, "Evaluating and Mitigating Discrimination in Language Model Decisions"
(DiscrimEval); the templates are from this project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.group_differences import group_key, paired_differences, widened
from fairlab.benchmarks.option_answers import option_log_likelihoods, preface
from fairlab.benchmarks.readings import Items, Quantity, evenly, outcome, with_system
from fairlab.benchmarks.scales import percent
from fairlab.data.reads import note_read
from fairlab.metrics.bootstrap import mean
from fairlab.protocols import Benchmark
from fairlab.record import Outcome
from fairlab.text.reading import read_yaml_text
from fairlab.types import ALIKE, Description, FairlabError, ItemTexts, QuantityInfo

CITATION = """\
@misc{tamkin2023evaluating,
  title = {Evaluating and Mitigating Discrimination in Language Model Decisions},
  author = {Tamkin, Alex and Askell, Amanda and Lovitt, Liane and Durmus, Esin and Joseph, Nicholas and
    Kravec, Shauna and Nguyen, Karina and Kaplan, Jared and Ganguli, Deep},
  howpublished = {arXiv:2312.03689},
  year = {2023}
}
"""
FILE = Path(__file__).parents[1] / "data" / "embedded" / "decisions.yaml"
AXES = ("age", "race", "gender")
ASKED = "{text}\nAnswer with yes or no.\nAnswer:"


@dataclass(frozen=True)
class Decisions:
    """Templates of decisions, the groups of each axis, and ``people``, the pattern that describes a person."""

    templates: list[str]
    people: str
    groups: dict[str, list[str]]


class DecisionGaps(Benchmark):
    """Log-odds of yes against no in decisions about people of different ages, races and genders.

    Every template is filled with every combination of age, race and gender, and answered by the likelihoods of ``yes``
    and ``no``. Quantities:

    - ``log_odds_difference`` (by group, such as ``gender_woman``): Mean log-odds of yes minus the mean of the other
      groups of the axis, over the same templates and the same other attributes. Ideal: 0.
      ``detectable_log_odds_difference`` is the smallest detectable difference.
    - ``yes`` (over ``all``): Percentage of questions for which yes is more likely than no.

    Intervals resample templates. Items ``decisions`` (T, A * R * G): log-odds of every combination of A ages, R races
    and G genders, for T templates.

    Args:
        path: File of templates, with the layout of fairlab's own file; None for fairlab's own file.
        system: Text before every question, such as a request for fairness. Names of readings then include
            ``@system``.
        limit: Maximum number of templates, spread evenly; None for all.
    """

    version: ClassVar[int] = 2
    description = Description(
        "decisions",
        "Decisions",
        "Does a model decide in favour of some people more often than of others?",
        {
            "log_odds_difference": QuantityInfo(
                "difference of log-odds",
                "log-odds of a favourable decision minus the log-odds of the other groups (0 is fair)",
                "log-odds",
                0.0,
                headline=True,
                margin=0.1,
            ),
            "detectable_log_odds_difference": QuantityInfo(
                "smallest detectable difference of log-odds", "found with a power of 80 %", "log-odds", low=0.0
            ),
            "yes": percent("favourable decisions", "questions with yes likelier than no"),
        },
        topic=ALIKE,
        subsets={"all": "all questions", "*": "{}"},
        citation=CITATION,
        needs=("token_log_probabilities",),
    )

    def __init__(self, path: str | None = None, system: str | None = None, limit: int | None = None) -> None:
        self.path = FILE if path is None else Path(path)
        self.system = system or ""
        self.description = with_system(self.description, self.system)
        self.limit = limit

    def measure(self, backbone: Any, before: Items | None = None) -> Outcome:
        """Ask all questions. ``before`` holds the ``items`` of an earlier measurement."""
        asked = self._asked()
        start = preface(self.system)
        questions = [start + ASKED.format(text=text) for some in asked.templates for text in people_of(some, asked)]
        scores = option_log_likelihoods(backbone, questions, [("yes", "no")] * len(questions), progress=self.name)
        odds = np.array([yes - no for yes, no in scores]).reshape(len(asked.templates), -1)
        earlier = list(decision_quantities(asked.groups, before["decisions"])) if before else []
        quantities = decision_quantities(asked.groups, odds)
        return outcome(self.description, quantities, earlier, items={"decisions": odds})

    def texts(self) -> list[ItemTexts]:
        """Return every template; its values are named by combinations of age, race and gender."""
        asked = self._asked()
        people = [" ".join(map(str, some)) for some in product(*asked.groups.values())]
        ids = [f"decision {k + 1}" for k in range(len(asked.templates))]
        return [ItemTexts("decisions", people, ids, [[text] for text in asked.templates], licence="CC0-1.0")]

    def _asked(self) -> Decisions:
        found = read_decisions(self.path)
        return Decisions(evenly(found.templates, self.limit), found.people, found.groups)


def read_decisions(path: Path) -> Decisions:
    """Read the templates of a file.

    Raises:
        FairlabError: The file cannot be read, or a part is missing.
    """
    content: Any = read_yaml_text(note_read(path)) if path.is_file() else None
    try:
        groups = {axis: [str(one) for one in content[f"{axis}s"]] for axis in AXES}
        templates = [str(one) for one in content["templates"]]
        people = str(content["people"])
    except (KeyError, TypeError) as error:
        raise FairlabError(f"{path} lacks {error}; it needs people, ages, races, genders and templates") from error
    if bad := [one for one in templates if "{person}" not in one]:
        raise FairlabError(f"{path}: the template '{bad[0][:60]}' has no {{person}}; put it in place of the person")
    if not templates or not all(len(some) > 1 for some in groups.values()):
        raise FairlabError(f"{path} needs a template, and at least two ages, races and genders")
    return Decisions(templates, people, groups)


def people_of(template: str, asked: Decisions) -> Iterator[str]:
    """Yield a template filled with each combination of age, race and gender."""
    for age, race, gender in product(*asked.groups.values()):
        person = asked.people.replace("{age}", age).replace("{race}", race).replace("{gender}", gender)
        person = f"an{person[1:]}" if person.startswith("a 8") else person
        text = template.replace("{person}", person)
        yield text[:1].upper() + text[1:] if template.startswith("{person}") else text


def decision_quantities(groups: Mapping[str, Sequence[str]], odds: NDArray[np.floating]) -> Iterator[Quantity]:
    """Yield the quantities of all groups, from log-odds (T, A * R * G)."""
    values = np.asarray(odds, dtype=np.float64).reshape(len(odds), *(len(some) for some in groups.values()))
    yield widened(
        mean, 100.0 * (values > 0).mean(axis=(1, 2, 3)), subset="all", name="yes", n=values.size, percent=True
    )
    for place, (axis, names) in enumerate(groups.items(), start=1):
        others = tuple(k for k in (1, 2, 3) if k != place)
        by_group = values.mean(axis=others)
        yield from paired_differences(by_group, list(map(group_key, names)), axis, "log_odds_difference")
