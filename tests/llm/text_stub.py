"""Servers of a small causal model, in the dialects of vLLM and of llama-cpp-python.

The shapes follow vLLM's completion protocol (``prompt_logprobs``: per token of the prompt a mapping from its id to
``logprob``, ``rank`` and ``decoded_token``, null for the first; names of parameters it does not know are ignored) and
OpenAI's older one (``echo`` with ``logprobs``: tokens and log-probabilities of prompt and reply, null for the first).
"""

import json
import threading

from fairlab.backbones.scoring import Targets, target_log_probabilities
from tests.llm.stub import Act, refused


def reply(**body):
    return Act(body=json.dumps(body).encode())


class TextServer:
    """Answers about a backbone; ``start`` is put before every prompt, as vLLM does for Llama and Gemma."""

    def __init__(self, backbone, name="m", dialect="vllm", start=False):
        self.lock = threading.Lock()  # scoring puts hooks into the model, which calls at the same time would share
        self.backbone, self.name, self.dialect, self.start = backbone, name, dialect, start

    def __call__(self, payload, nth):
        with self.lock:
            return self.answer(payload)

    def answer(self, payload):
        if "input" in payload:
            vectors = self.backbone.embed(payload["input"]).tolist()
            data = [{"index": k, "embedding": vector} for k, vector in enumerate(vectors)]
            return reply(model=self.name, data=data[::-1], usage={"prompt_tokens": 7 * len(vectors)})
        if "messages" in payload:
            return refused(400, "no chat template")
        return self.complete(payload)

    def shifted(self, ids, tokens, values):
        """llama-cpp-python 0.3 without a start token: each token has the value of the next, the last is left out."""
        begins = ids[0] == self.backbone.tokenizer.bos_token_id
        if begins:  # the start token is left out, and the value of the first token after it
            return {"tokens": tokens[1:], "token_logprobs": [None, *values[1:], -1.0]}
        return {"tokens": tokens[:-1], "token_logprobs": [None, *values[1:], -1.0]}

    def complete(self, payload):
        tokenizer = self.backbone.tokenizer
        ids = tokenizer(payload["prompt"], add_special_tokens=False)["input_ids"]
        ids = [tokenizer.bos_token_id, *ids] if self.start else ids
        tokens = [tokenizer.decode([one]) for one in ids]
        with self.backbone.measuring():
            places = range(len(ids) - 1)
            targets = Targets([0] * len(places), list(places), ids[1:])
            values = target_log_probabilities(self.backbone, [ids], targets).tolist() if len(ids) > 1 else []
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        choice = {"index": 0, "text": " x", "finish_reason": "length"}
        if self.dialect == "vllm" and "prompt_logprobs" in payload:
            known = zip(ids[1:], values, tokens[1:], strict=True)
            choice["prompt_logprobs"] = [
                None,
                *({str(one): {"logprob": value, "rank": 3, "decoded_token": token}} for one, value, token in known),
            ]
        if self.dialect == "echo" and payload.get("echo"):
            choice["logprobs"] = {"tokens": [*tokens, " x"], "token_logprobs": [None, *values, -1.0]}
        if self.dialect == "llama.cpp" and payload.get("echo"):
            choice["logprobs"] = self.shifted(ids, [*tokens, " x"], values)
        return reply(model=self.name, choices=[choice], usage=usage)
