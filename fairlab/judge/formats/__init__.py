"""Readers of results, one module per tool.

A module offers ``TOOL``, the name of the tool; ``recognises(path)``, whether a file is one of its results; and
``read(path)``, the :class:`fairlab.judge.scores.ToolRun` that the file holds. It may offer
``CITATION``, the tool's BibTeX.
"""
