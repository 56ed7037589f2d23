"""Tables for the documentation page about the versions written by a small language model."""

from __future__ import annotations

import csv
import json
import operator
from functools import partial
from pathlib import Path
from statistics import fmean, stdev

from experiments.llm.risk_coverage import area_under_risk_coverage, gain_over_random
from experiments.rendering import interval, markdown
from fairlab.metrics.significance import wilson_interval
from fairlab.record import Record
from fairlab.reporting.headlines import title

RECORDS = Path(__file__).parent / "records"
FORMS = {
    "form_texts": "`counterfactual_group`: whole versions",
    "form_words": "`counterfactual_words` (removed since): the words that change",
    "form_marked": "`counterfactual_marked`: the replacements of marked words",
}
UNION = "polarity/rewrites/union_accuracy"
# Dollars per million tokens read and written, as announced in January and July 2024 and still listed in spring 2026,
# without a discount for cached prefixes.
PRICES = {"gpt-3.5-turbo-0125": (0.50, 1.50), "gpt-4o-mini-2024-07-18": (0.15, 0.60)}
CONFIDENCES = {
    "tokens": "probability of the texts in the answer",
    "whole": "probability of all tokens of the answer",
    "stated": "confidence stated by the model",
}
DOLLARS_A_EURO = 1.15  # assumed


def load_record(name: str) -> Record:
    """Load a committed record of ``fairlab.augment``."""
    return Record.load(RECORDS / name)


def spent(record: Record) -> list[str]:
    """Return the number of calls, and the tokens read, tokens written and seconds per call.

    Calls may run in parallel, so their seconds overlap.
    """
    stage = record.provenance["ledger"]["groups"]
    per_call = (stage[key] / stage["calls"] for key in ("prompt_tokens", "completion_tokens", "seconds"))
    return [str(stage["calls"]), *(f"{value:.1f}" for value in per_call)]


def union(record: Record) -> str:
    """Return the union polarity accuracy with its 95 % interval."""
    (reading,) = (one for one in record.readings if one.key == UNION)
    return interval(reading, 1)


def forms() -> str:
    """Return a table that compares three answer formats on the same texts."""
    header = ["prompt", "union polarity accuracy, %", "calls", "tokens read per call", "tokens written per call"]
    header += ["seconds per call"]
    rows = [[label, union(load_record(name)), *spent(load_record(name))] for name, label in FORMS.items()]
    return markdown(header, rows)


def rounds(name: str) -> str:
    """Return a table of the percentage of correct versions of the search texts in each round."""
    rows = [
        [f"{row['round']:.0f}", f"{row['examples']:.0f}", f"{row['accuracy']:.1f}"] for row in load_record(name).history
    ]
    return markdown(["round", "examples in the prompt", "right versions, %"], rows)


def compared(name: str, first: str, second: str) -> str:
    """Return a table that compares two ways of prompting on the same texts, with one verifier and with two."""
    found = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    named = {"polarity": "polarity (the paper's)", "polarity and kinds": "polarity and the case of pronouns"}
    rows = []
    for verifiers, label in named.items():
        one = found[verifiers]
        shares = [share(one["both"] + one[alone], one["texts"]) for alone in ("first_alone", "second_alone")]
        rows.append([label, *shares, str(one["second_alone"]), str(one["first_alone"]), f"{one['p']:.1g}"])
    return markdown(
        ["criterion for right", f"{first}, %", f"{second}, %", "better texts", "worse texts", "p (exact McNemar)"], rows
    )


def share(count: int, n: int) -> str:
    """Return a percentage with its 95 % interval."""
    low, high = wilson_interval(count, n)
    return f"{100 * count / n:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def human() -> str:
    """Return a table of how many versions equal the versions that people wrote."""
    found = json.loads((RECORDS / "human.json").read_text(encoding="utf-8"))
    named = {"human_rules": "rules: equal, %", "human_found": "model: equal, %"}
    rows = [[key, *(share(*found[folder][key]) for folder in named)] for key in found["human_rules"]]
    return markdown(["set and direction", *named.values()], rows)


def read(name: str) -> str:
    """Return a table that compares the verdicts of two verifiers with a reading of the outputs."""
    rows = sheet(name)
    right = [row["right"] == "yes" for row in rows]
    by = {
        "polarity": [row["polarity"] == "yes" for row in rows],
        "polarity and kinds": [row["polarity"] == row["kinds"] == "yes" for row in rows],
    }
    cells = [[name, str(sum(said)), str(sum(map(operator.eq, said, right)))] for name, said in by.items()]
    header = [f"judge of {len(rows)} outputs", "judged right", "agrees with the reading"]
    return markdown(header, [["reading", str(sum(right)), ""], *cells])


