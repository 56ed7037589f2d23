"""Six dialects of the chat completions API: each stub answers in the form that its source publishes.

| dialect | source |
|---|---|
| OpenAI with reasoning | https://platform.openai.com/docs/guides/reasoning and /docs/api-reference/chat/object |
| Gemini | https://ai.google.dev/gemini-api/docs/openai |
| Anthropic | https://platform.claude.com/docs/en/api/openai-sdk, its table of fields |
| vLLM | https://docs.vllm.ai/en/stable/features/reasoning_outputs/ and entrypoints/openai/chat_completion/protocol |
| llama.cpp | tools/server/README.md and tools/server/tests/unit/test_chat_completion.py of ggml-org/llama.cpp |
| Ollama | docs/openai.md and openai/openai.go of ollama/ollama |
"""

import json

import pytest

from fairlab.llm.exchange import ExchangeOutcome
from fairlab.types import FairlabError
from tests.llm.conftest import GOOD, SCHEMA, behind, request
from tests.llm.stub import Act, Stub

pytestmark = pytest.mark.usefixtures("_short_waits")
ANSWER = {"word": "ok", "sure": 0.5}
KNOWN = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "response_format"}


def completion(message, usage, finish="stop", **more):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **more}
    content = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764200000,
        "model": "m",
        "choices": [choice],
    }
    return Act(body=json.dumps(content | {"usage": usage}).encode())


def fault(status, message, **more):
    error = {"message": message, "type": "invalid_request_error", **more}
    return Act(status, json.dumps({"error": error}).encode())


def per_token(text):
    """Log-probabilities as in the reference of the chat completion object: halves and quarters by turns."""
    tokens = [text[k : k + 4] for k in range(0, len(text), 4)]
    return {
        "content": [{"token": one, "logprob": -0.25, "bytes": list(one.encode()), "top_logprobs": []} for one in tokens]
    }


def openai_reasoning(payload, nth):
    """A reasoning model takes no temperature and no log-probabilities; its hidden tokens are counted as completion."""
    if "max_tokens" in payload:
        told = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return fault(400, told, param="max_tokens", code="unsupported_parameter")
    for name in ("temperature", "top_p", "top_logprobs", "logprobs"):
        if name in payload:
            told = f"Unsupported parameter: '{name}' is not supported with this model."
            return fault(400, told, param=name, code="unsupported_parameter")
    details = {"reasoning_tokens": 64, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    usage = {"prompt_tokens": 30, "completion_tokens": 74, "total_tokens": 104, "completion_tokens_details": details}
    usage["prompt_tokens_details"] = {"cached_tokens": 16, "audio_tokens": 0}
    if payload["max_completion_tokens"] < 74:
        return completion({"content": "", "refusal": None, "annotations": []}, usage, finish="length", logprobs=None)
    return completion({"content": GOOD, "refusal": None, "annotations": []}, usage, logprobs=None)


def gemini(payload, nth):
    """Errors come as a list, and a field that the API does not know is one; a filtered answer has no text."""
    for name in ("seed", "top_logprobs", "logprobs"):
        if name in payload:
            told = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            body = [{"error": {"code": 400, "message": told, "status": "INVALID_ARGUMENT"}}]
            return Act(400, json.dumps(body).encode())
    usage = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 150}  # thinking is in the total alone
    if "forbidden" in payload["messages"][-1]["content"]:
        return completion({}, usage, finish="content_filter")
    return completion({"content": f"```json\n{GOOD}\n```"}, usage)


def anthropic(payload, nth):
    """Fields that are not supported are ignored, the form of the reply among them; temperatures lie in 0..1."""
    assert payload.get("n", 1) == 1
    assert 0 <= payload["temperature"] <= 1
    first = len(payload["messages"]) == 1
    text = f"Here is the JSON object:\n\n{GOOD}" if first else GOOD
    usage = {"prompt_tokens": 21, "completion_tokens": 17, "total_tokens": 38}
    return completion({"content": text}, usage)


def vllm(payload, nth):
    """Reasoning stands in ``reasoning``, once ``reasoning_content``; log-probabilities are given where asked for."""
    field = "reasoning" if nth % 2 else "reasoning_content"
    usage = {"prompt_tokens": 15, "completion_tokens": 40, "total_tokens": 55, "prompt_tokens_details": None}
    given = per_token(GOOD) if payload.get("logprobs") else None
    message = {"content": GOOD, field: "The user wants ...", "refusal": None, "tool_calls": []}
    return completion(message, usage, logprobs=given, stop_reason=None)


def llama_cpp(payload, nth):
    """The schema stands in ``json_object`` or ``json_schema``; a form that the grammar does not know is a 400."""
    form = payload.get("response_format", {"type": "text"})
    if form["type"] == "json_schema" and "additionalProperties" in str(form):
        return fault(400, "JSON schema conversion failed", code=400)
    usage = {"prompt_tokens": 15, "completion_tokens": 40, "total_tokens": 55}
    usage["prompt_tokens_details"] = {"cached_tokens": 12}
    given = per_token(GOOD) if payload.get("logprobs") else None
    return completion({"content": GOOD, "reasoning_content": "Hm."}, usage, logprobs=given)


