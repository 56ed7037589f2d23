"""``python -m fairlab.mend``: debias a model at a limited loss of utility, confirm the gain, and export it.

The command tries the methods that fit the model, selects one of them by readings that appear in no table, and confirms
it on the headline benchmarks. The loss of utility must stay within a limit that you set. If no method succeeds within
this limit, the answer says so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import yaml

from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line.cli import one_sentence_without_hydra
from fairlab.run.command_line.options import as_settings
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.types import FairlabError

QUESTION = "What reduces the bias, and at what cost?"
HELP = f"""fairlab mend MODEL [KEY=VALUE ...]

{__doc__}
Settings of an encoder
  axis=gender        axis of people
  keep=stsb:-0.5     smallest change of STS-B's correlation, times 100, that still counts as kept
  methods=[...]      sentence_debias, inlp, leace, ccd_linear, ccd, ccd_aligned, dpce, adept; all by default
  groups=FILE        counterfactual groups to learn from, needed for other axes
  benchmarks=[...]   benchmarks that confirm: cced and stsb by default, for gender also seat and bias_ir
Settings of a classifier
  data=FILE          labelled rows: a third to fit on, a third to choose by, a third to confirm on
  field=text label=label group=COLUMN labels=[...] mode=syntax axis=[gender]
  keep=accuracy:-2   smallest change of accuracy, in points, that still counts as kept
  methods=[...]      fairtuning, logit_pairing, threshold, odds; all by default
Settings of both
  scale=quickstart   or paper, which selects the defaults of methods that train
  output=FOLDER      a new folder, or that of a killed run, which resumes
  name=NAME          name of the result on its page and in tables
  seed=42 limit=N

Examples
  fairlab mend minilm axis=gender keep=stsb:-0.5
  fairlab mend my_encoder methods=[ccd_linear,inlp] output=mended
  fairlab mend my_model:pipeline data=comments.csv label=toxic group=sex keep=accuracy:-1
"""


def main(arguments: Sequence[str]) -> None:
    """Debias the model named in the command, and print the answer."""
    values = settings_in(arguments)
    model, data = values.pop("model"), values.pop("data", None)

    from fairlab.audit.mending import FILE
    from fairlab.mend.outcome import COMPARED, MODEL
    from fairlab.mend.running import mend_model

    found = mend_model(model, values, data)
    print_escaped(found.sentence, COMPARED, *found.lines)
    if not found.is_mended and not any(one.failed for one in found.tried):
        print_escaped("To accept a larger loss, run this again with a lower keep= and another output=.")
    if found.is_mended:
        is_rule = (found.folder / FILE).is_file()
        print_escaped(f"fairer model: {f'{model}@{found.folder / FILE}' if is_rule else found.folder / MODEL}")
    print_escaped(f"written: {found.folder}/report.html")


def settings_in(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the settings in a command by name.

    The first word is the model if it contains no ``=``.

    Raises:
        FairlabError: There is no model, or another word contains no ``=``.

    Example:
        >>> settings_in(["minilm", "keep=stsb:-0.5", "methods=[inlp]"])
        {'model': 'minilm', 'keep': 'stsb:-0.5', 'methods': ['inlp']}
    """
    found: dict[str, Any] = {}
    for k, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if k == 0 and (not sign or "@" in name or "/" in name):
            found["model"] = word
        elif not sign or not name.isidentifier():
            raise FairlabError(f"'{word}' does not have the form KEY=VALUE; --help shows what this command takes")
        else:
            found[name] = value if name in ("model", "data", "output", "keep") else _read(name, value)
    if "model" not in found:
        raise FairlabError("no model is given; give one, for example fairlab mend minilm axis=gender")
    return found


def _read(name: str, value: str) -> Any:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise FairlabError(f"{name}={value} cannot be read; quote it, or close its brackets") from error


@quiet_when_unread()
def command() -> None:
    """Run the command with the arguments of the console script."""
    given = sys.argv[1:]
    if {"-h", "--help"} & set(given):
        print_escaped(HELP)
        return
    with one_sentence_without_hydra():
        main(as_settings(given, ("axis", "keep", "methods", "output", "data")))
