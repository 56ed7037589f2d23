"""Readers of texts that are labelled for harms and identity subgroups, in counterfactual sets.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble"; Dixon et al. 2018,
"Measuring and Mitigating Unintended Bias in Text Classification"; Röttger et al. 2021, "HateCheck"; Markov et al. 2023,
"A Holistic Approach to Undesired Content Detection in the Real World"; Zampieri et al. 2019, "Predicting the Type and
Target of Offensive Posts in Social Media"; Davidson et al. 2017, "Automated Hate Speech Detection and the Problem of
Offensive Language".
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from fairlab.checks.json_text import from_json
from fairlab.data.own_safety import TableColumns, read_own
from fairlab.data.published.download import locate
from fairlab.data.safety_texts import HARMS, NONE, SafetyText, binary_label, is_seed, json_rows, known_subgroup
from fairlab.text.naming import listed_names
from fairlab.text.reading import read_table_rows, text_lines
from fairlab.types import FairlabError

OWN = "own"  # a user's own table
SEEDS = "counterfactual_safety/counterfactual_fairness_dataset_seeds.csv"
OLID = "olid/olid-training-v1.0.tsv"
MADLIB_TERMS = "bias_madlibs/bias_madlibs_data/adjectives_people.txt"
# Labels of Markov et al. 2023 that name a harm; any of them makes a text unsafe.
OF_MODERATION = {"hate": ("H", "H2"), "sexual": ("S",), "violence": ("V", "V2")}


def read_safety(name: str, path: str | None = None, columns: TableColumns | None = None) -> list[SafetyText]:
    """Read the texts of a dataset.

    Args:
        name: Name of the dataset, one of :data:`READERS`; ``embedded/safety`` is a small harmless sample that comes
            with fairlab.
        path: Path of a file, or of an output folder of ``fairlab.augment``; None for the file under ``FAIRLAB_DATA``.
        columns: Columns of a user's own table; None for the default names.

    Raises:
        DataUnavailable: The file is unavailable.
        FairlabError: There is no such dataset, a row cannot be read, or a subgroup, label or key is invalid.
    """
    if name not in READERS:
        raise FairlabError(f"no safety dataset '{name}'; there are: {', '.join(READERS)}")
    place, reader = READERS[name]
    if path is None and name == OWN:
        raise FairlabError("data=own_safety needs a table of labelled texts; give data.path=FILE")
    embedded = path is None and name.startswith("embedded/")
    own = path is not None and (reader is read_own or Path(path).is_dir())
    file = Path(__file__).with_name("embedded") / place if embedded else Path(str(path)) if own else locate(place, path)
    try:
        texts = list(read_own(file, columns) if reader is read_own else reader(file))
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FairlabError(f"{file} cannot be read as {name} ({reason}); replace it with a complete copy") from error
    if not texts:
        raise FairlabError(f"{file} contains no text; give another file of {name}")
    seen: dict[tuple[str, str], int] = {}
    for number, text in enumerate(texts, start=1):
        if (first := seen.setdefault((text.key, text.subgroup), number)) != number and name != "bias_madlibs":
            raise FairlabError(
                f"{file}, texts {first} and {number}: the set '{text.key}' has '{text.subgroup or NONE}' twice; "
                "give every seed a different key"
            )
    return texts


def _csv(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the numbered rows of a file with a header, or of an output folder of ``fairlab.augment``."""
    if file.is_dir():
        for number, (_, row) in enumerate(json_rows(file), start=1):
            if missing := [name for name in columns if name not in row]:
                raise FairlabError(f"{file}, row {number} has no column '{missing[0]}'; it has: {listed_names(row)}")
            yield number, row
        return
    rows = (row for _, row in read_table_rows(file, columns=columns))
    for number, row in enumerate(rows, start=1):
        if missing := [name for name in columns if name not in row]:
            raise FairlabError(f"{file}, row {number} ends before the column '{missing[0]}'; fix the row")
        yield number, row


def _seeds(file: Path) -> Iterator[SafetyText]:
    columns = {harm: f"Ground truth {harm.capitalize()}" for harm in HARMS}
    for number, row in _csv(file, ["prompt", "example_key", "subgroup", *columns.values()]):
        place = f"{file}, row {number}"
        labels = {harm: binary_label(row[column], place) for harm, column in columns.items()}
        yield SafetyText(
            row["prompt"], str(row["example_key"]), known_subgroup(row["subgroup"], place), labels, is_seed(row)
        )


