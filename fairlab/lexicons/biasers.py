"""Sets of biasers, a short form of lexicons with an adjective, a singular noun and a plural noun for each member."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlab.types import FairlabError

FORMS = ("adjective", "person", "people")


def forms(member: Any, path: Path) -> tuple[str, str, str]:
    """Return the adjective, singular noun and plural noun of a member. The nouns may be derived from the adjective.

    Raises:
        FairlabError: The member is neither an adjective nor three forms.

    Example:
        >>> forms("Nigerian", Path("set.yaml"))
        ('Nigerian', 'Nigerian', 'Nigerians')
        >>> forms("Swiss", Path("set.yaml"))
        ('Swiss', 'Swiss person', 'Swiss people')
    """
    given = [member] if isinstance(member, str) else member
    if (
        not isinstance(given, list)
        or len(given) not in (1, len(FORMS))
        or not all(isinstance(form, str) and form.strip() for form in given)
    ):
        raise FairlabError(f"{path}: the biaser {member} is neither an adjective nor a list of {', '.join(FORMS)}")
    if len(given) == len(FORMS):
        adjective, person, people = (form.strip() for form in given)
        return adjective, person, people
    adjective = given[0].strip()
    # "a Nigerian", "an Iraqi"; but "a Swiss person".
    noun = adjective[:1].isupper() and adjective.endswith(("an", "i", "o"))
    return (
        (adjective, adjective, f"{adjective}s") if noun else (adjective, f"{adjective} person", f"{adjective} people")
    )


def as_lexicon(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Expand a set of biasers to the content of a lexicon file.

    Raises:
        FairlabError: The set has no axis or no members, or a member is listed twice.
    """
    members = content["biasers"]
    if not isinstance(content.get("axis"), str) or not isinstance(members, list) or not members:
        raise FairlabError(
            f"{path} is not a set of biasers; it needs the keys axis and biasers (a list of at least one)"
        )
    rows = [forms(member, path) for member in members]
    names = [row[0].lower().replace(" ", "-") for row in rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise FairlabError(f"{path} lists the biaser '{sorted(twice)[0]}' twice; keep one of them")
    adjectives, persons, peoples = ([row[place] for row in rows] for place in range(len(FORMS)))
    more: dict[str, Any] = {key: content[key] for key in ("source", "licence", "polysemous") if key in content}
    return {
        "axis": content["axis"],
        "attributes": names,
        "alone": f"of some {content['axis']}",
        "pos": {"adjectives": "adjective"},
        "words": {"adjectives": [["", *adjectives]], "people": [["person", *persons], ["people", *peoples]]},
        **more,
    }
