"""Tables for the perturbation page."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean, median, stdev
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from experiments.over_seeds import compared, whole
from experiments.perturbation.linked_pairs import linked_pairs
from experiments.perturbation.paired import SPLITS
from experiments.perturbation.paired import TWINS as TWINS_COMPARED
from experiments.rendering import interval, markdown, matrix_table
from experiments.shared.filled_sheets import label_agreement, read_sheet, tag_rates
from experiments.shared.power import detectable_difference
from fairlab.metrics.significance import holm
from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.headlines import titled
from fairlab.reporting.many_runs.matrix_form import PUBLISHED
from fairlab.reporting.many_runs.reproduction import Matrix, read_matrix
from fairlab.reporting.reading_sheet import JUDGED, TAGS
from fairlab.reproduce import finished_records

FOLDER = Path(__file__).parent
TWINS = {"roberta": "original text", "fairberta": "perturbed text"}
QUALITY = {
    "bleu": "BLEU",
    "rouge_2": "ROUGE-2",
    "levenshtein": "edit distance, words",
    "exact": "equal to reference, %",
}
DIGITS = {"bleu": 1, "rouge_2": 1, "levenshtein": 2}
ROWS = {  # names in the paper's tables
    ("roberta", "orig"): "RoBERTa orig. 16GB",
    ("roberta", "fair"): "RoBERTa fair 16GB",
    ("fairberta", "orig"): "FairBERTa orig. 16GB",
    ("fairberta", "fair"): "FairBERTa fair 16GB",
}
LOWER, CARD = ", lower case", "PANDA's card"
NEW = "perturber, SmolLM2, seed"  # followed by the seed
EARLIER = "perturber, SmolLM2"
REWRITERS = {
    "rules": "rules",
    "word swap": "listed words replaced",
    "57 pairs": "swap of 57 word pairs",
    "AugLy 1.0.0": "AugLy 1.0.0, swap of gendered words",
    NEW: "perturber, 20,030 pairs",
    EARLIER: "perturber, 4,420 pairs",
    "language model": "Qwen2.5-Coder-1.5B, with a prompt",
    "unchanged": "unchanged",
}
TRAPPED = ("rules", "word swap", NEW)
TABLE_2 = {"perturber": NEW, "AugLy": "AugLy 1.0.0", "TextFlint": "TextFlint"}  # the paper's rewriters, as ours
AUDITED = ("race", "age", "gender")
KINDS = {"orig": "finetuned", "fair": "fairtuned"}
TASKS = {
    "snli_validation": "SNLI",
    "qqp_halves": "QQP",
    "sst2_halves": "SST-2",
    "bios": "biographies",
    "rte": "RTE",
}
PRINTED = {"qqp_halves": "qqp", "sst2_halves": "sst2"}  # tasks of the paper that were split into halves
USEFUL = {task: f"{task}/{split}/accuracy" for task, split in SPLITS.items()}
FAIR = {task: f"{task}_fairscore/{split}/fairscore" for task, split in SPLITS.items()}
BECAME = {
    "both": "both texts are rewritten",
    "one": "one text is rewritten, the other has no word of the axis",
    "half": "one text is rewritten, the other keeps a word of the axis",
}
CONTROLS = {
    "snli_validation_57_pairs": "all gendered words of both texts, from another list",
    "snli_validation_hypothesis": "only gendered words of the hypothesis, which must change the label",
    "snli_validation_colours": "colours",
}
PHASES = {
    "roberta_fair less roberta_orig": "fairtuned minus finetuned, original text",
    "fairberta_fair less fairberta_orig": "fairtuned minus finetuned, perturbed text",
    "fairberta_orig less roberta_orig": "perturbed text minus original text, finetuned",
}
FOUR_OF_FIVE = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)  # standard errors, detected in 4 of 5 tests


def novels() -> str:
    """Return the final perplexity and accuracy on masked words of held-out novels, which are not perturbed.

    They are given for training on original text and for training on perturbed text.
    """
    rows = []
    for run, name in TWINS.items():
        for file in sorted((FOLDER / "records" / run).glob("*/record.json*")):
            record = Record.load(file.parent)
            last = [row for row in record.history if "validation/perplexity" in row][-1]
            data = record.provenance["data"]
            changed = f"{data['passages_changed']:,} of {data['passages']:,}"
            figures = [f"{last['validation/perplexity']:.1f}", f"{100 * last['validation/accuracy']:.1f}"]
            seed = file.parent.name.removeprefix("seed_")
            rows.append([name, seed, f"{data['train_tokens']:,}", changed, *figures])
    header = ["trained on", "seed", "tokens", "changed passages", "perplexity", "masked words predicted correctly, %"]
    return markdown(header, rows)


def rewriters() -> str:
    """Return how closely rewriters match the rule rewriter on pairs that the perturber was not trained on."""
    records = FOLDER / "records"
    rows = []
    for name, folder in (
        ("perturber without pretraining", records / "perturber" / "seed_42"),
        ("perturber from SmolLM2-135M", records / "perturber_smollm2" / "seed_42"),
    ):
        found = {reading.key.removeprefix("after/"): reading for reading in Record.load(folder).readings}
        names = {"perturber": name, "word_swap": "word swap, same pairs", "original": "unchanged, same pairs"}
        rows += [[shown, *qualities(found, rewriter)] for rewriter, shown in names.items()]
    return markdown(["rewriter", *QUALITY.values()], rows)


def qualities(found: dict[str, Reading], rewriter: str) -> list[str]:
    """Return the metrics of table 2 for a rewriter."""
    return [interval(found[f"perturber/{rewriter}/{quantity}"], 1) for quantity in QUALITY]


def training_pairs() -> str:
    """Return the number of pairs from each source on which the perturber with pretrained weights was trained."""
    found = json.loads((FOLDER / "pairs.json").read_text(encoding="utf-8"))
    names = {"rules, gender": "rules, on gender", "rules, race": "rules, on race", "rules, age": "rules, on age"}
    names |= {"written": "written for fairlab", "model": "language model"}
    rows = [[names[sort], f"{count:,}"] for sort, count in found["sorts"].items()]
    return markdown(["rewritten by", "pairs"], [*rows, ["all", f"{found['pairs']:,}"]])


def measured_on_people() -> dict[str, Any]:
    """Load the results that ``human.py`` wrote."""
    return json.loads(lzma.decompress((FOLDER / "human.json.xz").read_bytes()))  # type: ignore[no-any-return]


def of_rewriter(found: Mapping[str, dict[str, Any]], rewriter: str) -> list[dict[str, Any]]:
    """Return a rewriter's result on a dataset, or those of all of its seeds."""
    return [one for name, one in sorted(found.items()) if name == rewriter or name.rstrip("0123456789 ") == rewriter]