def _madlibs(file: Path) -> Iterator[SafetyText]:
    """Yield the texts of Bias Madlibs. Texts that differ only in their identity term form a set.

    The term is the subgroup. A text without a term is a separate set.
    """
    terms = text_lines(locate(MADLIB_TERMS))
    ordered = sorted((term.strip() for term in terms if term.strip()), key=len, reverse=True)
    for number, row in _csv(file, ["Text", "Label"]):
        padded = f" {row['Text']} "
        term = next((term for term in ordered if f" {term} " in padded), "")
        if row["Label"] not in ("BAD", "NOT_BAD"):
            raise FairlabError(f"{file}, row {number}: a label must be BAD or NOT_BAD, not '{row['Label']}'")
        key = padded.replace(f" {term} ", " <term> ", 1).strip() if term else f"row {number}"
        labels = {"toxicity": int(row["Label"] == "BAD")}
        yield SafetyText(row["Text"], key, f"Term:{term}" if term else "", labels)


def _hatecheck(file: Path) -> Iterator[SafetyText]:
    """Yield the texts of HateCheck.

    The texts of a template form a set if the template occurs with every target group. Every other text is a separate
    set.
    """
    rows = list(_csv(file, ["test_case", "label_gold", "target_ident", "templ_id", "case_id", "functionality"]))
    sizes = Counter(row["templ_id"] for _, row in rows if row["target_ident"])
    targets = len({row["target_ident"] for _, row in rows} - {""})
    for _, row in rows:
        templated = row["target_ident"] and sizes[row["templ_id"]] == targets
        key = f"template {row['templ_id']}" if templated else f"case {row['case_id']}"
        subgroup = f"Target:{row['target_ident']}" if row["target_ident"] else ""
        labels = {"hate": int(row["label_gold"] == "hateful")}
        yield SafetyText(row["test_case"], key, subgroup, labels, kind=row["functionality"])


def _moderation(file: Path) -> Iterator[SafetyText]:
    """Yield the texts of Markov et al. 2023, which have no subgroups. A harm that was not annotated has no label.

    OpenAI's part of the published seeds is derived from these texts.
    """
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    for number, line in enumerate(io.StringIO(content.decode("utf-8")), start=1):
        row = from_json(line)
        judged = {harm: [row[name] for name in names if name in row] for harm, names in OF_MODERATION.items()}
        labels = {harm: int(any(values)) for harm, values in judged.items() if values}
        yield SafetyText(row["prompt"], str(number), "", labels)


def _olid(file: Path, kept: bool) -> Iterator[SafetyText]:
    """Yield the tweets of one part of OLID. The parts are fixed by a hash of the text without user names and links.

    The label ``toxicity`` marks an offensive tweet, and ``hate`` a tweet that insults a group (GRP in the third task).

    Args:
        file: OLID's training file.
        kept: Whether to yield the part that is reserved for benchmarks instead of the training part.
    """
    lines = file.read_bytes().decode("utf-8", errors="replace").splitlines()  # 24 lines contain an invalid byte
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != 5:
            raise FairlabError(
                f"{file}, line {number} has {len(cells)} of 5 columns; replace the file with a complete copy"
            )
        if kept_for_benchmarks(cells[1]) == kept:
            labels = {"toxicity": int(cells[2] == "OFF"), "hate": int(cells[4] == "GRP")}
            yield SafetyText(cells[1], cells[0], "", labels)


def kept_for_benchmarks(tweet: str) -> bool:
    """Return whether a tweet of OLID belongs to the quarter that is reserved for benchmarks and never trained on."""
    words = [word for word in tweet.casefold().split() if word not in ("@user", "url")]
    return hashlib.sha256(" ".join(words).encode()).digest()[0] < 64


def _tweets(file: Path) -> Iterator[SafetyText]:
    """Yield the tweets of Davidson et al. 2017. Offensive and hateful tweets count as toxic."""
    for number, row in _csv(file, ["class", "tweet"]):
        if row["class"] not in ("0", "1", "2"):
            raise FairlabError(f"{file}, row {number}: a class must be 0, 1 or 2, not '{row['class']}'")
        labels = {"hate": int(row["class"] == "0"), "toxicity": int(row["class"] != "2")}
        yield SafetyText(row["tweet"], str(number), "", labels)


READERS: dict[str, tuple[str, Callable[[Path], Iterator[SafetyText]]]] = {
    "counterfactual_safety": (SEEDS, _seeds),
    "bias_madlibs": ("bias_madlibs/bias_madlibs_77k.sample.csv", _madlibs),
    "hatecheck": ("hatecheck/test_suite_cases.csv", _hatecheck),
    "openai_moderation": ("openai_moderation/samples-1680.jsonl.gz", _moderation),
    "olid": (OLID, partial(_olid, kept=True)),
    "olid_training": (OLID, partial(_olid, kept=False)),
    "hate_speech_offensive": ("hate_speech_offensive/labeled_data.csv", _tweets),
    OWN: ("", read_own),
    "embedded/safety": ("safety.jsonl", read_own),
    "embedded/sentences": ("sentences.jsonl", read_own),
}
