"""Moderation endpoint as a source: any server that implements OpenAI's ``/moderations``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairlab.checks.redaction import is_variable_name
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.types import FairlabError, Natural, need_extra

if TYPE_CHECKING:
    import httpx2

FIRST_WAIT = 1.0  # seconds before the first retry; doubled for each further one
AT_ONCE = 32  # texts in a request
RETRIED = {408, 409, 429, 500, 502, 503, 504, 529}


class Moderation(Source):
    """Source of an endpoint's category scores.

    The key is read from the environment for each request and is not stored anywhere else.

    Args:
        base_url: Address of the endpoint up to and including the version.
        model: Name of the model on the server; together with the address it is the source's version.
        outputs: Names of the categories to use; a category that the reply lacks is a missing score.
        api_key_env: Environment variable that holds the key; None sends no key.
        retries: Maximum number of retries of a request while the server is busy or unavailable.

    Raises:
        FairlabError: The key is missing; in ``score``, if the server refuses a request or is unavailable.
    """

    title = "moderation endpoint"
    limits = "The server's owner may change the model behind its name at any time, and receives every text."
    citation = """@inproceedings{markov2023holistic,
  title = {A Holistic Approach to Undesired Content Detection in the Real World},
  author = {Markov, Todor and Zhang, Chong and Agarwal, Sandhini and Nekoul, Florentine Eloundou and Lee, Theodore
            and Adler, Steven and Jiang, Angela and Weng, Lilian},
  booktitle = {Proceedings of the {AAAI} Conference on Artificial Intelligence},
  year = {2023}
}"""
    secret = ("base_url", "api_key_env")
    name = "moderation"
    asks_of_turned = False  # every request costs money
    own_limit = True  # the client limits the time of each request

    def __init__(
        self, *, base_url: str, model: str, outputs: Sequence[str], api_key_env: str | None, retries: Natural = 4
    ) -> None:
        need_extra("llm", "source=moderation", "httpx2")
        if api_key_env is not None and not os.environ.get(api_key_env):
            if not is_variable_name(api_key_env):
                raise FairlabError(
                    "api_key_env must be the name of a variable, not the key itself; export the key, and give the name"
                )
            raise FairlabError(f"{api_key_env} is not set; export the key of {base_url}, or set api_key_env=null")
        self.url = base_url.rstrip("/") + "/moderations"
        self.model = model
        self.outputs = tuple(outputs)
        self.api_key_env = api_key_env
        self.retries = retries
        self.version = f"{self.url} {model}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return scores (N, F) in [0, 1], with nan for texts that the server refuses."""
        import httpx2

        with httpx2.Client(timeout=60.0) as client:
            parts = [
                self._part(client, list(texts[start : start + AT_ONCE])) for start in range(0, len(texts), AT_ONCE)
            ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.outputs)))

    def _part(self, client: httpx2.Client, texts: list[str]) -> NDArray[np.float64]:
        reply = self._sent(client, texts)
        if reply.status_code == 400 and len(texts) > 1:  # perhaps only one text caused the failure
            return np.concatenate([self._part(client, [text]) for text in texts])
        if reply.status_code == 400:
            return np.full((1, len(self.outputs)), np.nan)
        if reply.status_code != 200:
            raise FairlabError(f"{self.url} answers {reply.status_code}; check the address, the key and the model")
        try:
            results = [result["category_scores"] for result in reply.json()["results"]]
            rows = [[float(found.get(name, np.nan)) for name in self.outputs] for found in results]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FairlabError(
                f"{self.url} returns no category_scores ({type(error).__name__}); check model"
            ) from error
        if len(rows) != len(texts):
            raise FairlabError(f"{self.url} returned {len(rows)} results for {len(texts)} texts; check the server")
        return np.array(rows)

    def _sent(self, client: httpx2.Client, texts: list[str]) -> httpx2.Response:
        """Return the reply to a request, with retries while the server is busy or unavailable.

        Raises:
            FairlabError: The last retry failed too.
        """
        import httpx2

        began, said = time.monotonic(), ""
        headers = {"Authorization": f"Bearer {os.environ[self.api_key_env]}"} if self.api_key_env else {}
        for retry in range(self.retries + 1):
            if retry:
                time.sleep(FIRST_WAIT * 2 ** (retry - 1))
            try:
                reply = client.post(self.url, json={"model": self.model, "input": texts}, headers=headers)
            except httpx2.TransportError as error:
                said = type(error).__name__
                continue
            if reply.status_code not in RETRIED:
                return reply
            said = str(reply.status_code)
        raise FairlabError(
            f"{self.url} answered nothing for {time.monotonic() - began:.0f} s, with {self.retries} retries ({said}); "
            "try later, since the cache keeps the scores so far, or raise the source's retries"
        )
