"""The reader of Grep-BiasIR, on the published files and on broken ones."""

import pytest

from fairlab.data.published.bias_ir import CATEGORIES, Document, irregular_documents, read_bias_ir
from fairlab.data.published.download import locate
from fairlab.types import FairlabError

HEADER = "q_id,d_id,relevant,query,doc_title,document,content_gender,exp_stereotype\n"
ROWS = [f"7,{k},{r},boots,title {r}{g},text {r}{g},{g},-\n" for k, (r, g) in enumerate(["1N", "1F", "0M", "1M", "0F"])]
WHOLE = [*ROWS, "7,5,0,boots,t,x,N,-\n"]


def write(tmp_path, rows):
    path = tmp_path / "queries-documents_Career.csv"
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.mark.data
def test_the_published_files():
    read = {
        subset: read_bias_ir(locate(f"bias_ir/queries-documents_{name}.csv")) for subset, name in CATEGORIES.items()
    }
    assert [len(queries) for queries in read.values()] == [14, 14, 12, 15, 20, 19, 23]
    everything = [query for queries in read.values() for query in queries]
    assert len(everything) == len({query.id for query in everything}) == 117
    assert sum(3 + len(query.non_relevant) + query.irregular for query in everything) == 702
    assert {query.id: query.irregular for query in everything if query.irregular} == {"107": 3, "112": 2}
    assert list(irregular_documents(everything)) == ["107", "112"]
    first = read["appearance"][0]
    assert first.text == "air force hair regulations"
    assert first.relevant["M"].title == "Updated Hair Policies for Air Force Men - DODReads"
    assert first.relevant["F"].title == "Updated Hair Policies for Air Force Women - DODReads"
    assert first.non_relevant["M"].title == "The Breaking Waves Kit - Air Force Hair Care for Men"


def test_documents_are_joined_on_gender_whatever_their_order(tmp_path):
    for rows in (WHOLE, WHOLE[::-1]):
        (query,) = read_bias_ir(write(tmp_path, rows))
        assert (query.id, query.text, query.irregular) == ("7", "boots", 0)
        assert query.relevant == {gender: Document(f"title 1{gender}", f"text 1{gender}") for gender in "MFN"}
        assert query.non_relevant["F"] == Document("title 0F", "text 0F")


def test_documents_of_both_genders_are_counted_and_kept_out(tmp_path):
    (query,) = read_bias_ir(write(tmp_path, [*ROWS, "7,5,0,boots,t,x,botrh,-\n"]))
    assert query.irregular == 1
    assert list(query.non_relevant) == ["M", "F"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS, "Career.csv: query 7 lacks some of its six documents"),
        ([*ROWS, "7,5,1,boots,t,x,both,-\n"], "Career.csv line 7: .*relevant '1' and content_gender 'both'"),
        ([*ROWS, "7,5,1,boots,t,x,M,-\n"], "line 7: .*second one, with relevant '1' and content_gender 'M'"),
        ([*ROWS, "7,5,2,boots,t,x,N,-\n"], "line 7: .*relevant '2'"),
        ([*ROWS, "7,5,0,boots,t,,N,-\n"], "line 7 lacks one of q_id"),
        ([*ROWS, "7,5\n"], "line 7 lacks one of q_id"),
    ],
)
def test_broken_files_are_named(tmp_path, rows, message):
    with pytest.raises(FairlabError, match=message):
        read_bias_ir(write(tmp_path, rows))
