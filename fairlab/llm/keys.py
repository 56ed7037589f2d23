"""API keys, which are read from environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fairlab.checks.redaction import is_variable_name
from fairlab.types import FairlabError


@dataclass(frozen=True)
class ApiKey:
    """API key of a server, which is read from the environment when it is sent, and is not stored elsewhere.

    Attributes:
        variable: Name of the environment variable that holds the key, or None to send no key.
        url: Address to which the key is sent.
        setting: Name of the setting that names the variable, for messages.
    """

    variable: str | None
    url: str
    setting: str

    def read(self) -> str:
        """Return the key, or an empty string if none is sent.

        Raises:
            FairlabError: The environment variable is not set, its configured name is invalid, or its value cannot be
                sent in a header.
        """
        if self.variable is None:
            return ""
        if not (key := os.environ.get(self.variable, "").strip()):
            if not is_variable_name(self.variable):
                raise FairlabError(
                    f"{self.setting} is not the name of a variable, perhaps it is the key itself; "
                    "export the key, and give the variable's name"
                )
            raise FairlabError(
                f"the key for {self.url} is read from the environment variable {self.variable}, which is not set; "
                f"export it, or give the name of another one as {self.setting}"
            )
        if not key.isascii() or not key.isprintable():
            raise FairlabError(
                f"the key in {self.variable} has characters that are invalid in an HTTP header; set it again"
            )
        return key

    def headers(self) -> dict[str, str]:
        """Return the headers with which the key is sent."""
        key = self.read()
        return {"Authorization": f"Bearer {key}"} if key else {}

    def refused(self, status: int, said: str) -> FairlabError:
        """Return the error for a server that answers with status 401 or 403."""
        if self.variable:
            return FairlabError(
                f"{self.url} refuses the key in {self.variable} ({status}): {said}; check {self.setting}"
            )
        return FairlabError(f"{self.url} requires a key ({status}); set {self.setting} to its variable's name")

    def blank(self, text: str) -> str:
        """Remove the key from a text."""
        key = os.environ.get(self.variable, "").strip() if self.variable else ""
        return text.replace(key, f"<{self.variable}>") if key else text
