"""Functions for rewriting texts to other attributes and for augmenting data."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairlab.api.arguments import checked
from fairlab.checks.escapes import print_escaped
from fairlab.checks.values import has_items
from fairlab.files import refuse_used, write_whole
from fairlab.record import Record
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten
from fairlab.rewriting.group_rewriters import GroupRewriter
from fairlab.run.augmenting.building import augment_lexicon, build_llm, build_rewriter
from fairlab.run.augmenting.running import augment_rows, refuse_unplanned
from fairlab.run.config.composing import composed, own_settings
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.text.pipeline import SPACY, load_pipeline, parsing_with
from fairlab.types import NEUTRAL, FairlabError

if TYPE_CHECKING:  # importing datasets takes seconds
    import datasets

Text = TypeVar("Text", str, list[str])


@checked
def rewrite(
    text: Text, *, to: str, axis: str = "gender", rewriter: str = "rules", settings: Mapping[str, Any] | None = None
) -> Text:
    """Rewrite one or more texts so that the people in them have the target attribute.

    Args:
        text: Text or list of texts.
        to: Target attribute of the axis, or ``neutral``.
        axis: Name of a lexicon such as ``gender``, or path of a user-defined lexicon.
        rewriter: Name of the rewriter: ``rules``, ``word_swap``, or another rewriter that returns all versions of a
            text. The rules parse English with spaCy. If spaCy's English model is not installed, they use
            ``rewriter.mode=lexical`` and issue a warning.
        settings: Settings by dotted key, such as ``{"rewriter.names": "keep"}``.

    Raises:
        FairlabError: The axis, attribute or rewriter does not exist, or a text cannot be rewritten.

    Example:
        >>> import fairlab
        >>> fairlab.rewrite("The chairman kissed his wife.", axis="gender", to="woman")
        'The chairwoman kissed her wife.'
        >>> fairlab.rewrite(["He is a nurse."], to="neutral")
        ['They are a nurse.']
    """
    texts = [text] if isinstance(text, str) else text
    if not isinstance(texts, Sequence) or not all(isinstance(one, str) for one in texts):
        raise FairlabError(f"rewrite takes a text or a list of texts, not {str(text)[:60]}; give texts")
    values: dict[str, Any] = plain_config(
        composed("augment", [f"rewriter={rewriter}"], {"axis": axis, **own_settings(settings)})
    )
    if rewriter == "rules" and not values["spacy"] and "rewriter.mode" not in (settings or {}):
        values["rewriter"]["mode"] = available_mode(values["rewriter"]["mode"])
    targets = (NEUTRAL, *augment_lexicon(values).attributes)
    if to not in targets:
        raise FairlabError(f"the axis '{axis}' has no attribute '{to}'; it has {', '.join(targets)}")
    built = build_rewriter(values, build_llm(values))
    if not isinstance(built, GroupRewriter):
        raise FairlabError(f"rewriter={rewriter} does not return all versions of a text; use rules or word_swap")
    found = []
    with parsing_with(values["spacy"]):
        for one, versions in zip(texts, built.groups(texts), strict=True):
            if isinstance(versions, NotRewritten):
                raise FairlabError(f"'{one[:60]}' could not be rewritten: {versions.reason}")
            found.append(versions.versions[to])
    return found[0] if isinstance(text, str) else found


def available_mode(mode: str) -> str:
    """Return the rules' mode as requested, or ``lexical`` with a warning if spaCy's default model is not installed."""
    if mode != "syntax" or os.environ.get(SPACY):  # if the user names a spaCy model, it is an error if it is missing
        return mode
    try:
        load_pipeline()
    except FairlabError:
        warnings.warn(
            "rewritten with rewriter.mode=lexical, which sees only neighbouring words, because spaCy's English model "
            "is not installed; install it with pip install 'fairlab[offline]'",
            stacklevel=3,
        )
        return "lexical"
    return mode


@checked
def augment(
    texts: str | Path | Sequence[str] | datasets.Dataset | datasets.DatasetDict,
    augmentation: str,
    *,
    axis: str = "gender",
    attributes: Sequence[str] | None = None,
    field: str | Sequence[str] = "text",
    output: str | Path | None = None,
    rewriter: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Augment texts as ``fairlab augment`` does.

    The result keeps the splits of the input and its column types, such as label names: a ``DatasetDict`` gives a
    ``DatasetDict``.

    Args:
        texts: List of texts, a ``datasets.Dataset`` or ``DatasetDict``, or any value of ``input=``: a file, a folder of
            texts, a folder written by ``save_to_disk``, or a dataset on the hub.
        augmentation: Name of the augmentation, such as ``counterfactual_groups``.
        axis: Name of a lexicon such as ``gender``, or path of a user-defined lexicon.
        attributes: Two or more attributes of the axis, or None for all.
        field: Name of the text column, or names of several columns whose texts are rewritten together.
        output: New folder for the data, manifest, data card and report, or None to keep no files.
        rewriter: Name of the rewriter, or None for the augmentation's default.
        settings: Settings by dotted key, such as ``{"augmentation.filter": "keep"}``.

    Raises:
        FairlabError: The augmentation or axis does not exist, there is no text, or no row could be generated.

    Example:
        >>> import fairlab
        >>> groups = fairlab.augment(["He is a nurse."], "counterfactual_groups", axis="gender")
        >>> groups[0]["versions"]
        {'neutral': 'They are a nurse.', 'man': 'He is a nurse.', 'woman': 'She is a nurse.'}
    """
    with tempfile.TemporaryDirectory(prefix="fairlab-") as place:
        source = str(texts) if isinstance(texts, str | Path) else str(written_rows(texts, field, Path(place)))
        folder = Path(place) / "made" if output is None else Path(output)
        values = {"input": source, "output": str(folder), "axis": axis, "attributes": attributes, "field": field}
        choices = [f"+augmentation={augmentation}", *([f"rewriter={rewriter}"] if rewriter else [])]
        values |= own_settings(settings)
        composition = composed("augment", choices, values)
        refuse_misfits("augment", composition, [f"{key}=" for key in values])
        config = plain_config(composition)
        refuse_unplanned(config, augmentation)
        refuse_used(folder, "give a new folder as output")
        folder.mkdir(parents=True, exist_ok=True)
        record = Record(folder, config, command="")
        with parsing_with(config["spacy"]):
            augment_rows(config, augmentation, record)
        record.save()
        if left_out(record):
            print_escaped("; ".join(note.text for note in record.notes))
        return dataset_made(folder)


