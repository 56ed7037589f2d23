"""Options in the usual spelling."""

from __future__ import annotations

import pytest

from fairlab.run.command_line.options import as_settings


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
