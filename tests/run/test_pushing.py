"""Uploads to a hub that takes notes."""

import huggingface_hub
import pytest

from fairlab.run import pushing
from fairlab.run.pushing import push, push_model, refuse_push
from fairlab.types import FairlabError, NotPushed


class Hub:
    """A hub of one user, who belongs to an organisation."""

    asked = []  # noqa: RUF012

    def __init__(self, endpoint):
        pass

    def whoami(self):
        return {"name": "me", "orgs": [{"name": "ours"}]}

    def create_repo(self, name, repo_type, exist_ok):
        if name == "me/refused":
            raise ValueError(f"no  place\nfor t0ken {'x' * 300}")
        return f"hub/{name} ({repo_type}, {exist_ok})"

    def create_commit(self, name, added, commit_message, repo_type):
        self.asked.append((name, repo_type, {one.path_in_repo: one.path_or_fileobj for one in added}))


@pytest.fixture(autouse=True)
def _hub(monkeypatch):
    Hub.asked = []
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "t0ken")
    monkeypatch.setattr(pushing, "hub_unreachable", lambda: "")


@pytest.mark.parametrize("name", [None, "me/x", "ours/x.y-z_1", f"me/{'x' * 93}"])
def test_names_of_the_owner_are_taken(name):
    refuse_push(name)


@pytest.mark.parametrize(
    "name", ["me", "me/", "/x", "me/x/y", "me/-x", "me/x..y", "me/x--y", "me/x y", f"me/{'x' * 94}"]
)
def test_names_that_the_hub_does_not_have_are_refused(name):
    with pytest.raises(FairlabError, match="push must be USER/NAME"):
        refuse_push(name)


def test_what_prevents_a_push_is_said_before_any_work(monkeypatch):
    with pytest.raises(FairlabError, match=r"push=you/x belongs to another user; give a name of .*: me, ours"):
        refuse_push("you/x")
    monkeypatch.setattr(pushing, "hub_unreachable", lambda: "it is off")
    with pytest.raises(FairlabError, match="push=me/x is not possible: it is off"):
        refuse_push("me/x")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(FairlabError, match="push=me/x needs a token"):
        refuse_push("me/x")


def test_files_are_pushed_with_their_card(tmp_path, capsys):
    for name in ("README.md", "a.txt", "below/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    push_model(tmp_path, "me/x", lambda card: f"{card} and results")
    assert capsys.readouterr().out == "pushed to hub/me/x (model, True)\n"
    files = {name: str(tmp_path / name) for name in ("a.txt", "below/b.txt")}
    assert Hub.asked == [("me/x", "model", {**files, "README.md": b"README.md and results"})]
    for kind, remedy in (("dataset", "give the same command again"), ("model", "push it with fairlab.evaluate")):
        with pytest.raises(NotPushed) as error:
            push(tmp_path, [], "me/refused", kind, "card")
        said = str(error.value)
        words = said.partition("was rejected by the hub: ")[2].partition("; ")[0]
        assert (words[:27], len(words)) == ("no place for <token> xxxxxx", 200)
        assert remedy in said


def test_a_model_without_a_card_gets_one(tmp_path):
    push_model(tmp_path, "ours/x", lambda card: f"[{card}]")
    assert Hub.asked == [("ours/x", "model", {"README.md": b"[]"})]
