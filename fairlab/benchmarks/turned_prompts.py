"""Rewriting of the user's own prompts for every attribute of an axis."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fairlab.data.reads import note_read
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.rows import read_rows
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.types import FairlabError


def turned_prompts(
    path: str, axis: str, field: str = "text", mode: Literal["syntax", "lexical"] = "syntax"
) -> tuple[dict[str, list[str]], str]:
    """Rewrite the prompts in a file for each attribute of an axis.

    A prompt is left out if the rules find no person in it or cannot change that person to all attributes.

    Args:
        path: Text file with one prompt per line, or a table.
        axis: Name of a lexicon, or path of a lexicon file.
        field: Column of the prompt in a table.
        mode: Method of finding people: ``syntax`` or ``lexical``.

    Returns:
        Prompts by attribute, in file order, and a note on omitted prompts, which is empty if there are none.

    Raises:
        FairlabError: The file cannot be read, or no prompt names people whom the rules can change.
    """
    texts = []
    for row in read_rows(str(note_read(Path(path))), field):
        if isinstance(row, BadRow):
            raise FairlabError(f"{path}, {row.place}: {row.reason}; fix or remove the row")
        texts.append(" ".join(row.fields))
    lexicon = load_lexicon(axis)
    found: dict[str, list[str]] = {attribute: [] for attribute in lexicon.attributes}
    for made in RuleGroups(lexicon=lexicon, mode=mode).groups(texts):
        if isinstance(made, NotRewritten):
            continue
        versions = [made.versions[attribute] for attribute in found]
        if len(set(versions)) == len(versions):
            for attribute, text in zip(found, versions, strict=True):
                found[attribute].append(text)
    kept = len(found[lexicon.attributes[0]])
    if not kept:
        raise FairlabError(
            f"no prompt of {path} names people whose {lexicon.axis} the rules can change to each of "
            f"{', '.join(found)}; mention a person, as in 'Describe the man next door.', or give axis=FILE"
        )
    left_out = len(texts) - kept
    said = f"{left_out} of {len(texts)} prompts are left out: the {lexicon.axis} of no person in them can be changed"
    return found, said if left_out else ""
