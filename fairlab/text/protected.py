"""Stretches of a text that are no prose: addresses, code and handles, which no rewriter may touch."""

from __future__ import annotations

import re

# Marks of which one must occur; most texts hold none, and looking for these is cheaper than the pattern.
_MARKS = ("`", "@", "#", "<", "/", "_", "www.", "()")
_PROTECTED = re.compile(
    r"```.*?```"  # fenced code
    r"|``(?:(?!'')[^`\n])+``"  # code in a line; not a quotation set ``so''
    r"|(?<!`)`[^`\n]+`(?!`)"
    r"|<[/!]?[A-Za-z][^<>\n]{0,200}>"  # markup
    r"|\b[A-Za-z][\w+.-]{0,30}://\S+"  # addresses
    r"|\bwww\.\S+"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.\w{1,20})+"  # mail
    r"|(?<!\w)[@#]\w+"  # handles and tags
    r"|(?<![\w/])(?:~|\.{1,2})?/(?:[\w.-]+/)+[\w.-]*"  # paths
    r"|\b\w+(?:_\w+)+\b"  # names in code
    r"|\b\w+\(\)",
    re.DOTALL,
)


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every stretch to be left alone, from left to right."""
    if not any(mark in text for mark in _MARKS):
        return []
    return [match.span() for match in _PROTECTED.finditer(text)]
