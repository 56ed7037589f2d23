"""Grep-BiasIR: gender-neutral search queries, each with documents that differ only in the gender they are about.

Source: Krieg et al. 2023, "Grep-BiasIR: A Dataset for Investigating Gender Representation-Bias in Information Retrieval
Results"; 117 queries in seven categories, 702 documents. The dataset is never used for training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.text.reading import read_table_rows
from fairlab.types import FairlabError

COLUMNS = ("q_id", "relevant", "query", "doc_title", "document", "content_gender")
GENDERS = ("M", "F", "N")  # male, female, neutral
# subset -> category as in the file's name, in the order of the CCD paper's tables
CATEGORIES = {
    "appearance": "Appearance",
    "child_care": "Child Care",
    "cognitive_capabilities": "Cognitive Capabilities",
    "domestic_work": "Domestic Work",
    "career": "Career",
    "physical_capabilities": "Physical Capabilities",
    "sex_relationship": "Sex & Relationship",
}


@dataclass(frozen=True)
class Document:
    """Document in the search results."""

    title: str
    text: str


@dataclass(frozen=True)
class Query:
    """Query with its documents by gender.

    Attributes:
        id: Id of the query, unique over all categories.
        text: Wording of the query, which does not mention gender.
        relevant: Relevant document for each of the three genders.
        non_relevant: Non-relevant document for each gender; some genders may be missing.
        irregular: Number of non-relevant documents left out because they have no single gender ("both", "botrh").
    """

    id: str
    text: str
    relevant: dict[str, Document]
    non_relevant: dict[str, Document]
    irregular: int


def read_bias_ir(path: Path) -> list[Query]:
    """Read queries in file order from a file ``queries-documents_<category>.csv``.

    The documents of a query are distinguished by the column ``content_gender``.

    Raises:
        FairlabError: A row lacks a field, repeats a document, has an unknown relevance, or is a relevant document of an
            unknown gender; or a query does not have all six documents. The message names the line or the query.
    """
    texts: dict[str, str] = {}
    documents: dict[str, dict[tuple[str, str], Document]] = {}
    irregular: Counter[str] = Counter()
    for number, row in read_table_rows(path):
        if not all(row.get(column) for column in COLUMNS):
            raise FairlabError(f"{path} line {number} lacks one of {', '.join(COLUMNS)}; is it Grep-BiasIR?")
        query, kind, gender = row["q_id"], row["relevant"], row["content_gender"]
        texts[query] = row["query"]
        of_query = documents.setdefault(query, {})
        if kind == "0" and gender not in GENDERS:
            irregular[query] += 1
        elif kind in ("0", "1") and gender in GENDERS and (kind, gender) not in of_query:
            of_query[kind, gender] = Document(row["doc_title"], row["document"])
        else:
            raise FairlabError(
                f"{path} line {number}: query {query} must not have a document, or a second one, "
                f"with relevant '{kind}' and content_gender '{gender}'; use the file as published"
            )
    queries = []
    for query, found in documents.items():
        relevant, non_relevant = ({g: found[r, g] for g in GENDERS if (r, g) in found} for r in ("1", "0"))
        if len(relevant) != 3 or len(non_relevant) + irregular[query] != 3:
            raise FairlabError(f"{path}: query {query} lacks some of its six documents; use the file as published")
        queries.append(Query(query, texts[query], relevant, non_relevant, irregular[query]))
    return queries


def irregular_documents(queries: Sequence[Query]) -> dict[str, str]:
    """Return a note on each query with non-relevant documents that have no single gender, by the query's id."""
    return {
        query.id: f"{query.irregular} of its non-relevant documents have no single gender and are not used"
        for query in queries
        if query.irregular
    }
