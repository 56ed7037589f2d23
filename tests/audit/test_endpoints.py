"""Audits of classifiers behind an HTTP endpoint: both interfaces, keys, and servers that fail."""

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import fairlab
from fairlab.audit.endpoints import load_endpoint
from fairlab.llm import pending
from fairlab.llm.changed import RESENT
from fairlab.types import FairlabError

THINGS = ("song", "poem", "letter", "report", "plan")
ROWS = [
    {"text": f"{who} sent a big {THINGS[k % 5]} on day {k}.", "label": k % 2, "hate": 1}
    for k in range(40)
    for who in ("He", "She")
]


@contextmanager
def server(answer):
    """Serve ``answer(body, headers)``: a value to send as JSON, or a status and a message. Yields the address."""

    class Replies(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = answer(self.path, body, self.headers)
            status, found = found if isinstance(found, tuple) else (200, found)
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if status == 302:
                self.send_header("Location", found)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Replies)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{served.server_port}"
    finally:
        served.shutdown()
        served.server_close()


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch, tmp_path):
    """Wait for no busy server, and write the default ledger to a folder of the test."""
    monkeypatch.setattr(pending, "FIRST_WAIT", 0.0)
    monkeypatch.chdir(tmp_path)


def audit(model, data=ROWS, **more):
    return fairlab.audit(model, data, **{"mode": "lexical", **more})


def moderated(texts):
    return {"results": [{"category_scores": {"hate": 0.9 * ("He" in text)}} for text in texts]}


def test_a_moderation_endpoint():
    busy = [503]  # the first request is refused for the time being

    def answer(path, body, headers):
        assert path == "/v1/moderations"
        if busy:
            return busy.pop(), {}
        texts = body["input"]
        return (500, {"error": "no"}) if any("fails" in text for text in texts) else moderated(texts)

    rows = [dict(row) for row in ROWS]
    with server(answer) as address:
        found = audit(address, label=["hate"], data=rows)
        rows[5]["text"] = "She fails."
        lost = audit(f"{address}/v1", label=["hate"], data=rows)
        for one in rows[:20]:
            one["text"] += " It fails."
        with pytest.raises(
            FairlabError, match=r"fails on more than . of .* 'He sent .* .500: no.; check the server, or remove"
        ):
            audit(address, label=["hate"], data=rows)
    assert found["audit/gender/flips"] > 50
    assert "500: no); 1 of 80 rows and 1 of 80 pairs are left out" in lost.sentence


def test_some_of_the_labels_of_a_moderation_endpoint_are_audited(tmp_path):
    def answer(path, body, headers):
        return {
            "results": [
                {"category_scores": {"violence": 0.7, "Hate": 0.9 * ("He" in text), "spam": 0.1 * ("He" in text)}}
                for text in body["input"]
            ]
        }

    rows = [row | {"spam": 0, "hate": k % 2} for k, row in enumerate(ROWS)]
    fit = [row | {"text": row["text"].replace("big", "small")} for row in rows]
    with server(answer) as address:
        found = audit(address, rows, label=["hate", "spam"])
        mended = audit(address, rows, label=["hate", "spam"], mend="threshold", fit=fit)
        mended.save(tmp_path / "mended")
        ruled = audit(f"{address}@{tmp_path / 'mended'}", rows, label=["spam", "hate"])
        with pytest.raises(FairlabError, match="does not match the model's labels"):
            audit(address, rows, label=["hate", "label"])
        with pytest.raises(FairlabError, match=r"give label=\[spam\] if it has 0 or 1 for this label"):
            audit(address, [row | {"spam": k % 2} for k, row in enumerate(rows)], label="spam")
    expected = audit(
        lambda texts: [[0.9 * ("He" in text), 0.1 * ("He" in text)] for text in texts], rows, label=["hate", "spam"]
    )
    assert found.record.readings == expected.record.readings
    assert ruled["audit/gender/flips"] == mended["mended/audit/gender/flips"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([0.1, 0.9], r"there must be a number per label, not \[0.1, 0.9\]"),
        ("hate", 'not "hate"'),
        ({}, "not {}"),
        ({"hate": "high"}, 'not {"hate": "high"}'),
        ({"other": 0.1}, "it returns no score for 'hate', unlike for the first text"),
    ],
)
def test_scores_in_another_form_are_refused(result, words):
    first = [{"hate": 0.5}]

    def answer(path, body, headers):
        return {"results": [{"category_scores": first.pop() if first else result} for _ in body["input"]]}

    with server(answer) as address, pytest.raises(FairlabError, match=words):
        audit(address, label=["hate"])


