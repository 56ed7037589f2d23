from fairlab.text.sentences import sentence_spans


def test_sentences_by_hand():
    text = 'Dr. Lee left. "Why?" Nobody knew!  It was 3.5 miles. and on'
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "Dr. Lee left.",
        '"Why?"',
        "Nobody knew!",
        "It was 3.5 miles. and on",
    ]
    assert sentence_spans("") == [(0, 0)]