def five_hundred() -> str:
    """Return a table of the model with the best prompt and the rules on the same 500 sentences, by verifier."""
    found = json.loads((RECORDS / "rules.json").read_text(encoding="utf-8"))
    rows = []
    for verifiers in ("polarity", "polarity and kinds"):
        one = found[verifiers]
        counts = (one["both"] + one["first_alone"], one["both"] + one["second_alone"])
        rows.append([verifiers, *(share(count, one["texts"]) for count in counts)])
    rows.append(["versions that are equal for model and rules", *[share(found["equal"], one["texts"])] * 2])
    return markdown(["verifier, on 500 sentences", "model, %", "rules, %"], rows)


def repair() -> str:
    """Return a table of how many answers were requested again with their fault quoted, and how many were then fixed."""
    told = {
        text.split(" ", 1)[1]: text.split(" ", 1)[0]
        for text in (note.text for note in load_record("repair_found").notes)
    }
    return markdown(
        ["of 160 sentences", "number"], [["requested again", told["asked again"]], ["then fixed", told["mended"]]]
    )


def razor() -> str:
    """Return a table of the claims that passed the check, by label: number, share read as right, length."""
    rows = []
    for label in ("SUPPORTS", "REFUTES"):
        asked = [row for row in sheet("razor_read.csv") if row["label"] == label]
        made = [row for row in asked if row["rewritten"] == "yes"]
        words = (sum(int(row[key]) for row in asked) / len(asked) for key in ("words_before", "words"))
        right = sum(row["right"] == "yes" for row in made)
        rows.append([label, str(len(asked)), str(len(made)), str(right), *(f"{mean:.1f}" for mean in words)])
    header = [
        "label",
        "claims",
        "rewritten",
        "judged right by reading",
        "words per claim, before",
        "words per claim, after",
    ]
    return markdown(header, rows)


def confidence() -> str:
    """Return a table of how well three confidences rank correct answers above wrong ones."""
    items = json.loads((RECORDS / "confidence.json").read_text(encoding="utf-8"))["items"]
    wrong = [not one["right"] for one in items]
    rows = []
    for name, label in CONFIDENCES.items():
        values = [one[name] for one in items]
        gain, low, high = (round(one, 3) + 0.0 for one in gain_over_random(values, wrong))
        area = area_under_risk_coverage(values, wrong)
        rows.append([label, f"{sum(wrong) / len(wrong):.3f}", f"{area:.3f}", f"{gain:.3f} [{low:.3f}, {high:.3f}]"])
    return markdown(
        [f"confidence, {len(items)} answers", "area, random order", "area, ordered by confidence", "gain"], rows
    )


def steps() -> str:
    """Return a table of the model's results in each step for which the papers use a language model."""
    groups, claims = sheet("read_found.csv"), [row for row in sheet("razor_read.csv") if row["rewritten"] == "yes"]
    seeds = sheet("../ensemble/injection_read.csv")
    wrong = sum(row["flagged"] == row["right"] for row in seeds)
    told = {
        text.split(" ", 1)[1]: text.split(" ", 1)[0]
        for text in (note.text for note in load_record("repair_found").notes)
    }
    rows = [
        ["counterfactual groups judged right by reading", *right_of(groups)],
        ["versions with an injected subgroup judged right by reading", *right_of(seeds)],
        ["wrong verdicts on these versions: right but flagged, or wrong but passed", str(wrong), str(len(seeds))],
        ["faults that the model fixes when they are quoted", told["mended"], told["asked again"]],
        ["rephrased claims that passed the model's check, judged right by reading", *right_of(claims)],
        ["versions that the model labels differently from their seed", *relabelled()],
        *(
            [f"{shift}s of passages that are grammatical and true to the text", *right_of_morphs(shift)]
            for shift in ("upshift", "downshift")
        ),
    ]
    return markdown(["result of the step", "number", "of"], rows)


def relabelled() -> list[str]:
    """Return how many injected versions got a different label, and the number of all versions."""
    found = json.loads((RECORDS / "labels.json").read_text(encoding="utf-8"))
    pairs = {key: count for key, count in found.items() if " to " in key}
    changed = sum(count for key, count in pairs.items() if len(set(key.split(" to "))) == 2)
    return [str(changed), str(sum(pairs.values()))]


def right_of_morphs(shift: str) -> list[str]:
    """Return how many morphs of a kind are correct, and how many were requested."""
    some = [row for row in sheet("morphs_read.csv") if row["shift"] == shift]
    return [str(sum(row["grammatical"] == row["faithful"] == "yes" for row in some)), str(len(some))]


def right_of(rows: list[dict[str, str]]) -> list[str]:
    """Return the number of correct rows, and of all rows."""
    return [str(sum(row["right"] == "yes" for row in rows)), str(len(rows))]