def human() -> str:
    """Return how closely rewriters match sentences that people wrote."""
    rows = []
    for about, found in measured_on_people()["sets"].items():
        if about.startswith(CARD) or about.endswith(LOWER):
            continue
        for rewriter, name in REWRITERS.items():
            seeds = of_rewriter(found, rewriter)
            if not seeds or (rewriter == "57 pairs" and not seeds[0]["exact"]):
                continue
            figures = [f"{fmean(one[key] for one in seeds):.{digits}f}" for key, digits in DIGITS.items()]
            folded = share(seeds, "but_for_capitals") if "but_for_capitals" in seeds[0] else "not kept"
            rows.append([f"{about}, {seeds[0]['n']}", name, *figures, equal(seeds), folded])
    return markdown(["references", "rewriter", *QUALITY.values(), "equal except for capitals, %"], rows)


def share(seeds: Sequence[dict[str, Any]], key: str) -> str:
    """Format the mean percentage over seeds of a count."""
    return f"{fmean(100 * one[key] / one['n'] for one in seeds):.1f}"


def equal(seeds: Sequence[dict[str, Any]]) -> str:
    """Format the percentage of rewrites that equal their reference, with its interval or the value of each seed."""
    if len(seeds) > 1:
        return f"{share(seeds, 'exact')} ({', '.join(share([one], 'exact') for one in seeds)})"
    low, high = (100 * bound for bound in seeds[0]["interval"])
    return f"{share(seeds, 'exact')} [{low:.1f}, {high:.1f}]"


def table_2() -> str:
    """Return the paper's table 2, measured on sentences that people wrote, beside the printed values on PANDA."""
    printed = yaml.safe_load((PUBLISHED / "perturbation.yaml").read_text(encoding="utf-8"))["table_2"]
    sets = {name: found for name, found in measured_on_people()["sets"].items() if not name.endswith(LOWER)}
    del sets[CARD]
    rows = []
    for place, column in enumerate(printed["columns"]):
        measure = column.rpartition("/")[2]
        for rewriter, values in printed["rows"].items():
            cells = ([one[measure] for one in of_rewriter(found, TABLE_2[rewriter])] for found in sets.values())
            shown = (spread(cell, DIGITS[measure]) if cell else "not run" for cell in cells)
            rows.append([QUALITY[measure], rewriter, f"{values[place]:g}", *shown])
    heads = [f"{name}, {found['rules']['n']}" for name, found in sets.items()]
    return markdown(["measure", "rewriter", "PANDA (printed)", *heads], rows)


