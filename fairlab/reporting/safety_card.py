"""Model card of an exported safety ensemble, with reliability diagrams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairlab.checks.foreign import read_object
from fairlab.files import sha256, write_whole
from fairlab.methods.safety_ensemble.exported.trust import DESCRIPTION, TARGET
from fairlab.methods.safety_ensemble.sources.registry import source_class
from fairlab.record import Reading, Record
from fairlab.reporting.card import citation_lines
from fairlab.reporting.charts import Marks, Panel, drawn
from fairlab.reporting.safety_files import read_overview

MEASURED = "safety"  # name of the benchmark on the test folds
STYLE = (
    "text{font:12px sans-serif;fill:#555}.grid{stroke:#ddd}.axis{stroke:#888}.line{fill:none;stroke-width:2}"
    ".k0{stroke:#1764ab}.grey{stroke:#999}.dashed{stroke-dasharray:5 4}.dot{stroke:none}.dot.k0{fill:#1764ab}"
)
ODDS = "equalised_odds_gap"
AT_THRESHOLD = ("threshold", "recall_at_threshold", "precision_at_threshold", "false_positive_rate_at_threshold")


def write_safety_card(record: Record) -> None:
    """Write ``README.md`` and one reliability diagram per harm to the ``model`` folder of a run.

    The diagrams need the overview in the run's folder.
    """
    folder = record.folder / "model"
    overview = read_overview(record.folder)
    drawings = {}
    for harm, found in overview.items():
        if found["reliability"]["predicted"]:
            drawings[harm] = f"reliability-{harm}.svg"
            write_whole(folder / drawings[harm], reliability_diagram(harm, **found["reliability"]))
    write_whole(folder / "README.md", safety_card(record, folder, drawings))


def _averaging_paragraph(description: Mapping[str, Any]) -> str:
    """Return a paragraph on averaging scores over reference groups, or an empty string if scores are not averaged."""
    if "references" not in description:
        return ""
    return (
        " The score of a text that names a listed identity is the mean over its versions for four reference groups: it "
        "does not show which of the listed groups is named. Differences that are real for one group are lost, words "
        "that are not listed keep their effect, and such a text takes five times as long. This is not part of the "
        "paper."
    )


def reliability_diagram(harm: str, predicted: list[float], observed: list[float]) -> str:
    """Return an SVG of a harm's share of unsafe texts against the mean score, for each tenth of the texts."""
    marks = [Marks("", [0, 1], [0, 1], colour=None, dashed=True), Marks("", predicted, observed, kind="both", colour=0)]
    panel = Panel(f"reliability, {harm}", marks, f"mean score for {harm}", "share unsafe", (0, 1), (0, 1))
    drawing = str(drawn(panel)).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    head, _, rest = drawing.partition(">")
    return f"{head}><style>{STYLE}</style>{rest}\n"


def safety_card(record: Record, folder: Path, drawings: Mapping[str, str]) -> str:
    """Return the text of the model card of an exported ensemble.

    ``drawings`` has the file name of the reliability diagram of each harm.
    """
    description = read_object(folder / DESCRIPTION)
    config, provenance = record.config, record.provenance
    found = {
        (one.subset, one.quantity): one for one in record.readings if (one.benchmark, one.phase) == (MEASURED, "after")
    }
    data, target = provenance["data"], config["method"].get("target")
    sources = list({source_class(node[TARGET]): None for node in config["source"].values()})
    lines = [
        "---\nlicense: other\nlanguage: en\ntags: [text-classification, moderation, fairness, debiasing]\n---",
        f"# Safety ensemble: {', '.join(description['harms'])}",
        "",
        f"{provenance['method']['title']}, trained by fairlab {provenance['versions']['fairlab']} on "
        f"{data['trained_on']} (`{data['path']}`, SHA-256 `{data['sha256']}`). Scores are probabilities in [0, 1] that "
        f"a text contains a harm; for each harm, a model reads the sources' scores.{_averaging_paragraph(description)}",
        "",
        "## Harms and thresholds",
        "",
        *_thresholds(description["harms"], found, target),
        "",
        *_skill(description["harms"], found),
        *_odds(description["harms"], found),
        "## Reliability",
        "",
        "Mean score and share of unsafe texts in each tenth of the seeds, on the test folds; a calibrated model is on "
        "the dashed line.",
        "",
        *(f"![{harm}]({file})" for harm, file in drawings.items()),
        "",
        "## Sources",
        "",
        "| source | version |",
        "|---|---|",
        *(f"| {name} | `{version}` |" for name, version in description["sources"].items()),
        "",
        *(f"- {source.title}: {source.limits}" for source in sources),
        "",
        "Other versions of the sources are refused. Files from elsewhere are looked up in `sources/` next to this "
        "card, or at the path of `+sources.NAME.SETTING=`.",
        "",
        "## Licence",
        "",
        "fairlab is under Apache-2.0. The licence of these models depends on the licences of the data above and of the "
        "sources, which are not stated here; look them up before you share the models.",
        "",
        "## Limits",
        "",
        str(provenance["method"]["limits"]),
        "",
        *citation_lines([provenance["method"]["citation"], *(source.citation for source in sources)]),
        "## Versions and files",
        "",
        ", ".join(f"{name} {version}" for name, version in provenance["versions"].items() if version) + ".",
        "",
        "| file | SHA-256 |",
        "|---|---|",
        *(f"| {name} | `{digest}` |" for name, digest in _hashes(folder, description).items()),
        "",
    ]
    return "\n".join(lines)


