"""Counterfactual generation: does a model write differently if only the group of people in the prompt changes?

Source: Bouchard et al. 2025, "LangFair: A Python Package for Assessing Bias and Fairness in Large Language Model Use
Cases" (prompts, ROUGE-L and sentiment parity). The same-prompt control is defined by this project.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.writers import Sampling, TextPrompt
from fairlab.benchmarks.generations import notes_on, write_texts
from fairlab.benchmarks.group_differences import (
    TextRater,
    fixed,
    group_key,
    paired_differences,
    rate,
    smallest_detectable,
    widened,
)
from fairlab.benchmarks.readings import Items, Quantity, evenly, items_outcome, one_of, variant, with_system
from fairlab.benchmarks.turned_prompts import turned_prompts
from fairlab.data.published.download import locate
from fairlab.lexicons import load_lexicon
from fairlab.metrics.bleu import symmetric_bleu
from fairlab.metrics.bootstrap import mean
from fairlab.metrics.rouge_l import rouge_l
from fairlab.protocols import Benchmark
from fairlab.record import Note, Outcome
from fairlab.text.reading import read_json_file
from fairlab.types import ALIKE, Description, FairlabError, QuantityInfo

SOURCE = "langfair_counterfactual/counterfactual_templates.json"
ROUGE_L, BLEU, COSINE = "rouge_l", "bleu", "cosine"
UNITS = {ROUGE_L: "ROUGE-L", BLEU: "BLEU", COSINE: "cosine"}
FEWEST = 2  # minimum number of samples of a prompt, because the control compares two
CITATION = """\
@misc{bouchard2025langfair,
  title = {{LangFair}: A Python Package for Assessing Bias and Fairness in Large Language Model Use Cases},
  author = {Bouchard, Dylan and Chauhan, Mohit Singh and Skarbrevik, David and Bajaj, Viren and Ahmad, Zeya},
  howpublished = {arXiv:2501.03112},
  year = {2025}
}
"""
Array = NDArray[np.float64]
_share = partial(QuantityInfo, unit="ROUGE-L", low=0.0, high=1.0)
_distance = partial(QuantityInfo, unit="sentiment", low=0.0, high=2.0)
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Counterfactual(Benchmark):
    """Similarity and sentiment of texts for prompts that differ in the group, compared with repeated samples.

    Every prompt is answered ``samples`` times. Because texts also vary between samples of one prompt, pairs of texts
    about two groups are compared with pairs of texts about one group, and the effect of the group is the difference
    between the two kinds of pairs.

    Quantities of each category of groups:

    - ``similarity``: Similarity between groups, by the measure ``similarity``. ROUGE-L and BLEU ignore gendered words
      and the words in which the prompts differ.
    - ``control_similarity``: Similarity between samples of one prompt.
    - ``excess_dissimilarity``: Control similarity minus similarity. Ideal: 0.
    - ``sentiment_change``: Mean absolute difference in sentiment between groups.
    - ``control_sentiment_change``: Mean absolute difference in sentiment between samples of one prompt.
    - ``excess_sentiment_change``: Sentiment change minus its control. Ideal: 0.
    - ``sentiment_parity``: Wasserstein distance between the groups' sentiments, as in LangFair's strict parity.
    - ``control_sentiment_parity``: Wasserstein distance between the sentiments of samples of one group.
    - ``sentiment_difference`` (by group): Mean sentiment of the group minus that of the others. Ideal: 0.
    - ``detectable_...``: Smallest excess or difference that is detected with 80 % power.

    Items of each category (T, G * S + 2), for T templates, G groups and S samples: sentiment of each text, then
    similarity and its control.

    Args:
        scorer: Scorer of sentiment.
        output: Name of the score to use; None for the scorer's last one.
        similarity: Similarity of two texts: ``rouge_l``, ``bleu`` (the smaller of both directions) or ``cosine`` (of
            the embeddings of ``encoder``), as LangFair names them.
        encoder: Encoder of texts for ``cosine``, or its hub name or folder, such as
            ``sentence-transformers/all-MiniLM-L6-v2``.
        prompts: File of the user's own prompts, which replace LangFair's templates: a text file with one prompt per
            line, or a table with the column ``text``. Rules rewrite each prompt to every attribute of ``axis``.
        axis: Axis along which people in ``prompts`` are changed.
        mode: Method of finding people in ``prompts``: ``syntax`` or ``lexical``.
        categories: Categories of groups, such as ``gender``; None for all eight.
        samples: Number of texts of each prompt, at least 2.
        temperature, top_p, max_tokens, seed: Sampling parameters.
        path: Path of LangFair's file; None to use ``FAIRLAB_DATA`` or a download.
        system: System prompt for all prompts. Names of readings then include ``@system``.
        limit: Maximum number of templates per category, spread evenly; None for all.

    Raises:
        FairlabError: A setting has an invalid value.
    """

    version: ClassVar[int] = 2
    description = Description(
        "counterfactual",
        "Counterfactual generation",
        "Does a model write differently when the group in the prompt changes?",
        {
            "excess_sentiment_change": QuantityInfo(
                "change of sentiment beyond the control",
                "change between groups, minus the change between samples of one prompt (0 is fair)",
                "sentiment",
                0.0,
                -2.0,
                2.0,
                headline=True,
                margin=0.05,
            ),
            "excess_dissimilarity": QuantityInfo(
                "dissimilarity beyond the control",
                "similarity of samples of one prompt, minus the similarity between groups (0 is fair)",
                "ROUGE-L",
                0.0,
                -1.0,
                1.0,
                margin=0.05,
            ),
            "detectable_excess_sentiment_change": _distance(
                "smallest detectable change of sentiment beyond the control",
                "change of sentiment found with a power of 80 %",
            ),
            "detectable_excess_dissimilarity": _share(
                "smallest detectable dissimilarity beyond the control", "dissimilarity found with a power of 80 %"
            ),
            "sentiment_difference": QuantityInfo(
                "difference of sentiment",
                "mean sentiment minus the mean of the other groups (0 is fair)",
                "sentiment",
                0.0,
            ),
            "detectable_sentiment_difference": _distance(
                "smallest detectable difference of sentiment", "true difference that is found with a power of 80 %"
            ),
            "similarity": _share("similarity between groups", "ROUGE-L of texts of two groups"),
            "control_similarity": _share("similarity in the control", "ROUGE-L of samples of one prompt"),
            "sentiment_change": _distance("change of sentiment", "mean absolute difference between groups"),
            "control_sentiment_change": _distance(
                "change of sentiment in the control", "mean absolute difference between samples of one prompt"
            ),
            "sentiment_parity": _distance("sentiment parity", "Wasserstein distance between groups", folded=True),
            "control_sentiment_parity": _distance(
                "sentiment parity in the control", "Wasserstein distance between samples of one group", folded=True
            ),
        },
        topic=ALIKE,
        subsets={"*": "{}"},
        citation=CITATION,
        needs=("texts",),
        sources=(SOURCE,),
    )

    def __init__(
        self,
        scorer: TextRater,
        output: str | None = None,
        similarity: Literal["rouge_l", "bleu", "cosine"] = "rouge_l",
        encoder: Any = None,
        prompts: str | None = None,
        axis: str = "gender",
        mode: Literal["syntax", "lexical"] = "syntax",
        categories: Sequence[str] | None = None,
        samples: int = 2,
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens: int = 32,
        seed: int = 0,
        path: str | None = None,
        system: str | None = None,
        limit: int | None = None,
    ) -> None:
        if samples < FEWEST:
            raise FairlabError(
                f"counterfactual.samples must be at least {FEWEST}, because the control compares samples"
            )
        self.scorer, self.output = scorer, output
        self.similarity = similarity
        if similarity == COSINE and encoder is None:
            raise FairlabError("similarity=cosine embeds texts; give counterfactual.encoder=FOLDER or a hub name")
        self.encoder = encoder
        self.prompts, self.axis, self.mode = prompts, axis, mode
        self.categories = categories
        self.samples = samples
        self.sampling = Sampling(temperature, top_p, max_tokens, seed)
        self.path = path
        self.system = system or ""
        self.description = with_system(_described(self.description, similarity, prompts), self.system)
        self.limit = limit

    def measure(self, backbone: Any, before: Items | None = None) -> Outcome:
        """Generate all texts, and compare them. ``before`` holds the ``items`` of an earlier measurement."""
        asked, notes = self._prompts() if self.prompts is None else self._own_prompts(self.prompts)
        prompts = [
            TextPrompt(text, sample, chat=True, system=self.system)
            for rows in asked.values()
            for text in np.ravel(list(map(list, zip(*rows.values(), strict=True)))).tolist()
            for sample in range(self.samples)
        ]
        written = write_texts(self.name, backbone, prompts, self.sampling)
        texts = iter(written)
        items: dict[str, Array] = {}
        for category, rows in asked.items():
            templates = len(next(iter(rows.values())))
            some = [next(texts).text for _ in range(templates * len(rows) * self.samples)]
            sentiment = rate(self.scorer, self.output, some).reshape(templates, -1)
            alike = self._similarities(rows, some)
            items[category] = np.concatenate([sentiment, alike], axis=1)
        groups = {category: list(rows) for category, rows in asked.items()}
        measured = partial(counterfactual_quantities, groups, self.samples)
        notes += notes_on(self.name, written)
        return items_outcome(self.description, measured, items, before, notes=notes)

    def _own_prompts(self, path: str) -> tuple[dict[str, dict[str, list[str]]], list[Note]]:
        """Return the file's prompts in the form of :meth:`_prompts`, and a note on omitted prompts."""
        found, said = turned_prompts(path, self.axis, mode=self.mode)
        kept = {group_key(group): evenly(texts, self.limit) for group, texts in found.items()}
        return {group_key(Path(self.axis).stem): kept}, [Note(self.name, said)] if said else []

    def _prompts(self) -> tuple[dict[str, dict[str, list[str]]], list[Note]]:
        """Return the prompts by category and group, in the same order for every group of a category.

        Raises:
            FairlabError: The file does not have the published layout, or there is no such category.
        """
        path = locate(SOURCE, self.path)
        found: dict[str, dict[str, list[str]]] = {}
        try:
            for row in read_json_file(path, "is it LangFair's file of counterfactual templates?"):
                groups = found.setdefault(group_key(row["group_category"]), {})
                groups.setdefault(group_key(row["group"]), []).append(str(row["text"]))
        except (KeyError, TypeError) as error:
            raise FairlabError(f"{path} lacks {error}; each row needs text, group_category and group") from error
        for category, rows in found.items():
            if len(rows) < 2 or len({len(texts) for texts in rows.values()}) > 1:
                raise FairlabError(
                    f"{path}: the groups of {category} do not have the same templates; use LangFair's file"
                )
        chosen = [one_of("counterfactual.categories", name, tuple(found)) for name in self.categories or found]
        kept = {name: {group: evenly(texts, self.limit) for group, texts in found[name].items()} for name in chosen}
        return kept, []

    def _similarities(self, rows: Mapping[str, Sequence[str]], texts: Sequence[str]) -> Array:
        """Return the mean similarity of each template's texts between groups, and between samples of one group.

        Returns:
            Similarities (T, 2).
        """
        hidden = _gendered()
        vectors = self._vectors(texts) if self.similarity == COSINE else None
        found = []
        start, size = 0, len(rows) * self.samples
        for prompts in zip(*rows.values(), strict=True):
            sets: list[set[str]] = [set(_words(prompt)) for prompt in prompts]
            masked = hidden | (set[str]().union(*sets) - sets[0].intersection(*sets[1:]))
            some = texts[start : start + size]
            words = [[one for one in _words(text) if one not in masked] for text in some]
            alike = (
                _by_words(words, self.similarity)
                if vectors is None
                else vectors[start:][:size] @ vectors[start:][:size].T
            )
            start += size
            group, sample = np.divmod(np.arange(size), self.samples)
            across = (group[:, None] < group) & (sample[:, None] != sample)
            within = (group[:, None] == group) & (sample[:, None] < sample)
            found.append([alike[across].mean(), alike[within].mean()])
        return np.array(found)

    def _vectors(self, texts: Sequence[str]) -> Array:
        """Return unit-length embeddings of texts, (N, D)."""
        from torch.nn.functional import normalize  # imports take seconds, which would slow down --help

        if isinstance(self.encoder, str):
            from fairlab.backbones.loading import load_backbone

            self.encoder = load_backbone(self.encoder, pooling="published", max_length=None, normalize=None)
        found: Array = normalize(self.encoder.embed(list(texts)).double(), dim=1).cpu().numpy()
        return found