def human_lower() -> str:
    """Return the percentage of correct rewrites of lower-case texts and of labelled sentences."""
    content = measured_on_people()
    shown = {
        name: found for name, found in content["sets"].items() if name.endswith(LOWER) and not name.startswith(CARD)
    }
    shown |= {f"labelled, {name}": found for name, found in content["labelled"].items()}
    names = {name: REWRITERS[name] for name in ("rules", "word swap", NEW, EARLIER)}
    rows = []
    for about, found in shown.items():
        each = [of_rewriter(found, name) for name in names]
        cells = (f"{equal(seeds)}; {share(seeds, 'but_for_capitals')}" if seeds else "not run" for seeds in each)
        rows.append([f"{about}, {found['rules']['n']}", *cells])
    return markdown(["references", *(f"{name}, %" for name in names.values())], rows)


def beside_rules() -> str:
    """Compare the perturber of all seeds with the rules on the same texts."""
    content = measured_on_people()
    found = {name: one for name, one in content["sets"].items() if not name.startswith(CARD)}
    found |= {f"labelled, {name}": one for name, one in content["labelled"].items()}
    changes = {about: [minus_rules(one, key, about) for key in ("right", "folded")] for about, one in found.items()}
    adjusted = holm([change.p for change, _ in changes.values()])
    rows = []
    for (about, one), p in zip(found.items(), adjusted, strict=True):
        change, folded = changes[about]
        left = digits_of(one["rules"]["left_alone"]) == 1
        fixed = fmean(digits_of(seed["right"])[left].sum() for seed in of_rewriter(one, NEW))
        shares = [share([one["rules"]], "exact"), share(of_rewriter(one, NEW), "exact")]
        row = [f"{about}, {change.n}", *shares, points(change), f"{change.p:.2g}", f"{p:.2g}", points(folded)]
        rows.append([*row, f"{fixed:.1f} of {left.sum():.0f}"])
    head = ["references", "rules right, %", "perturber right, %", "difference, points", "p", "p, adjusted by Holm"]
    return markdown([*head, "difference without capitals, points", "perturber right where rules change nothing"], rows)


def minus_rules(found: Mapping[str, dict[str, Any]], key: str, about: str) -> Comparison:
    """Return how many more percent of the texts the perturber rewrites correctly than the rules."""
    seeds = np.stack([digits_of(one[key]) for one in of_rewriter(found, NEW)])
    rules = np.broadcast_to(digits_of(found["rules"][key]), seeds.shape)
    return compared(whole(100.0 * seeds), whole(100.0 * rules), (about, "", key), "perturber minus rules")


def digits_of(stored: str) -> NDArray[np.float64]:
    """Return the values of a string of 0 and 1."""
    return np.array([float(digit) for digit in stored])


def points(change: Comparison) -> str:
    """Format a difference with its interval."""
    return f"{change.difference:+.1f} [{change.low:+.1f}, {change.high:+.1f}]"


def traps() -> str:
    """Return how often rewriters change a text whose named word means nobody."""
    rows = []
    for axis, found in measured_on_people()["traps"].items():
        cells = []
        for name in TRAPPED:
            seeds = of_rewriter(found, name)
            cells.append(", ".join(f"{100 * one['changed'] / one['n']:.0f}" for one in seeds))
        rows.append([f"{axis}, {found['rules']['n']}", *cells])
    return markdown(["traps", *(f"{REWRITERS[name]}, %" for name in TRAPPED)], rows)


def power() -> str:
    """Return the difference between two models' fairscores that could be detected with the available copies."""
    seeds, expected = len(matrix().seeds), fmean(printed_fairscores("RoBERTa orig. 16GB").values()) / 100
    rows = []
    for task in SPLITS:
        if measured := [r.n for r in of("roberta_fair", task) if r.key == f"after/{FAIR[task]}"]:
            shares = [detectable_difference(expected, measured[0], seeds, own=own) for own in (1.0, 0.0)]
            rows.append([TASKS[task], f"{measured[0]:,}", *(f"{100 * share:.1f}" for share in shares)])
    return markdown(["task", "copies", "detectable, points", "if seeds were as good as copies"], rows)