def _hashes(folder: Path, description: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 hash of each file of the ensemble, by file name."""
    models: dict[str, str] = {}
    for entry in description["harms"].values():
        models |= {entry["file"]: entry["sha256"]}
    return {DESCRIPTION: sha256(folder / DESCRIPTION), **models}


def _thresholds(harms: Iterable[str], found: Mapping[tuple[str, str], Reading], target: Any) -> list[str]:
    """Return a table with one row per harm. Values from the test folds have 95 % intervals."""
    if not target:
        return [
            "| harm | average precision |",
            "|---|---|",
            *(f"| {harm} | {_value(found.get((harm, 'average_precision')))} |" for harm in harms),
            "",
            "No threshold was chosen (`method.target`); `fairlab serve` flags from 0.5 on.",
        ]
    rows = [
        [harm, *(_value(found.get((harm, name))) for name in ("average_precision", *AT_THRESHOLD))] for harm in harms
    ]
    return [
        "| harm | average precision | threshold | recall | precision | false-positive rate |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f"Thresholds are the lowest that meet {json.dumps(dict(target))} on the validation seeds. The other numbers "
        "were measured on the test folds with models that saw no version of a text; 95 % intervals are in brackets.",
    ]


def _skill(harms: Iterable[str], found: Mapping[tuple[str, str], Reading]) -> list[str]:
    """Return a table of skill and counterfactual variance by harm.

    Both quantities are needed, because a score without skill can be fair but useless.
    """
    names = ("auc", "average_precision", "base_rate", "acv", "acv_change", "flip_rate")
    rows = [[harm, *(_value(found.get((harm, name))) for name in names)] for harm in harms]
    return [
        "## Skill and fairness",
        "",
        "On the test folds. A guess has an AUC of 0.5 and an average precision equal to the base rate; the "
        "counterfactual variance (ACV) is the variance of a text's score over its versions for other subgroups, and "
        "its change is in per cent of a model trained on the seeds alone.",
        "",
        "| harm | AUC | average precision | base rate | ACV | change of ACV, % | sets with both labels, % |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def _odds(harms: Iterable[str], found: Mapping[tuple[str, str], Reading]) -> list[str]:
    """Return a table of equalised-odds gaps by harm and identity category, at the exported threshold or at 0.5."""
    where = {ODDS: "0.5", f"{ODDS}_at_threshold": "the threshold"}
    rows = [
        f"| {subset} | {where[quantity]} | {_value(one)} |"
        for (subset, quantity), one in found.items()
        if quantity in where and any(subset.startswith(f"{harm}_") for harm in harms)
    ]
    if not rows:
        return []
    said = "Equalised odds: the larger of the gaps between subgroups in true- and false-positive rate; 0 is fair."
    return [said, "", "| harm and category | from | gap |", "|---|---|---|", *rows, ""]


def _value(reading: Reading | None) -> str:
    if reading is None:
        return "not measured"
    return f"{reading.value:.3g}" + (f" [{reading.low:.3g}, {reading.high:.3g}]" if reading.low != reading.high else "")
