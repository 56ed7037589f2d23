"""Choice of how words are linked to people: by the project's rules, or by the trained model of fastcoref."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from fairlab.rewriting.english.coreference import Coreference
from fairlab.rewriting.english.links import Linker, Links, owner_of
from fairlab.rewriting.english.referring import Person
from fairlab.types import FairlabError, need_extra

RULES, FASTCOREF = "rules", "fastcoref"
RECENT = 64  # number of texts whose clusters are cached, because a text is linked once per axis

Clusters = Sequence[Sequence[tuple[int, int]]]  # character spans of the mentions of each person


@cache
def load_linker(name: str, mode: str = "syntax") -> Linker:
    """Return the function that links the words of a text.

    Args:
        name: ``rules``, ``fastcoref``, or ``fastcoref:MODEL`` with the name or folder of a model.
        mode: Mode of the rules that use the links; see :class:`fairlab.rewriting.english.rules.RuleRewriter`.

    Raises:
        FairlabError: The name is unknown, the mode makes no links, or fastcoref is not installed.
    """
    if name == RULES:
        return Coreference
    kind, _, model = name.partition(":")
    if kind != FASTCOREF:
        raise FairlabError(f"linker must be {RULES}, {FASTCOREF} or {FASTCOREF}:MODEL, not {name}")
    if mode == "lexical":
        raise FairlabError(f"linker={name} has no effect without a parse; use mode=syntax, or person=one for a corpus")
    need_extra("fastcoref", f"linker={name}", "fastcoref", "spacy")
    return FastCoref(_load_model(model))


def _load_model(name: str) -> Any:
    """Load a model of fastcoref by name or folder; an empty name loads fastcoref's default model."""
    import datasets
    import spacy
    from fastcoref import FCoref
    from fastcoref.coref_models.modeling_fcoref import FCorefModel

    FCorefModel.all_tied_weights_keys = {}  # read by transformers 5, but fastcoref 2.1.6 was written for version 4
    logging.getLogger("fastcoref").setLevel(logging.WARNING)  # it reports every call, and datasets shows a bar
    datasets.disable_progress_bars()
    # A blank pipeline only tokenizes. By default, fastcoref would download a pipeline that is not installed.
    named = {"model_name_or_path": name} if name else {}
    return FCoref(nlp=spacy.blank("en"), enable_progress_bar=False, **named)


class FastCoref:
    """Linker that uses a coreference model of fastcoref.

    Source: Otmazgin et al. 2022, "F-coref: Fast, Accurate and Easy to Use Coreference Resolution".
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.clusters = lru_cache(maxsize=RECENT)(self._find_clusters)

    def __call__(
        self, tokens: Iterable[Any], marked: Iterable[tuple[int, int, str]], *, adjectives: Container[int] = ()
    ) -> Links:
        """Return the links of a text; the model needs no marked adjectives."""
        del adjectives
        tokens = list(tokens)
        return ClusterLinks(tokens, marked, self.clusters(tokens[0].doc.text) if tokens else ())

    def _find_clusters(self, text: str) -> Clusters:
        (found,) = self.model.predict(texts=[text])
        # The model gives None for a span that does not match the characters of the text.
        return [[span for span in cluster if span is not None] for cluster in found.get_clusters(as_strings=False)]


class ClusterLinks(Links):
    """Links according to clusters of spans, each of which mentions a person.

    A span refers to its cluster through its head: the *wife* of *his younger wife*. A span with a coordinated head is a
    group of people (*Mary and Ann*), and links none of them. A marked word that is not the head of a span belongs to
    the word that it modifies or is in apposition to: *Mary* in *Mary Smith*, *old* in *the old man*.

    ``clusters`` holds character spans; other arguments are as for :class:`Links`.
    """

    def __init__(self, tokens: Iterable[Any], marked: Iterable[tuple[int, int, str]], clusters: Clusters) -> None:
        super().__init__(tokens, marked)
        people = ((Person(), cluster) for cluster in clusters)
        spans = [(start, end, person) for person, cluster in people for start, end in cluster]
        for start, end, person in sorted(spans, key=lambda span: span[0] - span[1]):  # the shortest span decides
            head = self._head(start, end)
            if head is not None:
                self.person_at[head.i] = person
        for start in self.attributes:
            token = self.token_around(start)
            if token is not None:
                top = self._linked_owner(token)
                self.person_at[token.i] = self.person_at.setdefault(top.i, Person())

    def _head(self, start: int, end: int) -> Any:
        """Return the head of a span, or None if the span is empty or mentions several people."""
        inside = [token for token in self.tokens if start <= token.idx < end]
        head = next((token for token in inside if token.head == token or token.head not in inside), None)
        several = head is not None and any(child.dep_ == "conj" and child in inside for child in head.children)
        return None if several else head

    def _linked_owner(self, token: Any) -> Any:
        """Return the nearest word that is linked to a person among the words that a token belongs to, or the last."""
        while token.i not in self.person_at:
            owner = token.head if token.dep_ == "appos" else owner_of(token)
            if owner is None or owner == token:
                break
            token = owner
        return token