@cache
def matrix() -> Matrix:
    """Return the paper's experiment matrix at quickstart scale."""
    return read_matrix(FOLDER / "matrix.yaml", "quickstart")


@cache
def finished() -> Mapping[str, Mapping[int, Record]]:
    """Return the finished records of the matrix, by run and seed."""
    return finished_records(FOLDER / "records", matrix())


def printed_fairscores(row: str) -> dict[str, float]:
    """Return a row of fairscores from the paper's table 5, by column."""
    return matrix().tables["5"].published[row]


def of(models: str, task: str) -> list[Reading]:
    """Return the readings of all finished seeds of a classifier, such as ``roberta_fair``, on a task."""
    found = finished().get(f"{models}_{task}", {})
    return [reading for seed in sorted(found) for reading in found[seed].readings]


def seeds_of_fairtuning() -> str:
    """Return the accuracy and fairscore of every classifier over seeds, and the paper's median for the same task."""
    rows = []
    for task, kind, twin in product(SPLITS, KINDS, TWINS):
        accuracy, fairscore = (
            [reading.value for reading in of(f"{twin}_{kind}", task) if reading.key == f"after/{column}"]
            for column in (USEFUL[task], FAIR[task])
        )
        if not fairscore:
            continue
        theirs = printed_fairscores(ROWS[twin, kind]).get(f"{PRINTED.get(task, task)}_fairscore/dev/fairscore")
        row = [TASKS[task], TWINS[twin], KINDS[kind], spread(accuracy), spread(fairscore), f"{median(fairscore):.2f}"]
        each = ", ".join(f"{value:.2f}" for value in fairscore)
        rows.append([*row, each, "" if theirs is None else f"{theirs:.2f}"])
    header = ["task", "encoder trained on", "tuning", "accuracy, %", "fairscore, %", "median fairscore"]
    header += ["fairscore of each seed", "median in the paper"]
    return markdown(header, rows)


def spread(values: list[float], digits: int = 2) -> str:
    """Format the mean of values and, if there are several, their standard deviation over seeds."""
    return f"{fmean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def changes_of_fairtuning(*, axes: bool = True) -> str:
    """Return the differences in accuracy and fairscore, and the smallest detectable differences.

    Fairtuned classifiers are compared with finetuned ones, and training on perturbed text with training on original
    text.
    """
    found = Record.load(FOLDER / "records" / "paired")
    seeds, rows = found.provenance["seeds"], []
    for change in (one for one in found.comparisons if one.phase in PHASES):
        task = change.benchmark.removesuffix("_fairscore")
        axis = change.subset.removeprefix(SPLITS[task]).strip("_")
        if axis and not axes:
            continue
        what = change.quantity + (f", {axis}" if axis else "")
        bounds = f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]"
        detectable = f"{FOUR_OF_FIVE * (change.high - change.low) / 3.92:.2f}"
        number = str(len(seeds[f"{change.phase}, {task}"]))
        rows.append(
            [PHASES[change.phase], TASKS[task], what, f"{change.n:,}", number, bounds, f"{change.p:.3f}", detectable]
        )
    header = ["comparison", "task", "result", "examples or copies", "seeds", "difference, points", "p"]
    header += ["detectable difference, points"]
    return markdown(header, rows)


def controls() -> str:
    """Return the fairscores of SNLI classifiers on changes that fairtuning was not trained on."""
    found = Record.load(FOLDER / "records" / "controls")
    value = {(reading.benchmark, reading.phase): reading for reading in found.readings}
    rows = [
        [
            CONTROLS[change.benchmark],
            f"{change.n:,}",
            *(interval(value[change.benchmark, model], 2) for model in ("roberta_orig", "roberta_fair")),
            f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]",
            f"{change.p:.3f}",
        ]
        for change in found.comparisons
    ]
    return markdown(["exchanged words", "pairs", "finetuned, %", "fairtuned, %", "difference, points", "p"], rows)


def sides() -> str:
    """Return the fairscores of pair classifiers, depending on which texts of a copy were rewritten."""
    found = Record.load(FOLDER / "records" / "sides")
    value = {(reading.benchmark, reading.subset, reading.phase): reading for reading in found.readings}
    rows = [
        [
            TASKS[change.benchmark.removesuffix("_fairscore")],
            BECAME[change.subset],
            f"{change.n:,}",
            *(interval(value[change.benchmark, change.subset, run], 2) for run in ("roberta_orig", "roberta_fair")),
            f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]",
            f"{change.p:.3f}",
        ]
        for change in found.comparisons
    ]
    return markdown(["task", "kind of copy", "number", "finetuned, %", "fairtuned, %", "difference, points", "p"], rows)


