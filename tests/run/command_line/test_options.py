"""Options in the usual spelling."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from fairlab.run.command_line.options import as_settings, with_quotes


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["RUN", "--port", "80"], ["RUN", "port=80"]),
        (["RUN", "--port=80", "body=5"], ["RUN", "port=80", "body=5"]),
        (["--other", "1", "port=80"], ["--other", "1", "port=80"]),
        (["--port"], ["--port"]),
        (["--cfg", "job"], ["--cfg", "job"]),
    ],
)
def test_named_options_become_settings_and_no_others(given, expected):
    assert as_settings(given, {"port"}) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("model=http://127.0.0.1:8000/v1#org/m-1:4", "model='http://127.0.0.1:8000/v1#org/m-1:4'"),
        ("model=http://h/v1#", "model='http://h/v1#'"),
        ("model=[http://h/v1#a,minilm,https://i/v1#b]", "model=['http://h/v1#a',minilm,'https://i/v1#b']"),
        ("model={one: http://h/v1#a}", "model={one: 'http://h/v1#a'}"),
        ("model='http://h/v1#a'", "model='http://h/v1#a'"),
        ("model=http://h/v1", "model=http://h/v1"),
    ],
)
def test_addresses_that_name_a_model_are_quoted_as_hydra_reads_them(given, expected):
    assert with_quotes([given]) == [expected]
    read = OverridesParser.create().parse_override(expected).value()
    assert str(read).replace("'", "") == given.partition("=")[2].strip("'").replace(",", ", ")


def test_words_of_other_languages_need_no_quotes():
    given = "data.columns.labels=[Grob unhöflich,spam]"
    quoted = with_quotes([given])[0]
    assert OverridesParser.create().parse_override(quoted).value() == ["Grob unhöflich", "spam"]
    assert with_quotes(["method.target={precision: 0.8}", "größe", "a='größe'"])[:2] == [
        "method.target={precision: 0.8}",
        "größe",
    ]
