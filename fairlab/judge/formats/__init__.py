"""Readers of results from other tools, one module per tool.

Each module defines ``TOOL``, the name of the tool; ``recognises(path)``, which returns whether a file is a result of
the tool; and ``read(path)``, which returns a :class:`fairlab.judge.scores.ToolRun`. It can also define ``CITATION``,
the tool's BibTeX entry.
"""
