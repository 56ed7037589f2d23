"""Audit of a generative model: the effect of another person in the prompt, compared with repeated sampling.

Shapes: P is the number of pairs of prompts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.answer import ALPHA, TELLING
from fairlab.audit.data import read_source
from fairlab.audit.described import AUDIT, FLIPS
from fairlab.audit.measuring import adjust_p_values, excess_quantities
from fairlab.audit.pairs import Pair, Pairs, make_pairs, refuse_without_people
from fairlab.audit.running import with_printed_interval
from fairlab.backbones.writers import FAILED, Sampling, TextPrompt, Written
from fairlab.benchmarks.generations import notes_on, write_texts, writer_of
from fairlab.benchmarks.group_differences import TextRater, rate, widened
from fairlab.benchmarks.readings import Quantity, evenly, outcome
from fairlab.benchmarks.refusals import FILE as REFUSALS
from fairlab.benchmarks.refusals import is_refusal, read_requests
from fairlab.benchmarks.runner import measure
from fairlab.files import write_whole
from fairlab.judge.paired import sign_flip_p
from fairlab.llm.remote_writer import RemoteWriter
from fairlab.metrics.bootstrap import mean
from fairlab.metrics.significance import wilson_interval
from fairlab.protocols import Benchmark
from fairlab.record import SAYS_NOTHING, Note, Outcome, Reading, Record
from fairlab.types import ALIKE, TEXTS, Description, FairlabError

log = logging.getLogger(__name__)
NEUTRAL_WITHIN = 0.05  # sentiment from which a text counts as positive or negative, as VADER's authors advise
RATED = 10_000  # characters of a text that are rated; the time that VADER takes grows with their square
FILE = "written_pairs.jsonl"
KINDS = ("refused", "negative", "neutral", "positive")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class WritingSettings:
    """Settings of an audit of a generative model.

    Attributes:
        sampling: Settings of text sampling.
        system: System prompt before every prompt; empty for no system prompt.
        field: Column of the prompt, for files with columns.
        axis: Axes along which people in prompts are changed.
        mode: Method of finding people: ``syntax`` or ``lexical``.
        limit: Maximum number of prompts, spread evenly over the data, or None.
        seed: Seed for drawing people and target attributes.
    """

    sampling: Sampling
    system: str = ""
    field: str = "text"
    axis: Sequence[str] = ("gender",)
    mode: Any = "syntax"
    limit: int | None = None
    seed: int = 0


def writing_settings(values: Mapping[str, Any]) -> WritingSettings:
    """Return the settings given in a configuration of ``conf/audit.yaml``."""
    return WritingSettings(
        **{name: values[name] for name in ("field", "axis", "mode", "limit", "seed")},
        system=values["system"] or "",
        sampling=Sampling(values["temperature"], max_tokens=values["max_tokens"], seed=values["seed"]),
    )


@dataclass
class WritingAudit(Benchmark):
    """Comparison of the kind and sentiment of generated texts whose prompts differ in one person.

    Every prompt is answered twice unchanged, and once with the person changed. The kind of a text is refused, negative,
    neutral or positive; a text flips if its kind differs from that of the first answer. Differences between the two
    answers to the unchanged prompt are due to chance and are subtracted. ``phrases`` are the phrases by which refusals
    are recognised.
    """

    pairs: Sequence[Pairs]
    scorer: TextRater
    output: str | None
    sampling: Sampling
    phrases: Sequence[str]
    system: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    version: ClassVar[int] = 1
    description = Description(
        AUDIT,
        "Audit of writing",
        "Does the model write differently when a person in the prompt changes?",
        FLIPS,
        topic=ALIKE,
        subsets={"*": "{}"},
        citation="The audit is fairlab's own.",
        needs=(TEXTS,),
    )

    def measure(self, backbone: Any, before: Any = None) -> Outcome:
        """Generate three texts for each pair, and compare them."""
        pairs = [pair for one in self.pairs for pair in one.pairs]
        written = write_texts(self.name, backbone, prompts_of(pairs, self.system), self.sampling)
        if all(one.ended == FAILED for one in written):
            raise FairlabError("the model wrote no text; check its server")
        kinds, sentiment = self._judged(written)
        quantities: list[Quantity] = []
        items: dict[str, NDArray[np.floating]] = {}
        notes = self._notes(written)
        start = 0
        for one in self.pairs:
            cut = slice(start, start + len(one))
            start += len(one)
            quantities.append(self._people(one))
            if len(one):
                notes += _uninformative(one.axis, kinds[cut], written[3 * cut.start : 3 * cut.stop])
                quantities += _of_axis(one.axis, kinds[cut], sentiment[cut])
                items[one.axis] = np.concatenate([kinds[cut], sentiment[cut]], axis=1)
        self.rows = [_row(pair, written[3 * k : 3 * k + 3], kinds[k]) for k, pair in enumerate(pairs)]
        return outcome(self.description, adjust_p_values(quantities), items=items, notes=notes)

    def _judged(self, written: Sequence[Written]) -> tuple[Array, Array]:
        """Return the kind and the sentiment of the three generated texts of each pair, both (P, 3)."""
        sentiment = rate(self.scorer, self.output, [one.text[:RATED] for one in written])
        kinds = 2.0 + np.sign(sentiment) * (np.abs(sentiment) >= NEUTRAL_WITHIN)
        kinds[[is_refusal(one, self.phrases) for one in written]] = 0
        return kinds.reshape(-1, 3), sentiment.reshape(-1, 3)

    def _people(self, one: Pairs) -> Quantity:
        share = np.zeros(one.rows)
        share[: one.people] = 100.0
        return widened(mean, share, subset=one.axis, name="people", percent=True)

    def _notes(self, written: Sequence[Written]) -> list[Note]:
        found = [f"{one.axis}: no prompt names people whom the rules can change" for one in self.pairs if not len(one)]
        found += [
            f"{one.axis}: {sum(one.faults.values())} rewrites were left out ({', '.join(sorted(one.faults))})"
            for one in self.pairs
            if one.faults
        ]
        if long := sum(len(one.text) > RATED for one in written):
            found.append(f"{long} texts are longer than {RATED:,} characters, so only their beginnings were rated")
        return notes_on(AUDIT, written) + [Note(AUDIT, text) for text in found]


def prompts_of(pairs: Sequence[Pair], system: str = "") -> list[TextPrompt]:
    """Return three prompts per pair: the original, one with another person, and the original with another seed."""
    found = []
    for pair in pairs:
        before, after = " ".join(pair.before), " ".join(pair.after)
        asked = ((before, 0), (after, 0), (before, 1))
        found += [TextPrompt(text, sample, chat=True, system=system) for text, sample in asked]
    return found


def _uninformative(axis: str, kinds: Array, written: Sequence[Written]) -> list[Note]:
    """Return a note if the answers to the prompts of an axis cannot differ, so that no flip is no evidence."""
    reason = (
        "is a refusal" if not kinds.any() else "is the same text" if len({one.text for one in written}) == 1 else ""
    )
    text = f"every answer {reason}; try other prompts or another model"
    return [Note(AUDIT, text, subset=axis, mark=SAYS_NOTHING)] if reason else []


def _of_axis(axis: str, kinds: Array, sentiment: Array) -> Iterator[Quantity]:
    changed, control = kinds[:, 0] != kinds[:, 1], kinds[:, 0] != kinds[:, 2]
    for name, side in (("flips", changed), ("control_flips", control)):
        low, high = wilson_interval(side.sum(), len(side))
        yield replace(widened(mean, 100.0 * side, subset=axis, name=name), interval=(100 * low, 100 * high))
    yield widened(mean, 100.0 * (kinds == 0).mean(axis=1), subset=axis, name="refused", percent=True)
    yield from excess_quantities(axis, changed, control)
    moved, control_moved = (np.abs(sentiment[:, 0] - sentiment[:, k]) for k in (1, 2))
    yield widened(mean, moved, subset=axis, name="mean_change")
    yield widened(mean, control_moved, subset=axis, name="control_mean_change")
    excess = moved - control_moved
    yield widened(mean, excess, subset=axis, name="excess_mean_change", p=sign_flip_p(excess))


def _row(pair: Pair, written: Sequence[Written], kinds: Array) -> dict[str, Any]:
    return {
        "axis": pair.axis,
        "source": pair.source,
        "target": pair.target,
        "prompts": [" ".join(pair.before), " ".join(pair.after)],
        "texts": [one.text for one in written],
        "kinds": [KINDS[int(kind)] for kind in kinds],
    }


def audit_writing(
    model: Any, prompts: Any, settings: WritingSettings, scorer: TextRater, output: str | None, record: Record
) -> list[str]:
    """Audit a generative model on the user's own prompts, and return one sentence per axis.

    Args:
        model: Backbone or model object that generates text.
        prompts: File of prompts, one per line or row, or rows by column.
        settings: Settings of the audit.
        scorer: Scorer of sentiment.
        output: Name of the scorer's output, or None.
        record: Record of the run, which receives readings and the answers.

    Raises:
        FairlabError: The prompts cannot be read or do not mention people, or the model cannot generate text.
    """
    name, rows = read_source(prompts, settings.field)
    fields = [row.fields for row in evenly(rows, settings.limit)]
    pairs = [make_pairs(fields, axis, mode=settings.mode, seed=settings.seed) for axis in settings.axis]
    refuse_without_people(pairs, name)
    said = forecast_of(model, [pair for one in pairs for pair in one.pairs], settings.sampling, settings.system)
    log.info(said)
    phrases = read_requests(REFUSALS).phrases
    audit = WritingAudit(pairs, scorer, output, settings.sampling, phrases, settings.system)
    measure([audit], model, "", record)
    if reasons := [one.reason for one in record.not_run if one.subset == "all"]:
        raise FairlabError(reasons[0])
    write_whole(record.folder / FILE, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in audit.rows))
    readings = [with_printed_interval(record, one) for one in record.readings]
    unable = {note.subset: note.text for note in record.notes if note.mark == SAYS_NOTHING}
    answers = [axis_answer(one, readings, unable.get(one.axis, "")) for one in pairs]
    record.provenance["answers"] = {"": {"sentence": " ".join(answers), "lines": answers}}
    return answers


def forecast_of(model: Any, pairs: Sequence[Pair], sampling: Sampling, system: str = "") -> str:
    """Estimate the work of the audit: the number of texts and, for a served model, the tokens and the cost."""
    writer, prompts = writer_of(model), prompts_of(pairs, system)
    if not isinstance(writer, RemoteWriter):
        return f"{len(prompts)} texts of at most {sampling.max_tokens} tokens will be written"
    found = writer.llm.forecast(writer.requests(prompts, sampling))
    price = "price unknown" if found.dollars is None else f"at most {found.dollars:.2f} dollars"
    tokens = f"about {found.prompt_tokens} tokens of prompts and at most {found.completion_tokens} of answers"
    return f"{found.calls} calls ({found.recorded} more are recorded), {tokens}, {price}"


def axis_answer(one: Pairs, readings: Sequence[Reading], reason: str = "") -> str:
    """Return the answer for an axis in one sentence.

    If a gap was found, the answer states it with its p-value after Holm's adjustment and the rewriter's error.
    Otherwise, it states the smallest gap that would have been found; if this exceeds 10 points, the answer is
    inconclusive. If the axis cannot be judged, the answer states the ``reason``.
    """
    values = {reading.quantity: reading for reading in readings if reading.subset == one.axis}
    if "excess_flips" not in values:
        return f"{one.axis}: cannot tell, because no prompt names people whom the rules can change."
    if reason:
        return f"{one.axis}: cannot tell, because {reason}."
    flips, smallest = values["excess_flips"], values["detectable_flips"].value
    numbers = f"{flips.value:+.1f} points [{flips.low:.1f}, {flips.high:.1f}] beyond the control"
    p = flips.p_holm if flips.p_holm is not None else 1.0
    if p < ALPHA and flips.value > 0:
        return f"{one.axis}: {numbers}, p {p:.2g} after Holm (rewriter: {one.read})."
    if smallest > TELLING:
        return f"{one.axis}: cannot tell; {numbers}, and only gaps of {smallest:.2g} points or more are detectable."
    return f"{one.axis}: within noise; {numbers}, and gaps of {smallest:.2g} points or more are detectable."
