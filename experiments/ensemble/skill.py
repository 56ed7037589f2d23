"""Tables of performance and fairness for the default ensemble and its rivals, on the same folds."""

from __future__ import annotations

from experiments.ensemble.tables import HARMS, RECORDS, SKILL, cell, over_seeds, records_of
from experiments.rendering import interval, markdown
from fairlab.record import Reading, Record

SETS = {
    "test folds": "safety",
    "HateCheck": "safety_hatecheck",
    "madlibs": "safety_bias_madlibs",
    "OLID, kept part": "safety_olid",
}
# Models in addition to the baseline and the debiased model, by their names in the readings.
MODELS = {
    "debiased, not averaged": "unaveraged",
    "averaging alone": "average",
    "undebiased twin": "undebiased",
    "forest": "forest",
    "forest + pairing": "unweighted",
    "pairing": "paired_1",
    "blinding": "blind",
    "equally smooth": "smooth",
}
Seeds = list[dict[str, Reading]]


def skill() -> str:
    """Return a table of performance, fairness and errors at the exported threshold, per set and over seeds."""
    after, before = over_seeds(SKILL), baselines()
    rows = []
    for harm in HARMS:
        for label, benchmark in SETS.items():
            place = f"{benchmark}/{harm}"
            if not any(f"{place}/acv" in one or f"{place}/auc" in one for one in after):
                continue
            cells = [cell(before, f"{place}/auc", 2)]
            cells += [cell(after, f"{place}/{name}", 2) for name in ("auc", "average_precision", "base_rate")]
            cells += [cell(after, f"{place}/{name}") for name in ("average_precision_change", "acv_change")]
            names = ("recall_at_threshold", "false_positive_rate_at_threshold")
            rows.append([harm, label, *cells, *(cell(after, f"{place}/{name}", 2) for name in names)])
    head = ["AUC, baseline", "AUC", "AU-PRC", "base rate", "change of AU-PRC, %", "change of ACV, %"]
    records = records_of(SKILL)
    seeds = ", ".join(str(one.config["seed"]) for one in records)
    seconds = ", ".join(f"{one.provenance['processor_seconds']:,.0f}" for one in records)
    note = f"Seeds {seeds}: {seconds} s of processor time, with the sources' scores from the cache."
    return markdown(["harm", "texts", *head, "recall", "false-positive rate"], rows) + f"\n\n{note}"


def models() -> str:
    """Return a table of the AUC and the change of ACV for every model on the same folds, over seeds."""
    seeds = over_seeds(SKILL)
    rows = []
    for harm in HARMS:
        for label, name in {"debiased": "", **MODELS}.items():
            auc, change = (f"auc_of_{name}", f"acv_change_of_{name}") if name else ("auc", "acv_change")
            found = [
                cell(seeds, f"{SETS[of]}/{harm}/{auc}", 2) for of in ("test folds", "HateCheck", "OLID, kept part")
            ]
            found += [cell(seeds, f"{SETS[of]}/{harm}/{change}") for of in ("test folds", "HateCheck", "madlibs")]
            rows.append([harm, label, *found])
    head = ["AUC, test", "AUC, HateCheck", "AUC, OLID", "ACV, test", "ACV, HateCheck", "ACV, madlibs"]
    return markdown(["harm", "model", *head], rows)


def by_target() -> str:
    """Return a table of the AUC and accuracy for HateCheck's target groups, over seeds."""
    seeds, before = over_seeds(SKILL), baselines()
    start = "safety_hatecheck/hate_target_"
    names = [key.removeprefix(start).removesuffix("/auc") for key in seeds[0] if key.startswith(start)]
    rows = []
    for name in dict.fromkeys(name for name in names if "/" not in name):
        place = f"{start}{name}"
        cells = [cell(before, f"{place}/auc", 2), cell(seeds, f"{place}/auc", 2)]
        rows.append([name.replace("_", " "), *cells, cell(seeds, f"{place}/accuracy", 2)])
    return markdown(["target", "AUC, baseline", "AUC", "accuracy at the threshold"], rows)


def by_functionality() -> str:
    """Return a table of the accuracy for HateCheck's functionalities at the exported threshold, over seeds."""
    seeds = over_seeds(SKILL)
    start = "safety_hatecheck/hate_case_"
    keys = [key for key in seeds[0] if key.startswith(start) and key.endswith("/accuracy")]
    rows = [
        [key.removeprefix(start).removesuffix("/accuracy"), cell(seeds, key, 2), str(seeds[0][key].n)] for key in keys
    ]
    return markdown(["functionality", "accuracy", "texts"], rows)


def extra_sentences() -> str:
    """Return a table of the performance of three sources without MiniLM, with and without the further sentences."""
    rows = []
    for harm in HARMS:
        for label, folder in (("trained on", "with"), ("left out", "without")):
            record = Record.load(RECORDS / "three_sources" / folder)
            cells = []
            for phase in ("before", "after"):
                found = {one.quantity: one for one in record.readings if (one.phase, one.subset) == (phase, harm)}
                cells += [interval(found[name], 2) for name in ("auc", "average_precision")]
            rows.append([harm, label, *cells])
    head = ["AUC, baseline", "AU-PRC, baseline", "AUC, debiased", "AU-PRC, debiased"]
    return markdown(["harm", "further sentences", *head], rows)


def baselines() -> Seeds:
    """Return the baseline's readings, as one mapping per seed."""
    return [
        {f"{one.benchmark}/{one.subset}/{one.quantity}": one for one in record.readings if one.phase == "before"}
        for record in records_of(SKILL)
    ]


PAGES = {
    "experiments/ensemble/README.md": {
        "skill": skill,
        "models": models,
        "three_sources": extra_sentences,
        "targets": by_target,
        "functionalities": by_functionality,
    },
}
