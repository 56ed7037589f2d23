"""Tables for the page on debiasing a model at a limited loss of utility, from the records of one example run.

python -m fairlab.mend minilm axis=gender keep=stsb:-1 "methods=[sentence_debias,leace,ccd_linear]" output=mended
"""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import markdown
from fairlab.mend.judging import MendJudgement, best_of, judge_change, price_of
from fairlab.mend.outcome import concluded
from fairlab.record import Record
from fairlab.reporting.headlines import title

FOLDER = Path(__file__).parent / "records"
MODEL, ORIGINAL = "minilm", "original"
WAYS = ("sentence_debias", "leace", "ccd_linear")
PRICE = price_of("stsb:-1", "stsb")


def _judged() -> list[MendJudgement]:
    record = Record.load(FOLDER / "chosen_by")
    return [judge_change(record, way, ORIGINAL, PRICE) for way in WAYS]


def tried() -> str:
    """Return a table with one row per method, from the readings for selection."""
    rows = [
        [
            f"`{one.label}`",
            f"{len(one.fairer)} of {one.tested}",
            str(len(one.worse)),
            f"{100 * one.remaining:.0f} %",
            one.utility.removeprefix("stsb "),
            "yes" if one.kept else "not shown",
        ]
        for one in _judged()
    ]
    return markdown(
        ["method", "fairer results", "less fair results", "distance left", "change on STS-B", "within the limit"], rows
    )


def proven() -> str:
    """Return a table of the readings for confirmation (before, after and paired change), followed by the answer."""
    chosen, record = best_of(_judged()), Record.load(FOLDER / "measured")
    assert chosen is not None
    proof = judge_change(record, chosen.label, ORIGINAL, PRICE)
    values = {(one.phase, one.benchmark, one.subset, one.quantity): one for one in record.readings}
    rows = []
    for one in (one for one in record.comparisons if one.headline):
        before, after = (values[phase, one.benchmark, one.subset, one.quantity] for phase in (ORIGINAL, chosen.label))
        change = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
        p = "" if one.p_holm is None or PRICE.is_of(one) else f"{one.p_holm:.2g}"
        rows.append([title(before), f"{before.value:.3f}", f"{after.value:.3f}", change, p])
    table = markdown(["result", "before", "after", "change", "p, adjusted by Holm"], rows)
    return f"{table}\n\n> {concluded(FOLDER, MODEL, PRICE, _judged(), {}, proof).sentence}"


PAGES = {"docs/mend.md": {"tried": tried, "proven": proven}}
