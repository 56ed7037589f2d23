from fairlab.text.naming import listed_names


def test_names_of_any_file_are_one_short_line():
    assert listed_names(["text", 5]) == "text, 5"
    assert (listed_names([]), listed_names([], "no other")) == ("none", "no other")
    assert listed_names(["a\nb\r\u2028c"]) == "a b  c"
    assert listed_names(["x" * 1000]) == "x" * 80
    assert listed_names(iter("ab" * 150_000)).endswith("a, b and 299,960 more")
    assert len(listed_names(str(k) for k in range(300_000))) < 300
