"""Redaction of secrets from environment variables in all written output."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import urllib.parse
from functools import cache
from typing import Any

SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHR|CREDENTIAL|(?<![A-Z])(PAT|AUTH)(?![A-Z])|(PASS|(?<=_)PWD)(?![A-Z])", re.IGNORECASE
)
SHORTEST, LONG = 6, 12  # minimum length of a secret, and minimum length for redaction inside words
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
# Password in a URL, key in its query, and setting that should contain the name of an environment variable.
IN_ADDRESS = re.compile(r"(://[^\s/:@'\"<>]*:)[^\s/'\"<>]+@")
IN_QUERY = re.compile(r"([?&;][\w.-]*(?:key|token|secret|passw|signature)[\w.-]*=)[^\s&#'\"<>\\]+", re.IGNORECASE)
MISPLACED = re.compile(r"((?<!\w)\w*_env\\?['\"]?\s*[=:]\s*\\?['\"]?)([^\s'\",}\]\\<$]+)")
HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{20,}")  # redacted anywhere
NOTHING = ("null", "None", "~")


def redacted(content: Any) -> Any:
    """Redact secrets in the strings of nested containers, and keep numbers unchanged."""
    return _redact(content, _secrets())


def _redact(content: Any, secrets: dict[str, str]) -> Any:
    match content:
        case dict():
            return {
                _redact(key, secrets): _redact_setting(key, _redact(value, secrets)) for key, value in content.items()
            }
        case list() | tuple():
            return [_redact(item, secrets) for item in content]
        case str():
            return secrets.get(content) or _redact_text(content, secrets)
    return content


def _redact_setting(key: Any, value: Any) -> Any:
    """Return the value of a setting, redacted if it is an API key instead of the name of an environment variable."""
    misplaced = str(key).endswith("_env") and isinstance(value, str) and not is_variable_name(value)
    return f"<{key}>" if misplaced else value


def without_secrets(text: str) -> str:
    """Redact secrets in a text, in every spelling.

    Secrets are values of environment variables whose names indicate keys, tokens or passwords, passwords in addresses,
    and keys given instead of the name of their variable. Values of fewer than :data:`SHORTEST` characters and numbers
    of fewer than :data:`LONG` digits are not redacted, because they occur in any text by chance.
    """
    return _redact_text(text, _secrets())


def _redact_text(text: str, secrets: dict[str, str]) -> str:
    pattern, spelled = _secret_pattern(tuple(secrets.items()))
    text = pattern.sub(lambda found: spelled[found[0]], text) if spelled else text
    text = HUB_TOKEN.sub("<token>", IN_ADDRESS.sub(r"\1<password>@", IN_QUERY.sub(r"\1<key>", text)))
    return MISPLACED.sub(_redact_misplaced, text)


def _redact_misplaced(found: re.Match[str]) -> str:
    named = found[2] in NOTHING or is_variable_name(found[2])
    return found[0] if named else f"{found[1]}<key>"


def is_variable_name(name: str) -> bool:
    """Return whether a text is the name of an environment variable that could hold a key, instead of a key."""
    return name in os.environ or (VARIABLE.fullmatch(name) is not None and SECRET_NAME.search(name) is not None)


def _secrets() -> dict[str, str]:
    """Return the secrets in the environment, each with its replacement."""
    found: dict[str, str] = {}
    for name, value in os.environ.items():
        if SECRET_NAME.search(name):
            parts = [value, *(line for line in value.splitlines() if len(line) >= LONG)]
            found |= {part.strip(): f"<{name}>" for part in parts if len(part.strip()) >= SHORTEST}
    return found


def _spellings(value: str) -> set[str]:
    """Return the ways in which a text is spelled in JSON, YAML, HTML, URLs, shell commands and sentences."""
    plain = {value, " ".join(value.split())}
    escaped = {json.dumps(way, ensure_ascii=ascii)[1:-1] for way in plain for ascii in (True, False)}
    quoted = {way.replace("'", "''") for way in plain} | {shlex.quote(way)[1:-1] for way in plain if "'" in way}
    written = plain | escaped | quoted | {repr(way)[1:-1] for way in plain}
    shown = {html.escape(way) for way in written}
    shown |= {way.replace("&#x27;", "&#39;").replace("&quot;", "&#34;") for way in shown}  # as in Jinja
    return (
        written
        | shown
        | {html.escape(way, quote=False) for way in written}
        | {urllib.parse.quote(way, safe="") for way in plain}
    )


@cache
def _secret_pattern(secrets: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern that matches every spelling of every secret, and the replacement for each spelling.

    Longer spellings come first, and short ones match only as whole words.
    """
    long = {value: name for value, name in secrets if len(value) >= LONG or not value.isdecimal()}
    spelled = {way: name for value, name in long.items() for way in _spellings(value)}
    ordered = sorted(spelled, key=len, reverse=True)
    ways = [re.escape(way) if len(way) >= LONG else rf"(?<!\w){re.escape(way)}(?!\w)" for way in ordered]
    return re.compile("|".join(ways)), spelled
