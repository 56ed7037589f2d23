"""Whether the hub is reached, found out within seconds."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request


def why_unreachable(endpoint: str, seconds: float = 3.0) -> str:
    """Empty when the hub answers at all; else the reason. The hub client itself would retry for most of a minute."""
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