def classified(body, headers):
    """Answer as Text Embeddings Inference does to one text: labels in the order of their scores."""
    positive = 0.9 if "He" in body["inputs"].split() else 0.2
    scores = [{"label": "1", "score": positive}, {"label": "0", "score": 1 - positive}]
    return sorted(scores, key=lambda one: -one["score"])


@pytest.mark.parametrize("form", ["one list", "a list of a list"])
def test_a_text_classification_endpoint_is_the_function_that_it_runs(form):
    """Hugging Face's Inference Providers put the list of a text into a list of texts."""
    asked = []

    def answer(path, body, headers):
        asked.append((path, body["parameters"]))
        return classified(body, headers) if form == "one list" else [classified(body, headers)]

    with server(answer) as address:
        found = audit(f"{address}/predict", margin=5)
    expected = audit(lambda texts: [0.9 if "He" in text.split() else 0.2 for text in texts], margin=5)
    assert found.record.readings == expected.record.readings
    assert found["audit/gender/flips"] > 50
    assert set(map(str, asked)) == {str(("/predict", {"top_k": 1000}))}


def test_numbers_as_labels_are_in_the_order_of_their_size():
    def answer(path, body, headers):
        right = 10 if "He" in body["inputs"].split() else 2
        return [{"label": k, "score": 0.89 if k == right else 0.01} for k in (10, *range(10), 11)]

    rows = [row | {"label": (2, 10)[row["text"].startswith("He ")]} for row in ROWS]
    with server(answer) as address:
        found = audit(f"{address}/predict", rows)
        named = audit(
            f"{address}/predict",
            [row | {"label": f"n{row['label']}"} for row in rows],
            labels=[f"n{k}" for k in range(12)],
        )
    assert found["audit/all/model_accuracy"] == named["audit/all/model_accuracy"] == 100


def test_labels_in_another_order_than_the_scores_have_them_are_refused():
    with (
        server(lambda path, body, headers: classified(body, headers)) as address,
        pytest.raises(FairlabError, match="returns the labels 0, 1, in this order; omit labels="),
    ):
        audit(f"{address}/predict", labels=["1", "0"])


def test_a_local_address_needs_no_proxy(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with server(lambda path, body, headers: classified(body, headers)) as address:
        assert load_endpoint(f"{address}/predict").labels == ("0", "1")


def test_a_pair_of_texts_that_is_read_as_two_texts_is_refused():
    rows = [row | {"other": "It is so."} for row in ROWS]
    one = [{"label": "0", "score": 0.4}, {"label": "1", "score": 0.6}]
    with (
        server(lambda path, body, headers: [one] * (1 if isinstance(body["inputs"], str) else 2)) as address,
        pytest.raises(FairlabError, match="fails on more than"),
    ):
        audit(f"{address}/predict", rows, field=["text", "other"])


def test_a_key_is_sent_to_its_server_alone_and_never_shown(monkeypatch, tmp_path):
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("MINE_API_KEY", key)
    seen = set()

    def answer(path, body, headers):
        seen.add((path, headers.get("Authorization"), body.get("model")))
        return (401, {"error": f"wrong key {key}"}) if bad else moderated(body["input"])

    bad = []
    with server(answer) as address:
        model = f"{address}/v1/moderations#omni"
        audit(model, label=["hate"], api_key_env="MINE_API_KEY").save(tmp_path / "run")
        assert seen == {("/v1/moderations", f"Bearer {key}", "omni")}
        assert key not in (tmp_path / "run" / "record.json").read_text()
        bad.append(1)
        with pytest.raises(FairlabError, match=r"refuses the key in MINE_API_KEY \(401\): .*wrong key <MINE_API_KEY>"):
            audit(model, label=["hate"], api_key_env="MINE_API_KEY")
        with pytest.raises(FairlabError, match=r"requires a key \(401\); set api_key_env to its variable's name"):
            audit(model, label=["hate"])
        with pytest.raises(FairlabError, match="api_key_env is for models on one server"):
            audit({"a": address, "b": "http://127.0.0.1:9"}, label=["hate"], api_key_env="MINE_API_KEY")


def test_a_redirect_is_not_followed():
    reached = []
    with (
        server(lambda *_: reached.append(1)) as other,
        server(lambda *_: (302, f"{other}/v1/moderations")) as address,
        pytest.raises(FairlabError, match="302: the address redirects; give the server's final address"),
    ):
        audit(address)
    assert not reached


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("http://me:secret@127.0.0.1:9", "the address contains a key or password"),
        ("http://127.0.0.1:9/predict?key=secret", "the address contains a key or password"),
        ("http://127.0.0.1:9/predict#omni", "classifies with one model, so leave out #omni"),
        ("http://127.0.0.1:9/predict", r"cannot be reached \(.*\); start its server, or"),
        ("HTTP://127.0.0.1:9/predict", "predict cannot be reached"),
        ("http://[::1/predict", "is not an address"),
    ],
)
def test_addresses_that_cannot_be_used(given, said):
    with pytest.raises(FairlabError, match=said) as error:
        audit(given)
    assert "secret" not in str(error.value)


