"""Check of whether the hub is reachable, which takes at most a few seconds."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request


def hub_unreachable() -> str:
    """Return the reason why the hub is unavailable (disabled or no answer), or an empty string if it is reachable."""
    from huggingface_hub import constants

    return "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else no_answer_of(constants.ENDPOINT)


def no_answer_of(endpoint: str, seconds: float = 3.0) -> str:
    """Return the reason why an address does not answer, or an empty string.

    The hub's own client would retry for most of a minute.
    """
    answers: list[str] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=seconds).close()
            answers.append("")
        except urllib.error.HTTPError:
            answers.append("")
        except (OSError, ValueError) as error:
            answers.append(f"{endpoint} cannot be reached ({getattr(error, 'reason', error)})")

    # A thread, because a connection timeout bounds neither name look-up nor attempts over a list of addresses.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else f"{endpoint} gave no answer within {seconds:.0f} seconds"
