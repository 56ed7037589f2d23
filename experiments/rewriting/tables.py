"""Tables for the two pages about the rewriter, from its records."""

from __future__ import annotations

import csv
import json
import lzma
from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path
from statistics import mean

from sklearn.metrics import cohen_kappa_score

from experiments.rendering import markdown
from experiments.rewriting.labelled import share
from experiments.rewriting.mentions.draw import SOURCES
from experiments.rewriting.moved import RECORD as MOVED
from experiments.rewriting.moved import SINCE
from experiments.rewriting.natural import SOURCES as NATURAL
from experiments.rewriting.natural import read_sheet
from experiments.rewriting.natural_sheet import AFTER, AXES, DOUBT, SECOND, SEEDS, WRONG, count, read_natural
from experiments.shared.compressed_sheets import rows_of

RECORD = Path(__file__).parent / "record.json"
LABELLED = Path(__file__).parent / "labelled"
METAMORPHIC = Path(__file__).parent / "metamorphic.json.xz"
RECALL = Path(__file__).parents[1] / "lexicons/recall.json"
MOVED_SHEET = Path(__file__).parent / "moved_sheet.csv"
MENTIONS = Path(__file__).parent / "mentions/record.json"
HALVES = MENTIONS.with_name("halves.json")
TRAINING = MENTIONS.with_name("training.json")
NEW_NAMES = Path(__file__).parent / "new_names.csv.gz"
READERS = {"other model": "another model", "later": "later session", "same": "same session"}
DATA = {
    "fairscore": "fairscore: copies of SNLI's pairs",
    "ccd": "CCD: groups made from one text each",
    "biasers": "biasers: copies of one draw",
    "people": "comparison with people: rewrites",
    "news": "perturber: references on news",
}
SCORES = ("trap errors", "recall", "right")


def shares(*path: str, label: str) -> str:
    """Return the proportions in one part of the rewriting record.

    Settings are in rows and, if there are several modes, modes are in columns.
    """
    part = json.loads(RECORD.read_text(encoding="utf-8"))
    for key in path:
        part = part[key]
    if "share" in part:
        part = {path[-1]: part}
    modes = [name for name in part if name in ("syntax", "lexical")]
    columns = {mode: part[mode] for mode in modes} or {"share": part}
    keys = list(dict.fromkeys(key for column in columns.values() for key in column))
    rows = [[key, *(_share(column.get(key)) for column in columns.values())] for key in keys]
    return markdown([label, *columns], rows)


