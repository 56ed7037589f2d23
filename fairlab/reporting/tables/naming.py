"""Names of runs on pages and in tables: given names (``name=``), extended if two are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fairlab.record import Record


def overrides_text(settings: Mapping[str, str]) -> str:
    """Format settings as overrides; empty string if there are none."""
    return " ".join(f"{key}={value}" for key, value in settings.items())


def settings_text(settings: Mapping[str, str]) -> str:
    """Format settings as overrides; of an experiment or a class, only the name is shown."""
    return " ".join(
        plain_value(key, value) if key == "experiment" or key.endswith("_target_") else f"{key}={value}"
        for key, value in settings.items()
    )


def plain_value(key: str, value: str) -> str:
    """Return a setting's value as a cell: a class by its name."""
    return value.rpartition(".")[2] if key.endswith("_target_") else value


def differing(settings: Sequence[Mapping[str, str]], names: Sequence[str]) -> list[str]:
    """Return, for each entry, the settings in which it differs from other entries with the same name, in short form."""
    found = []
    for one, name in zip(settings, names, strict=True):
        alike = [other for other, called in zip(settings, names, strict=True) if called == name]
        found.append(settings_text({key: value for key, value in one.items() if len({o[key] for o in alike}) > 1}))
    return found


def distinct_names(names: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return unique names: equal names get an addition in parentheses and, if they are still equal, a number.

    Args:
        names: Names; empty ones stay empty.
        more: Addition of each.

    Example:
        >>> distinct_names(["ours", "theirs", "ours", "ours"], ["beta=0", "", "beta=1", "beta=1"])
        ['ours (beta=0)', 'theirs', 'ours (beta=1) #1', 'ours (beta=1) #2']
    """
    several = Counter(names)
    longer = [
        f"{name} ({addition})" if name and addition and several[name] > 1 else name
        for name, addition in zip(names, more, strict=True)
    ]
    several, met = Counter(longer), Counter[str]()
    found = []
    for name in longer:
        met[name] += 1
        found.append(f"{name} #{met[name]}" if name and several[name] > 1 else name)
    return found


def common_name(records: Sequence[Record]) -> str:
    """Return the name that a person gave to all of several runs; empty if they have none, or several."""
    names = {record.name for record in records}
    return names.pop() if len(names) == 1 else ""


def model_called(records: Sequence[Record], label: str = "") -> str:
    """Return the name that a person gave to a model's runs, with the model's label among several; empty without one.

    Args:
        records: Records of the runs of several seeds, or of one.
        label: Label of the model in a run of several.
    """
    name = common_name(records)
    return f"{name} ({label})" if name and label else name