def ollama(payload, nth):
    """Fields that it does not know, as log-probabilities once were, are ignored; reasoning stands in ``reasoning``."""
    if payload["model"] != "m":
        return Act(404, json.dumps({"error": {"message": "model 'x' not found", "type": "not_found_error"}}).encode())
    usage = {"prompt_tokens": 26, "completion_tokens": 30, "total_tokens": 56}
    return completion({"content": GOOD, "reasoning": "The user wants ..."}, usage)


DIALECTS = (openai_reasoning, gemini, anthropic, vllm, llama_cpp, ollama)


def ask(act, path, *asked, **settings):
    with Stub(act) as stub:
        replies = behind(stub, path, concurrency=1, **settings).ask(list(asked), stage="test")
    return replies, stub.payloads


@pytest.mark.parametrize("act", DIALECTS, ids=lambda one: one.__name__)
def test_every_dialect_gives_the_answer_and_its_count_of_tokens(act, ledger_path):
    asked = request(schema=SCHEMA, seed=1, log_probabilities=True)
    (reply,), payloads = ask(act, ledger_path, asked)
    assert (reply.outcome, reply.value) == (ExchangeOutcome.OK, ANSWER)
    usage = json.loads(act(payloads[-1], 0).body)["usage"]
    assert reply.prompt_tokens == usage["prompt_tokens"]
    assert reply.completion_tokens == usage["completion_tokens"]
    assert set(payloads[-1]) <= KNOWN | {"logprobs", "top_logprobs"}


@pytest.mark.parametrize("act", DIALECTS, ids=lambda one: one.__name__)
def test_log_probabilities_are_taken_where_they_are_given(act, ledger_path):
    first, second = (request(text, schema=SCHEMA, log_probabilities=True) for text in ("a", "b"))
    replies, payloads = ask(act, ledger_path, first, second)
    expected = -0.25 if act in (vllm, llama_cpp) else None  # one token reaches into "ok"
    assert [reply.log_probability for reply in replies] == [expected, expected]
    refuses = act in (openai_reasoning, gemini)
    assert ("logprobs" in payloads[-1]) != refuses  # refused once, and left out from then on


def test_hidden_reasoning_needs_room(ledger_path):
    (reply,), payloads = ask(openai_reasoning, ledger_path, request(schema=SCHEMA, max_tokens=40))
    assert reply.ok
    assert [payload.get("max_completion_tokens") for payload in payloads[-2:]] == [40, 80]


def test_a_filtered_answer_is_a_refusal(ledger_path):
    (reply,), payloads = ask(gemini, ledger_path, request("forbidden", schema=SCHEMA))
    assert (reply.outcome, reply.kept, len(payloads)) == (ExchangeOutcome.REFUSED, True, 1)


def test_a_schema_that_is_ignored_is_checked_all_the_same(ledger_path):
    def chatty(payload, nth):
        asked_again = len(payload["messages"]) > 1
        return anthropic(payload, nth) if asked_again else completion({"content": "Gladly!"}, {})

    (reply,), payloads = ask(chatty, ledger_path, request(schema=SCHEMA))
    assert (reply.value, reply.attempts) == (ANSWER, 2)
    assert "That is not the JSON asked for" in payloads[1]["messages"][-1]["content"]


def test_llama_cpp_takes_the_schema_in_its_own_form(ledger_path):
    _, payloads = ask(llama_cpp, ledger_path, request(schema=SCHEMA))
    assert [payload["response_format"]["type"] for payload in payloads] == ["json_schema", "json_object"]
    assert payloads[1]["response_format"]["schema"] == SCHEMA


def test_a_model_that_ollama_does_not_have_is_one_sentence(ledger_path):
    with Stub(ollama) as stub:
        llm = behind(stub, ledger_path)
        llm.model.name = "x"
        with pytest.raises(FairlabError, match=r"returned 404 for the model x: model 'x' not found; check llm\.model"):
            llm.ask([request()], stage="test")


def test_llama_cpp_python_without_all_logits_is_asked_without_log_probabilities(ledger_path, caplog):
    told = "logprobs is not supported for models created with logits_all=False"

    def act(payload, nth):
        return fault(500, told, code=None) if "logprobs" in payload else completion({"content": GOOD}, {})

    replies, payloads = ask(act, ledger_path, *(request(text, log_probabilities=True) for text in "ab"))
    assert [reply.text for reply in replies] == [GOOD] * 2
    assert [("logprobs" in payload) for payload in payloads] == [True, False, False]
    assert "m refuses the parameter logprobs, so it is left out" in caplog.text