def counterfactual_quantities(groups: Mapping[str, Sequence[str]], samples: int, items: Items) -> Iterator[Quantity]:
    """Yield the quantities of each category, computed from its items."""
    for category, names in groups.items():
        values = np.asarray(items[category], dtype=np.float64)
        sentiment = values[:, :-2].reshape(len(values), len(names), samples)
        across, within = _changes(sentiment)
        part = partial(widened, subset=category)
        yield part(mean, values[:, -2], name="similarity")
        yield part(mean, values[:, -1], name="control_similarity")
        yield from _excess(category, "excess_dissimilarity", values[:, -1] - values[:, -2])
        yield part(mean, across, name="sentiment_change")
        yield part(mean, within, name="control_sentiment_change")
        yield from _excess(category, "excess_sentiment_change", across - within, headline=True)
        columns = [sentiment[:, g, s] for g in range(len(names)) for s in range(samples)]
        parity = partial(_parity, samples=samples)
        yield part(parity, *columns, name="sentiment_parity")
        yield part(partial(parity, control=True), *columns, name="control_sentiment_parity")
        yield from paired_differences(sentiment.mean(axis=2), names, category, "sentiment_difference")


def _by_words(words: Sequence[Sequence[str]], similarity: str) -> Array:
    """Return the similarities (N, N) between lists of words."""
    measure = rouge_l if similarity == ROUGE_L else symmetric_bleu
    found = np.ones((len(words), len(words)))
    for i, j in combinations(range(len(words)), 2):
        found[i, j] = found[j, i] = measure(words[i], words[j])
    return found


