import pytest

from fairlab.rewriting.by_llm.kept_facts import lost_fact

FREE = {"she", "he", "her", "his", "mary", "john", "mr", "mrs", "muslim", "christian"}


@pytest.mark.parametrize(
    ("source", "version"),
    [
        ("She won 3 times.", "He won 3 times."),
        ("Yesterday Mary left Paris at 10:30.", "Yesterday John left Paris at 10:30."),
        ("I met Mrs. Smith\u2019s sister.", "I met Mr. Smith\u2019s brother."),
        ("She met a Congresswoman.", "He met a Congressman."),
        ("A Muslim, Mary, spoke.", "A Christian, Mary, spoke."),
        ("Nurses left. She stayed.", "Nurses left. He stayed."),
    ],
)
def test_what_is_kept(source, version):
    assert lost_fact(source, {"other": version}, FREE) == ""


@pytest.mark.parametrize(
    ("source", "version", "fault"),
    [
        ("She won 3 times.", "He won 7 times.", "the number '3' is not kept in 'other'"),
        ("She won 3 times.", "He won.", "the number '3' is not kept in 'other'"),
        ("She won.", "He won 3 times.", "'3' is new in 'other'"),
        ("She paid 1,000 and 5.", "He paid 1,000 and 5 and 5.", "'5' is new in 'other'"),
        ("Yesterday Mary left Paris.", "Yesterday John left Berlin.", "the name 'Paris' is not kept in 'other'"),
        ("I met Mrs. Smith and Jones.", "I met Mr. Smith and Brown.", "the name 'Jones' is not kept in 'other'"),
    ],
)
def test_what_is_lost(source, version, fault):
    assert lost_fact(source, {"same": source, "other": version}, FREE) == fault
