"""Names of runs on pages and in tables: user-given names (``name=``), made distinct if necessary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fairlab.record import Record


def overrides_text(settings: Mapping[str, str]) -> str:
    """Format settings as Hydra overrides; empty string if there are none."""
    return " ".join(f"{key}={value}" for key, value in settings.items())


def settings_text(settings: Mapping[str, str]) -> str:
    """Format settings as Hydra overrides. Experiments and classes are shown by their name alone."""
    return " ".join(
        plain_value(key, value) if key == "experiment" or key.endswith("_target_") else f"{key}={value}"
        for key, value in settings.items()
    )


def plain_value(key: str, value: str) -> str:
    """Return the text of a table cell for the value of a setting. Classes are shown without their module."""
    return value.rpartition(".")[2] if key.endswith("_target_") else value


def differing(settings: Sequence[Mapping[str, str]], names: Sequence[str]) -> list[str]:
    """Return, for each run, the settings in which it differs from other runs with the same name, in short form."""
    found = []
    for one, name in zip(settings, names, strict=True):
        alike = [other for other, called in zip(settings, names, strict=True) if called == name]
        found.append(settings_text({key: value for key, value in one.items() if len({o[key] for o in alike}) > 1}))
    return found


def distinct_names(names: Sequence[str], more: Sequence[str]) -> list[str]:
    """Make names distinct: equal names get an addition in parentheses and, if they are still equal, a number.

    Empty names stay empty. ``more`` is the addition to each name.

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
    """Return the user-given name that all runs share, or an empty string if they have no name, or different names."""
    names = {record.name for record in records}
    return names.pop() if len(names) == 1 else ""


def model_called(records: Sequence[Record], label: str = "") -> str:
    """Return the user-given name of a model's runs, if any, with the model's label if there is one.

    The runs differ only in their seeds. The label is empty unless they measured several models.
    """
    name = common_name(records)
    return f"{name} ({label})" if name and label else name
