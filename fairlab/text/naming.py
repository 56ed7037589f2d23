"""Lists of names from a file, such as column names, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

LINE_END = re.compile("[\r\n\x85\u2028\u2029]")
MOST_NAMES, LONGEST = 40, 80  # maximum number of names shown, and of characters per name


def listed_names(names: Iterable[object], without: str = "none") -> str:
    """Join names by commas, shortened so that a message stays readable for any content of the file.

    Without names, the result is ``without``.

    Example:
        >>> listed_names(["text", "label"]), listed_names(range(100))[-14:]
        ('text, label', '39 and 60 more')
        >>> listed_names(["text", " label"])  # a space that would not be seen
        "text, ' label'"
    """
    left = iter(names)
    shown = [LINE_END.sub(" ", str(name)[:LONGEST]) for name in islice(left, MOST_NAMES)]
    shown = [name if name == name.strip() else f"'{name}'" for name in shown]
    more = sum(1 for _ in left)
    return ", ".join(shown) + (f" and {more:,} more" if more else "") or without