def left_out(record: Record) -> bool:
    """Return whether any input row was rejected or has no output."""
    rows = record.provenance["rows"]
    return any(count for name, count in rows.items() if name not in ("read", "written", "groups"))


def written_rows(texts: Any, field: str | Sequence[str], folder: Path) -> Path:
    """Write texts to a JSON Lines file, or save a dataset in its own format, and return the path.

    Raises:
        FairlabError: There are no texts, or the input is neither a list of texts nor a dataset.
    """
    if hasattr(texts, "save_to_disk"):
        texts.save_to_disk(folder / "texts")
        return folder / "texts"
    if not has_items(texts) or isinstance(texts, bytes | Mapping):
        raise FairlabError(f"augment takes texts, rows or a dataset, not {str(texts)[:60]}; give a list of texts")
    rows = [{field: one} if isinstance(one, str) and isinstance(field, str) else one for one in texts]
    if not rows:
        raise FairlabError("texts is empty; give at least one text")
    if strange := [one for one in rows if not isinstance(one, Mapping)]:
        raise FairlabError(
            f"a {type(strange[0]).__name__} is not a text; give {'texts, or ' * isinstance(field, str)}rows "
            f"with a column '{field if isinstance(field, str) else ', '.join(field)}'"
        )
    path = folder / "texts.jsonl"
    write_whole(path, "".join(json.dumps(row, default=str) + "\n" for row in rows))
    return path


def dataset_made(folder: Path) -> datasets.Dataset | datasets.DatasetDict:
    """Load the dataset that an augmentation wrote to a folder, with the column types in its card."""
    import datasets

    from fairlab.data.stream.manifest import data_files
    from fairlab.data.stream.shards import split_of

    quiet = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with tempfile.TemporaryDirectory() as cache:
            found = datasets.load_dataset(str(folder), cache_dir=cache, keep_in_memory=True)
    finally:
        if not quiet:
            datasets.enable_progress_bars()
    return found if split_of(data_files(folder)[0]) else found["train"]