def sheet(name: str) -> list[dict[str, str]]:
    """Read the rows of a filled sheet."""
    with (RECORDS.parent / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def costs() -> str:
    """Return a table of tokens and seconds per call, and of the cost of the tokens at listed prices."""
    calls, asked, answered, seconds = spent(load_record("test500_found"))
    rows = [
        ["calls", calls],
        ["tokens read per call, most of them cached from the previous call", asked],
        ["tokens written per call", answered],
        ["seconds per call, on one thread of a busy machine", seconds],
    ]
    for name, (read_price, write_price) in PRICES.items():
        dollars = 1000 * (float(asked) * read_price + float(answered) * write_price) / 1e6
        told = f"{dollars:.2f} dollars, {dollars / DOLLARS_A_EURO:.2f} euros"
        rows.append([f"cost of a thousand sentences at the prices of {name}", told])
    return markdown(["groups of the 160 and the 500 sentences", "value"], rows)


def apart() -> str:
    """Return tables that compare one request for all versions with one per attribute, and their costs."""
    spent = json.loads((RECORDS / "apart.json").read_text(encoding="utf-8"))["spent"]
    texts = spent["man and woman"]["calls"]
    ways = [[spent["man and woman"]], [spent["man"], spent["woman"]]]
    rows = [
        [label, *(f"{sum(stage[key] for stage in way) / texts:.1f}" for way in ways)]
        for label, key in (("calls per text", "calls"), ("tokens written per text", "completion_tokens"))
    ]
    told = markdown(["cost", "in one request", "in separate requests"], rows)
    return "\n\n".join([compared("apart", "in one request", "in separate requests"), told])


def morphs() -> str:
    """Return a table of the morphs that passed the check, and of how many a reading found right."""
    read = sheet("morphs_read.csv")
    rows = []
    for shift in ("upshift", "downshift"):
        some = [row for row in read if row["shift"] == shift]
        made = [row for row in some if row["made"] == "yes"]
        said = [str(sum(row[key] == "yes" for row in made)) for key in ("grammatical", "faithful")]
        rows.append([shift, str(len(some)), str(len(made)), *said])
    return markdown(
        ["morph", "requested", "passed the check", "grammatical by reading", "true to the text by reading"], rows
    )


TRAINED = {
    "minilm_mlm": "CCD in the encoder, MiniLM",
    "minilm_mlm_linear": "CCD as one linear map, MiniLM",
    "mpnet_linear": "CCD as one linear map, mpnet",
}
ORIGINS = {"llm": "groups made by the model", "rules": "groups made by rules", "written": "written groups"}
SEEDS = ("seed_42", "seed_43", "seed_44")
READ = {
    "cced/winogender/gap": 4,
    "cced/embedded/gap": 4,
    "seat/average/absolute_effect_size": 3,
    "bias_ir/average/male_ratio": 3,
    "bias_ir/average/margin": 4,
    "bias_ir/average/deviation": 3,
    "stsb/dev/spearman": 2,
}


def origins(name: str) -> str:
    """Return the readings after training on groups of three origins: mean over seeds, and widest interval."""
    found = {
        origin: [{one.key: one for one in load_record(f"ccd/{name}/{origin}/{seed}").readings} for seed in SEEDS]
        for origin in ORIGINS
    }
    rows = []
    for key, digits in READ.items():
        before = found["written"][0][f"before/{key}"]
        cells = [title(before), interval(before, digits)]
        for runs in found.values():
            after = [run[f"after/{key}"] for run in runs]
            low, high = min(one.low for one in after), max(one.high for one in after)
            mean, spread = fmean(one.value for one in after), stdev(one.value for one in after)
            cells.append(f"{mean:.{digits}f} ± {spread:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]")
        rows.append(cells)
    return markdown([TRAINED[name], "before", *ORIGINS.values()], rows)


PAGES = {
    "experiments/llm/README.md": {
        "forms": forms,
        "rounds": partial(rounds, "search"),
        "unseen": partial(compared, "unseen", "without examples", "with the examples found"),
        "read": partial(read, "read.csv"),
        "rounds_kinds": partial(rounds, "search_kinds"),
        "unseen_kinds": partial(
            compared, "unseen_kinds", "with the six given examples", "with five more examples found"
        ),
        "nearest": partial(compared, "nearest", "with the six given examples", "with the four nearest of 59"),
        "five_hundred": five_hundred,
        "read_found": partial(read, "read_found.csv"),
        "human": human,
        "repair": repair,
        "confidence": confidence,
        "origins_minilm": partial(origins, "minilm_mlm"),
        "origins_minilm_linear": partial(origins, "minilm_mlm_linear"),
        "origins_mpnet_linear": partial(origins, "mpnet_linear"),
        "apart": apart,
        "morphs": morphs,
        "costs": costs,
        "razor": razor,
        "steps": steps,
    }
}