def twins_compared() -> str:
    """Return the differences between training on perturbed and on original text, paired by item."""
    paired = Record.load(FOLDER / "records" / "paired").comparisons
    race = Record.load(FOLDER / "records" / "twins_seat_race").comparisons
    found = [one for one in paired if one.phase == TWINS_COMPARED and (one.headline or one.benchmark == "perplexity")]
    found += [one for one in race if (one.phase, one.subset) == ("perturbed less original", "average")]
    rows = [
        [
            titled(f"{one.benchmark}/{one.subset}/{one.quantity}") + (", only tests of race" if one in race else ""),
            f"{one.difference:+.4g} [{one.low:+.4g}, {one.high:+.4g}]",
            f"{one.p:.3f}",
        ]
        for one in found
    ]
    return markdown(["perturbed minus original text", "difference", "p"], rows)


def race_tests() -> str:
    """Return the effect sizes of SEAT's tests on race before training, and after training on either kind of text."""
    readings = [
        r for r in Record.load(FOLDER / "records" / "twins_seat_race").readings if r.quantity.endswith("effect_size")
    ]
    names = {"before": "before", "original": "trained on original text", "perturbed": "trained on perturbed text"}
    by_place = {(r.subset, r.phase): r for r in readings}
    rows = [
        [subset.replace("_", " "), *(interval(by_place[subset, phase], 2) for phase in names)]
        for subset in dict.fromkeys(r.subset for r in readings)
    ]
    return markdown(["test", *names.values()], rows)


def audits() -> str:
    """Return the labels kept in two readings of each axis's sheet, their agreement, and the harmful rewrites."""
    head = ["axis", "rows", "labels kept, first reading", "labels kept, second reading"]
    head += ["labels on which both readings agree", "harmful rows"]
    rows, harmful = [], json.loads((FOLDER / "audits" / "harmful.json").read_text(encoding="utf-8"))
    for axis in AUDITED:
        first, second = readings(axis)
        kept = [label_agreement(sheet) for sheet in (first, second)]
        shares = [f"{one}/{all_} [{100 * low:.0f} %, {100 * high:.0f} %]" for one, all_, low, high in kept]
        alike = sum(one[JUDGED] == two[JUDGED] for one, two in zip(first, second, strict=True))
        rows.append([axis, str(len(first)), *shares, f"{alike}/{len(first)}", str(harmful[axis])])
    return markdown(head, rows)


def audit_tags() -> str:
    """Return, for each tag of the paper's table 9, how often it is given and how often both readings agree."""
    rates = {axis: tag_rates(*readings(axis)) for axis in AUDITED}
    rows = [
        [tag, *(f"{100 * rates[axis][tag][0]:.0f}; {100 * rates[axis][tag][1]:.0f}" for axis in AUDITED)]
        for tag in TAGS
    ]
    return markdown(["tag", *AUDITED], rows)


def readings(axis: str) -> list[list[dict[str, str]]]:
    """Read the two filled annotation sheets of an axis."""
    return [read_sheet(FOLDER / "audits" / f"{axis}_{number}.csv.xz") for number in (1, 2)]


PAGES = {
    "docs/results.md": {
        "changes": lambda: changes_of_fairtuning(axes=False),
        "fairtuned": seeds_of_fairtuning,
    },
    "experiments/perturbation/README.md": {
        "linked_pairs": linked_pairs,
        "table_2": table_2,
        "rewriters": rewriters,
        "training_pairs": training_pairs,
        "human": human,
        "human_lower": human_lower,
        "beside_rules": beside_rules,
        "traps": traps,
        "power": power,
        "novels": novels,
        "twins": lambda: matrix_table(FOLDER, "twins"),
        "twins_compared": twins_compared,
        "race_tests": race_tests,
        "table_3": lambda: matrix_table(FOLDER, "3"),
        "fairtuned": seeds_of_fairtuning,
        "controls": controls,
        "sides": sides,
        "changes": changes_of_fairtuning,
        "table_13": lambda: matrix_table(FOLDER, "13"),
        "audits": audits,
        "audit_tags": audit_tags,
    },
}
