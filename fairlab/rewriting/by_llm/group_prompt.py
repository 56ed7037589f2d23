"""Parts of a prompt for counterfactual groups: the answer format, the task and the examples."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from fairlab.rewriting.by_llm.prompt import Prompt
from fairlab.types import FairlabError

# Meaning of ``answer`` in a prompt: whole versions, or the replacements of marked words.
TEXTS, MARKED = FORMS = ("texts", "marked")


def answer_form(prompt: Prompt) -> str:
    """Return the answer format that a prompt for groups requests.

    Raises:
        FairlabError: The requested format is unknown.
    """
    if (form := prompt.extra.get("answer", TEXTS)) not in FORMS:
        raise FairlabError(f"answer in the prompt {prompt.name} must be {', '.join(FORMS)}, not {form}")
    return str(form)


def group_task(prompt: Prompt, axis: str, attributes: Sequence[str]) -> str:
    """Return the task of a prompt for groups, with the axis and a line per attribute filled in.

    Raises:
        FairlabError: The file lacks a key, or has an unknown placeholder.
    """
    try:
        line = Template(prompt.extra["version_line"])
        between = "\n" if answer_form(prompt) == TEXTS else ", "
        versions = between.join(line.substitute(attribute=attribute) for attribute in attributes)
        return Template(prompt.task).substitute(axis=axis, versions=versions)
    except (KeyError, ValueError) as error:
        raise FairlabError(
            f"the prompt {prompt.name} needs 'version_line' with $attribute, and only $axis and $versions in 'task': "
            f"{error}"
        ) from error


def shown_examples(
    prompt: Prompt, names: Sequence[str], examples: Sequence[dict[str, str]] | None
) -> Sequence[dict[str, str]]:
    """Return the examples to show to the model.

    The examples are those of the caller or, if they are None, those of the prompt that have all versions in ``names``.

    Raises:
        FairlabError: An example given by the caller lacks a version.
    """
    if examples is None:
        examples = [example for example in prompt.examples if set(names) <= set(example)]
    for example in examples:
        if lacking := [name for name in ("text", *names) if name not in example]:
            raise FairlabError(f"the example '{example.get('text', '')[:60]}' has no '{lacking[0]}'; add it")
    return examples
