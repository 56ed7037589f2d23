"""Whether the hub is reached, found out within seconds."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request


def hub_unreachable() -> str:
    """Why the hub cannot be asked: it was ruled out, or does not answer; empty when it can."""
    from huggingface_hub import constants

    return "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else no_answer_of(constants.ENDPOINT)


def no_answer_of(endpoint: str, seconds: float = 3.0) -> str:
    """Empty when an address answers at all; else the reason. The hub's client would retry for most of a minute."""
    answers: list[str] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=seconds).close()
            answers.append("")
        except urllib.error.HTTPError:
            answers.append("")
        except (OSError, ValueError) as error:
            answers.append(f"{endpoint} is out of reach ({getattr(error, 'reason', error)})")

    # A thread, because the timeout of a connection bounds neither name look-up nor a list of addresses.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else f"{endpoint} gave no answer within {seconds:.0f} seconds"
