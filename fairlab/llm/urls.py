"""Addresses of servers."""

from __future__ import annotations

from typing import Any

from fairlab.types import FairlabError


def is_address(value: Any) -> bool:
    """Return whether a value, such as that of ``model=``, is the address of a server."""
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))


def checked_url(base_url: str, whose: str) -> str:
    """Return a server's checked address without a final slash; ``whose`` is the prefix of settings in messages.

    Raises:
        FairlabError: The address is not a URL, or contains a password or a query.
    """
    import httpx2

    try:
        url = httpx2.URL(base_url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise FairlabError(f"{whose}base_url is not an address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise FairlabError(f"{whose}base_url must be like http://localhost:8000/v1, not {base_url!r}")
    if url.userinfo or url.query:
        raise FairlabError(
            f"{whose}base_url contains a key or password; put it into an environment variable, see {whose}api_key_env"
        )
    return base_url.rstrip("/")
