"""Readers of results, one module per tool.

A module defines ``TOOL``, the name of the tool; ``recognises(path)``, which returns whether a file is a result of the
tool; and ``read(path)``, which returns the file's :class:`fairlab.judge.scores.ToolRun`. It may also define
``CITATION``, the tool's BibTeX entry.
"""