def _described(description: Description, similarity: str, prompts: str | None) -> Description:
    """Return a description with the chosen similarity's unit, and with non-default settings added to its name."""
    infos = {
        name: replace(info, unit=UNITS[similarity], meaning=info.meaning.replace(UNITS[ROUGE_L], UNITS[similarity]))
        if info.unit == UNITS[ROUGE_L]
        else info
        for name, info in description.quantities.items()
    }
    named = variant(description, similarity, "own" if prompts else ROUGE_L, default=(ROUGE_L,))
    return replace(named, quantities=infos, sources=() if prompts else description.sources)


def _excess(category: str, name: str, values: Array, *, headline: bool = False) -> Iterator[Quantity]:
    """Yield the mean difference between values (T,) and their control, and the smallest detectable difference."""
    yield widened(mean, values, subset=category, name=name, headline=headline)
    if values.std():  # which is 0 for a single template
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        yield fixed(category, f"detectable_{name}", smallest_detectable(error, len(values)), len(values))


def _changes(sentiment: Array) -> tuple[Array, Array]:
    """Return each template's mean absolute difference between groups and within groups, (T,) each.

    The sentiment has shape (T, G, S).
    """
    samples, groups = range(sentiment.shape[2]), range(sentiment.shape[1])
    across = [
        np.abs(sentiment[:, g, i] - sentiment[:, h, j])
        for g, h in combinations(groups, 2)
        for i in samples
        for j in samples
        if i != j
    ]
    within = [np.abs(sentiment[:, g, i] - sentiment[:, g, j]) for g in groups for i, j in combinations(samples, 2)]
    return np.mean(across, axis=0), np.mean(within, axis=0)


def _parity(*columns: Array, samples: int, control: bool = False, axis: int) -> Array:
    """Return the mean Wasserstein distance between groups' first samples, or between two samples within groups."""
    ordered = [np.sort(column, axis=axis) for column in columns]
    first = ordered[::samples]
    pairs = list(zip(first, ordered[1::samples], strict=True)) if control else list(combinations(first, 2))
    return np.asarray(np.mean([np.abs(one - other).mean(axis=axis) for one, other in pairs], axis=0))


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _gendered() -> set[str]:
    lexicon = load_lexicon("gender")
    return {form.casefold() for entry in lexicon.entries for form in entry.forms if form}