def _share(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    return f"{found['count']}/{found['n']} = {found['share']:.1%} [{found['low']:.1%}, {found['high']:.1%}]"


def rewriting_quality() -> str:
    """Return the headline results of the rewriting record for both modes."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    places = {
        "Winogender, man to woman, exact": ("winogender", "held out", "MODE", "man to woman"),
        "Winogender, woman to man, exact": ("winogender", "held out", "MODE", "woman to man"),
        "Winogender, man to neutral, exact": ("winogender", "held out", "MODE", "man to neutral"),
        "Winogender, woman to neutral, exact": ("winogender", "held out", "MODE", "woman to neutral"),
        "Winogender, neutral to man, exact": ("winogender", "held out", "MODE", "neutral to man"),
        "CrowS-Pairs, person selected, exact, held-out half": ("crows", "held out", "MODE", "selected person"),
        "CrowS-Pairs, person selected, exact, all": ("crows", "all", "MODE", "selected person"),
        "CrowS-Pairs, whole text, exact, all": ("crows", "all", "MODE", "whole text"),
        "GAP, right form of the labelled pronoun": ("gap", "forms", "MODE", "all pronouns"),
        "embedded groups, from man: all versions have the right polarity": (
            "embedded",
            "MODE",
            "union polarity accuracy, from man",
        ),
        "embedded groups, from neutral: all versions have the right polarity": (
            "embedded",
            "MODE",
            "union polarity accuracy, from neutral",
        ),
        "GAP, right rewrites among 100 that were read": ("gap", "sheet"),
        "GAP, right person chosen by the entity mode": ("gap", "choices", "development file", "all labelled texts"),
    }
    rows = []
    for label, path in places.items():
        cells = []
        for mode in ("syntax", "lexical"):
            found = record if "MODE" in path or mode == "syntax" else None
            for key in path:
                found = found and found.get(mode if key == "MODE" else key)
            cells.append(_share(found))
        rows.append([label, *cells])
    return markdown(["measure", "syntax", "lexical"], rows)


def crows_parts() -> str:
    """Return the tables for CrowS-Pairs: the held-out pairs, then all pairs."""
    parts = {"held out": "On the held-out half of the pairs:", "all": "On all pairs:"}
    return "\n\n".join(f"{head}\n\n" + shares("crows", part, label="setting") for part, head in parts.items())


def labelled_scores() -> str:
    """Return the scores on labelled sentences by axis, mode and half, before and after the rules were improved."""
    states = {name: json.loads((LABELLED / f"{name}.json").read_text(encoding="utf-8")) for name in ("before", "now")}
    rows = []
    for axis, modes in states["now"].items():
        for mode in modes:
            for half in ("development", "test", "all"):
                cells = [[_brief(states[name][axis][mode][half][key]) for key in SCORES] for name in states]
                rows.append([axis, mode, half, *(f"{before}; {now}" for before, now in zip(*cells, strict=True))])
    return markdown(["axis", "mode", "half of the sentences", *SCORES], rows)


def labelled_rates() -> str:
    """Return the headline rates: all labelled sentences in syntax mode, and the natural texts that were read."""
    now = json.loads((LABELLED / "now.json").read_text(encoding="utf-8"))
    rows = [
        [axis, *(_share(modes["syntax"]["all"][key]) for key in SCORES), *(_wrong(unit, axis) for unit in SECOND)]
        for axis, modes in now.items()
    ]
    return markdown(
        [
            "axis",
            "changed traps",
            "recall",
            "right among all changed people",
            "wrong rewrites of natural sentences",
            "wrong rewrites of natural passages",
        ],
        rows,
    )


def natural_verdicts() -> str:
    """Return the results of the sheet of natural texts, by unit and axis, with those of the former rules."""
    rows = []
    for unit in (*SEEDS, *AFTER, *SECOND):
        for axis in AXES:
            found = count(unit, axis)
            if not found["now"]:
                continue
            others = [f"{of[WRONG]}/{of.total()}" if of else "" for of in (found["new words"], found["former"])]
            rows.append([unit, axis, _wrong(unit, axis), str(found["now"][DOUBT]), *others])
    columns = ["texts", "axis", "wrong rewrites", "doubtful", "wrong because of added words", "wrong with former rules"]
    return markdown(columns, rows)


def natural_errors(units: Collection[str] = tuple(SEEDS)) -> str:
    """Return the number of wrong rewrites of natural texts by axis and kind of error."""
    rows = [row for row in read_natural() if row["verdict"] == WRONG and row["unit"] in units]
    found = Counter((row["axis"], row["kind"]) for row in rows)
    kinds = [kind for kind, _ in Counter(row["kind"] for row in rows).most_common()]
    return markdown(["axis", *kinds], [[axis, *(str(found[axis, kind]) for kind in kinds)] for axis in AXES])


def natural_sources() -> str:
    """Return the proportion of wrong rewrites of natural sentences by axis and group of sources."""
    groups = {"novels": "corpora/novels", "sources of earlier sheets": (*NATURAL,), "other sources": ""}
    rows = []
    for axis in AXES:
        left = [row for row in read_natural() if row["unit"] == "sentences" and row["axis"] == axis]
        cells = []
        for start in groups.values():
            own = [row for row in left if SOURCES[int(row["source"])].startswith(start)]
            left = [row for row in left if row not in own]
            cells.append(_share(share(sum(row["verdict"] == WRONG for row in own), len(own))))
        rows.append([axis, *cells])
    return markdown(["axis", *groups], rows)


def _wrong(unit: str, axis: str) -> str:
    """Return the proportion of rewrites of natural texts that are wrong."""
    now = count(unit, axis)["now"]
    return _share(share(now[WRONG], now.total()))


def labelled_mentions() -> str:
    """Return the proportions of labelled mentions that change, by sample, kind of word and method (rules or judge)."""
    rows = []
    for draw, kinds in json.loads(MENTIONS.read_text(encoding="utf-8")).items():
        for kind, ways in kinds.items():
            for way in sorted(ways, reverse=True):
                told = "judge" if way == "now" and len(ways) > 1 else "rules"
                cells = [_share(share(*ways[way][part])) for part in ("people", "other")]
                rows.append([draw, kind, told, *cells])
    return markdown(["draw", "words", "decided by", "people rewritten", "other uses rewritten"], rows)


def added_words() -> str:
    """Return the proportions of labelled mentions that change, before words were added and now, by half of sources."""
    record = json.loads(HALVES.read_text(encoding="utf-8"))
    rows = [
        [
            half,
            kind,
            *(_share(share(*found[half][kind][part])) for part in ("people", "other") for found in record.values()),
        ]
        for half, kinds in record["now"].items()
        for kind in kinds
        if kind not in ("gender pronouns", "gender names")
    ]
    columns = ["people turned before", "now", "other uses turned before", "now"]
    return markdown(["sources", "words", *columns], rows)


def readers_agreement() -> str:
    """Return the agreement of two readings of the same mentions, by second reader and axis.

    Kappa is given for all mentions, and for those that neither reading labels as doubtful.
    """
    read = rows_of(MENTIONS.with_name("labels.csv.xz"))
    rows = []
    for reader, name in READERS.items():
        for axis in dict.fromkeys(row["axis"].split()[0] for row in read if row["reader"] == reader):
            own = [row for row in read if row["reader"] == reader and row["axis"].split()[0] == axis]
            pairs = [(row["label"], row["second"]) for row in own]
            sure = [pair for pair in pairs if "doubt" not in pair]
            both = [f"{cohen_kappa_score(*zip(*some, strict=True)):.2f}" for some in (pairs, sure)]
            opposite = sum(first != second for first, second in sure)
            rows.append([name, axis, str(len(pairs)), both[0], str(len(sure)), both[1], str(opposite)])
    columns = ["second reading by", "axis", "mentions read twice", "kappa", "mentions without doubtful labels"]
    columns += ["kappa without doubtful labels", "opposite labels"]
    return markdown(columns, rows)


def trained_judge() -> str:
    """Return the judge's results on held-out mentions, and the rewriter's results with rules and with the judge."""
    rows = []
    for part, kinds in json.loads(TRAINING.read_text(encoding="utf-8")).items():
        for kind, reached in kinds.items():
            cells = [_three(reached[way]) for way in ("found", "listed", "rules", "judge", "rules where unsure")]
            area = "" if reached["auc"] is None else f"{reached['auc']:.3f}"
            rows.append([part, kind, area, *cells])
    return markdown(
        ["mentions", "words", "AUC", "judge alone", "listed words", "rules", "judge", "rules where unsure"], rows
    )


def _three(counts: dict[str, list[int]]) -> str:
    """Return the percentages of people, of other uses and of doubtful mentions."""
    return " / ".join(f"{100 * hits / number:.0f}" if number else "-" for hits, number in counts.values())


def _brief(found: dict[str, float]) -> str:
    return f"{found['count']}/{found['n']} = {found['share']:.1%}"


def layout_shares() -> str:
    """Return the proportion of texts rewritten alike, by kind of change and rewriter: the mean over ways and goals."""
    rows = []
    for kind, found in json.loads(lzma.decompress(METAMORPHIC.read_bytes())).items():
        groups: dict[str, list[dict[str, float]]] = {}
        for way, shares in found["alike"].items():
            groups.setdefault(way.split(":")[0], []).append(shares)
        for change, ways in groups.items():
            cells = []
            for rewriter in ("syntax", "lexical", "word_swap", "cda"):
                of = [share for shares in ways for name, share in shares.items() if name.startswith(rewriter)]
                cells.append(f"{mean(of):.1%} ({min(of):.1%})" if of else "")
            rows.append([f"{found['texts']} {kind}", change, str(len(ways)), *cells])
    return markdown(["texts", "kind of change", "number of ways", "syntax", "lexical", "word swap", "cda"], rows)


def moved_inputs() -> str:
    """Return the number of inputs of earlier studies that the present rules write differently, and what was read."""
    with MOVED_SHEET.open(encoding="utf-8", newline="") as file:
        read = Counter((row["part"], row["verdict"]) for row in csv.DictReader(file))
    rows = []
    for part, found in json.loads(MOVED.read_text(encoding="utf-8"))["inputs"].items():
        verdicts = [str(read[part, verdict]) for verdict in ("better", "worse", "neither")]
        other = f"{found['other']} = {found['other'] / found['turned']:.1%}"
        rows.append([DATA[part], f"`{SINCE[part]}`", str(found["texts"]), str(found["turned"]), other, *verdicts])
    columns = ["texts", "rewritten by either", "rewritten differently", "read: better", "worse", "neither"]
    return markdown(["data", "earlier revision", *columns], rows)


def moved_results() -> str:
    """Return results on data from earlier and from the present rules, with the range over the seeds of the record."""
    rows = []
    for part, results in json.loads(MOVED.read_text(encoding="utf-8"))["results"].items():
        for name, found in results.items():
            cells = [_result(found[age]) for age in ("former", "present")]
            change = _result(found["difference"]) if "difference" in found else _change(found)
            seeds = f"{min(found['seeds']):.4g} to {max(found['seeds']):.4g}" if "seeds" in found else ""
            rows.append([DATA[part].split(":")[0], name, *cells, change, seeds])
    columns = ["with earlier rules", "with present rules", "difference", "range of the record over its seeds"]
    return markdown(["study", "result", *columns], rows)


def _result(found: dict[str, float]) -> str:
    number = f", n = {found['n']:,}" if "n" in found else ""
    return f"{found['value']:.4g} [{found['low']:.4g}, {found['high']:.4g}]{number}"


def _change(found: dict[str, dict[str, float]]) -> str:
    return f"{found['present']['value'] - found['former']['value']:+.4g}"


def new_name_uses() -> str:
    """Return the proportion of each verdict on the uses of first names without counts."""
    read = Counter(row["verdict"] for row in read_sheet(NEW_NAMES))
    return markdown(
        ["read as", "share"], [[kind, _share(share(number, read.total()))] for kind, number in read.items()]
    )


def name_recall() -> str:
    """Return the proportion of first names that are listed with their gender, by group, weighted by bearers."""
    found = json.loads(RECALL.read_text(encoding="utf-8"))
    rows = [[group, str(one["names"]), f"{one['recall']:.0%}"] for group, one in found.items()]
    return markdown(["list and group", "names", "names in the lexicon"], rows)


PAGES = {
    "experiments/rewriting/README.md": {
        "winogender": lambda: shares("winogender", "held out", label="direction"),
        "crows": crows_parts,
        "forms": lambda: shares("gap", "forms", label="pronoun"),
        "choices": lambda: shares("gap", "choices", "development file", label="texts"),
        "sheet": lambda: shares("gap", "sheet", label="sample"),
        "embedded": lambda: shares("embedded", label="measure"),
        "labelled": labelled_scores,
        "natural": natural_verdicts,
        "natural_errors": natural_errors,
        "natural_errors_second": partial(natural_errors, tuple(SECOND)),
        "natural_sources": natural_sources,
        "mentions": labelled_mentions,
        "added_words": added_words,
        "readers": readers_agreement,
        "trained_judge": trained_judge,
        "metamorphic": layout_shares,
        "moved_inputs": moved_inputs,
        "moved_results": moved_results,
        "new_names": new_name_uses,
    },
    "docs/perturbation.md": {"error_rates": labelled_rates},
    "docs/rewriting.md": {
        "rewriting_quality": rewriting_quality,
        "name_recall": name_recall,
    },
}
