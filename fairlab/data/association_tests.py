"""Reader of custom association tests: sets of words or sentences in YAML or JSON, or one test in a sent-bias file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from fairlab.data.published.seat import KEYS, AssociationTest, read_association_test
from fairlab.text.reading import read_yaml_text
from fairlab.types import FairlabError

ENDINGS = (".yaml", ".yml", ".json", ".jsonl")
KNOWN = ("axis", "templates", "tests")
SETS = ("targets", "attributes")
PLACE = "{}"  # placeholder for a text in a template


@dataclass(frozen=True)
class OwnTests:
    """Association tests read from a file.

    Attributes:
        axis: Axis that the tests are about; empty if the file does not name it.
        tests: Tests by the name under which their results are recorded.
    """

    axis: str
    tests: Mapping[str, AssociationTest]


def is_file_of_tests(name: str) -> bool:
    """Return whether a test's name refers to a custom file."""
    return name.endswith(ENDINGS)


def read_own_tests(path: Path) -> OwnTests:
    """Read and check the tests of a file.

    A sent-bias file (``targ1``, ``targ2``, ``attr1``, ``attr2``) contains one test, which is named after the file. Any
    other file has the key ``tests``. Each test has ``targets`` (two or more named sets) and ``attributes`` (two named
    sets). A test with two targets is named ``FILE_TEST``. With three or more targets each pair is a test, named
    ``FILE_TEST_FIRST_vs_SECOND``. If the file has ``templates``, every text is inserted into each of them.

    Raises:
        FairlabError: The file does not exist, a key is unknown, a set is empty or a text is in two sets.
    """
    if not path.is_file():
        raise FairlabError(f"{path} is not a file; give a file of association tests, or the name of one, such as 6b")
    content = read_yaml_text(path, "is neither YAML nor JSON")  # JSON is also YAML
    stem = path.stem.lower().replace("-", "_").replace(" ", "_")
    if isinstance(content, dict) and set(content) & set(KEYS):
        _refuse_unknown(content, KEYS, f"{path}")
        return OwnTests("", {stem: read_association_test(path)})
    if not isinstance(content, dict) or not isinstance(content.get("tests"), dict) or not content["tests"]:
        raise FairlabError(f"{path} holds no association test; add 'tests', each with {' and '.join(SETS)}")
    _refuse_unknown(content, KNOWN, f"{path}")
    if not isinstance(content.get("axis", ""), str):
        raise FairlabError(f"{path}: 'axis' is not a text; set it to the name of an axis, such as disability")
    templates = _templates(content.get("templates"), path)
    found = {
        f"{stem}_{_in_keys(name)}{ending}": test
        for name, sets in content["tests"].items()
        for ending, test in _tests(sets, templates, f"{path}: the test '{name}'")
    }
    return OwnTests(content.get("axis", ""), found)


def _tests(sets: Any, templates: Sequence[str], place: str) -> Iterator[tuple[str, AssociationTest]]:
    """Yield an association test for every pair of target sets, with the suffix of its name."""
    if not isinstance(sets, dict):
        raise FairlabError(f"{place} has no sets; give {' and '.join(SETS)}")
    _refuse_unknown(sets, SETS, place)
    targets, poles = (_texts(sets.get(key), templates, f"{place}: '{key}'") for key in SETS)
    if len(poles) != 2:
        raise FairlabError(
            f"{place}: 'attributes' has {len(poles)} sets; give exactly two, which the targets may be associated with"
        )
    if len(targets) < 2:
        raise FairlabError(f"{place}: 'targets' has one set; give two or more")
    first: dict[str, str] = {}
    for name, texts in [*targets.items(), *poles.items()]:
        for text in texts:
            if first.setdefault(text, name) != name:
                raise FairlabError(f"{place}: '{text}' is in both {first[text]} and {name}; keep one of them")
    first_pole, second_pole = poles.values()
    made_of = {str(name): _words(texts, templates) for name, texts in sets["targets"].items()}
    for one, other in combinations(targets, 2):
        ending = "" if len(targets) == 2 else f"_{_in_keys(one)}_vs_{_in_keys(other)}"
        words = (*made_of[one], *made_of[other])
        yield ending, AssociationTest(targets[one], targets[other], first_pole, second_pole, words)


def _words(texts: Sequence[str], templates: Sequence[str]) -> list[str]:
    """Return, for each sentence of a set, the word that was inserted into a template."""
    return list({template.replace(PLACE, one): one for template in templates for one in texts}.values())


def _texts(sets: Any, templates: Sequence[str], place: str) -> dict[str, tuple[str, ...]]:
    """Return a dict from each set's name to its texts, inserted into every template."""
    if not isinstance(sets, dict) or not sets:
        raise FairlabError(f"{place} has no sets; give each set a name and a list of texts")
    found = {}
    for name, texts in sets.items():
        if not isinstance(texts, list) or not texts or not all(isinstance(one, str) and one.strip() for one in texts):
            raise FairlabError(f"{place}: the set '{name}' must be a list of at least one text; fill it in")
        found[str(name)] = tuple(dict.fromkeys(template.replace(PLACE, one) for template in templates for one in texts))
    return found


def _templates(value: Any, path: Path) -> list[str]:
    if value is None:
        return [PLACE]
    if isinstance(value, list) and value and all(isinstance(one, str) and PLACE in one for one in value):
        return value
    raise FairlabError(f"{path}: 'templates' is not a list of texts with {PLACE} in each, such as 'This is {PLACE}.'")


def _refuse_unknown(content: Mapping[Any, Any], known: Sequence[str], place: str) -> None:
    if unknown := [str(key) for key in content if key not in known]:
        raise FairlabError(f"{place} has the unknown key '{unknown[0]}'; the known keys are {', '.join(known)}")


def _in_keys(name: object) -> str:
    """Return a name in the form used in keys of readings."""
    return str(name).lower().replace(" ", "_").replace("-", "_").replace("/", "_")
