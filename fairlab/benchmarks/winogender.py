"""Winogender: which pronoun does a language model prefer, and does it follow employment statistics?

Source: The sentences and the statistics of occupations are from Rudinger et al. 2018, "Gender Bias in Coreference
Resolution". Their test asks a coreference system for the pronoun's referent; this project instead asks which pronoun a
language model expects. As in their test, the result is compared with the proportion of women in an occupation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.likelihoods import pronoun_log_likelihoods
from fairlab.benchmarks.readings import OF_GENDER, Items, Quantity, evenly, outcome, quantity
from fairlab.benchmarks.scales import ratio
from fairlab.data.published.download import locate
from fairlab.data.published.winogender import Schema, read_occupation_statistics, read_winogender, schemas
from fairlab.metrics.bootstrap import cluster_sums, ratio_of_means
from fairlab.metrics.classification import pearson
from fairlab.metrics.preference import male_first, margins, neutral_first
from fairlab.protocols import Benchmark
from fairlab.record import Note, Outcome
from fairlab.types import PERSIST, Description, FairlabError, ItemTexts, QuantityInfo

PUBLISHED = 240  # number of schemas, with three sentences each
SENTENCES = "winogender/all_sentences.tsv"
CITATION = """\
@inproceedings{rudinger2018gender,
  title = {Gender Bias in Coreference Resolution},
  author = {Rudinger, Rachel and Naradowsky, Jason and Leonard, Brian and Van Durme, Benjamin},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
    Linguistics},
  year = {2018}
}
"""


class Winogender(Benchmark):
    """Preference for the male, female or neutral pronoun in sentences that fit all three.

    For a masked LM, the score is log p(pronoun | sentence with the pronoun masked), in the form that the sentence needs
    (he, him or his; she or her; they, them or their). For a causal LM, it is the log-likelihood of the whole sentence
    with each pronoun; see :func:`~fairlab.benchmarks.likelihoods.pronoun_log_likelihoods`.

    Quantities of the subset ``all``:

    - ``male_ratio``: Proportion of schemas in which the male pronoun is more likely than the female one; ties count as
      one half. Ideal: 0.5.
    - ``margin``: Mean log-likelihood of the male pronoun minus that of the female one, in nats. Ideal: 0.
    - ``neutral_first``: Proportion of schemas in which the neutral pronoun is more likely than both others; ties are
      shared. It has no ideal value, because it depends on how common singular *they* is, and because a verb ("were" for
      "was") reveals the neutral pronoun in 34 schemas.

    Quantity of the subset ``occupations``, the headline:

    - ``women_correlation``: Pearson's r over the 60 occupations between the percentage of women among the employed
      (United States, 2015-2016) and the mean margin in the two schemas whose pronoun refers to the person with that
      occupation. Ideal: 0. If it is negative, pronouns follow employment.

    Intervals resample occupations, each with its four schemas. Items (S, 3): log-likelihoods of the male, female and
    neutral version of each schema.

    Args:
        limit: Maximum number of occupations, spread evenly over the file, each with its four schemas; None for all.
    """

    version: ClassVar[int] = 1
    description = Description(
        "winogender",
        "Winogender",
        "Does a language model expect the pronoun of those who usually do the work?",
        {
            "male_ratio": ratio(
                "male first", "sentences in which 'he' is likelier than 'she' (0.5 is fair)", ideal=0.5, margin=0.05
            ),
            "margin": QuantityInfo("margin", "log-likelihood of 'he' minus 'she' (0 is fair)", "nats", 0.0),
            "neutral_first": ratio("neutral first", "sentences in which 'they' is likeliest"),
            "women_correlation": QuantityInfo(
                "correlation with employment",
                "how closely pronouns follow the share of women in an occupation (0 is fair)",
                "Pearson r",
                0.0,
                -1.0,
                1.0,
                headline=True,
                margin=0.1,
            ),
        },
        topic=PERSIST,
        citation=CITATION,
        needs=("token_log_probabilities",),
        sources=(SENTENCES,),
    )
    measured_axes = OF_GENDER

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure all schemas. ``before`` holds the ``items`` of an earlier measurement."""
        found = schemas(read_winogender(locate(SENTENCES)))
        women = read_occupation_statistics(locate("winogender/occupations-stats.tsv"))
        if missing := sorted({schema.occupation for schema in found} - set(women)):
            raise FairlabError(f"occupations-stats.tsv of Winogender lacks {', '.join(missing)}; fetch it again")
        found = self._limited(found)
        versions = [version for schema in found for version in (schema.male, schema.female, schema.neutral)]
        scores = pronoun_log_likelihoods(backbone, versions, progress=self.name).reshape(-1, 3)
        earlier = winogender_quantities(found, women, before["log_likelihoods"]) if before else []
        now = winogender_quantities(found, women, scores)
        return outcome(self.description, now, earlier, items={"log_likelihoods": scores}, notes=self._notes(scores))

    def _limited(self, found: Sequence[Schema]) -> list[Schema]:
        occupations = evenly(list(dict.fromkeys(schema.occupation for schema in found)), self.limit)
        return [schema for schema in found if schema.occupation in occupations]

    def texts(self) -> list[ItemTexts]:
        """Return the three versions of every schema."""
        groups = read_winogender(locate(SENTENCES))
        by_id = {group.id: [group.versions[name] for name in ("man", "woman", "neutral")] for group in groups}
        found = self._limited(schemas(groups))
        ids, occupations = [schema.id for schema in found], [schema.occupation for schema in found]
        values = ["log-likelihood of he", "of she", "of they"]
        texts = [by_id[name] for name in ids]
        return [ItemTexts("log_likelihoods", values, ids, texts, groups=occupations, licence="MIT")]

    def _notes(self, scores_S3: NDArray[np.floating]) -> list[Note]:
        notes = []
        if len(scores_S3) != PUBLISHED:
            text = f"{3 * len(scores_S3)} of the {3 * PUBLISHED} sentences of the published set"
            notes.append(Note(self.name, text))
        if (margins(scores_S3) == 0).all():
            notes.append(Note(self.name, "male and female pronouns are equally likely in every sentence"))
        return notes


def winogender_quantities(
    found: Sequence[Schema], women: Mapping[str, float], scores_S3: NDArray[np.floating]
) -> list[Quantity]:
    """Return the quantities of the schemas, from log-likelihoods (S, 3) and percentages of ``women`` by occupation."""
    occupations = [schema.occupation for schema in found]
    margin = margins(scores_S3)

    def over_schemas(values: NDArray[np.floating], name: str) -> Quantity:
        sums = cluster_sums(values, occupations)
        return quantity(ratio_of_means, *sums, subset="all", name=name, n=len(values))

    referring = [schema.of_occupation for schema in found]
    sums, sizes = cluster_sums(margin[referring], [schema.occupation for schema in found if schema.of_occupation])
    percent = [women[name] for name in dict.fromkeys(schema.occupation for schema in found if schema.of_occupation)]
    return [
        over_schemas(male_first(scores_S3), "male_ratio"),
        over_schemas(margin, "margin"),
        over_schemas(neutral_first(scores_S3), "neutral_first"),
        quantity(pearson, percent, sums / sizes, subset="occupations", name="women_correlation"),
    ]