def test_an_address_of_another_kind_of_server_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet():
            while True:
                connection, _ = listening.accept()
                connection.recv(2**16)
                connection.sendall(b"220 mail is welcome\r\n")
                connection.close()

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(FairlabError, match=r"returns no scores .*; run this again when it answers"):
            audit(f"http://127.0.0.1:{listening.getsockname()[1]}")


def test_an_audit_that_was_interrupted_goes_on_with_the_ledger():
    sent, down, otherwise = [], [503] * 40, [0.2]

    def answer(path, body, headers):
        if len(sent) >= 100 and down:
            return down.pop(), None
        sent.append(body["inputs"])
        score = 0.9 if "He" in body["inputs"].split() else otherwise[0]
        return [{"label": "0", "score": 1 - score}, {"label": "1", "score": score}]

    llm = {"ledger": "mine.sqlite", "concurrency": 2, "retries": 1}
    with server(answer) as address:
        with pytest.raises(FairlabError, match=r"gave no answer .* 39 of \d+ calls were answered and are kept in mine"):
            audit(f"{address}/predict", llm=llm)
        down.clear()
        found = audit(f"{address}/predict", llm=llm)
        assert len(sent) == len(set(sent)) + RESENT  # all texts once, and some that show whether the model has changed
        otherwise[0] = 0.3
        with pytest.raises(FairlabError, match=r"answers differently from mine.sqlite, .*; give another llm.ledger"):
            audit(f"{address}/predict", llm=llm)
    assert found["audit/gender/flips"] > 50


def test_a_text_without_an_answer_is_sent_with_all_its_retries_once():
    sent, scores = [], [row["text"] for row in ROWS]

    def answer(path, body, headers):
        sent.append(body["inputs"])
        return (504, None) if body["inputs"] == scores[7] else classified(body, headers)

    with server(answer) as address:
        found = audit(f"{address}/predict", llm={"retries": 3})
    assert sent.count(scores[7]) == 4
    assert "504: null); 1 of 80 rows and 1 of 80 pairs are left out" in found.sentence


def test_a_model_that_is_still_loading_is_waited_for_and_compared(tmp_path):
    loading, swapped = [503] * 3, []

    def answer(path, body, headers):
        if loading:
            return loading.pop(), {"error": "Model is loading"}
        scores = classified(body, headers)
        return [one | {"score": 1 - one["score"]} for one in scores] if swapped else scores

    with server(answer) as address:
        audit(f"{address}/predict")
        loading[:], swapped[:] = [503] * 3, [1]
        with pytest.raises(FairlabError, match="answers differently from"):
            audit(f"{address}/predict")
        loading[:] = [503] * 20
        with pytest.raises(FairlabError, match=r"gave no answer .*Model is loading.*, so it is unknown whether it is"):
            audit(f"{address}/predict")
        with pytest.raises(
            FairlabError, match=r"returns no scores .*Model is loading.; run this again when it answers"
        ):
            audit(f"{address}/predict", llm={"ledger": "other.sqlite"})


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        ({"sped": 1}, "there is no setting 'sped'"),
        ({"budget": {"dollars": 1}}, "give llm.budget.calls instead"),
        ({"_target_": "fairlab.llm.loading.load_local", "name": "x"}, "is an endpoint; give llm=local with settings"),
        ({"extra": {"inputs": "constant"}}, "llm.extra cannot set 'inputs'"),
        ({"budget": {"calls": 0}}, "the budget llm.budget.calls=0 is spent"),
    ],
)
def test_settings_that_do_not_fit_an_endpoint(llm, said):
    with server(lambda path, body, headers: classified(body, headers)) as address:
        with pytest.raises(FairlabError, match=said):
            audit(f"{address}/predict", llm=llm)
        with pytest.raises(FairlabError, match="llm= is used only for an endpoint or with question="):
            audit(lambda texts: [0.5] * len(texts), llm=llm)
