"""Cards of folders from outside: a licence is a name, whatever else a card holds."""

from itertools import pairwise

import pytest

from fairlab.backbones.hub import licence_in

ALIASES = "a: &a [x, x, x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmno"))


def licence_of(folder, metadata):
    (folder / "README.md").write_text(f"---\n{metadata}\n---\n\n# A model\n", encoding="utf-8")
    return licence_in(folder)


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("license: apache-2.0", "apache-2.0"),
        ("tags: [a]\nlicense: [mit, cc-by-4.0]\nself: 5\n5: 6", ["mit", "cc-by-4.0"]),
        ("tags: [a]", None),
        ("license: 2020-01-02", None),  # a day to YAML
        ("license: {mit: true}", None),
        ("license: &a [*a]", None),
        ("license: []", None),
        ('license: "\\e[2J"', None),
        ('license: "mit\\n| a row |"', None),
        ("license: !!python/object/apply:os.getcwd []", None),
        ("license: mit\nlicense: apache-2.0", None),
        ("a: b: [", None),
        (f"license: {'[' * 300}", None),
        (f"{ALIASES}\nlicense: mit", None),
        ("- mit", None),
    ],
)
def test_only_names_of_licences_are_taken(tmp_path, metadata, licence):
    assert licence_of(tmp_path, metadata) == licence


def test_folders_without_a_card_or_metadata(tmp_path):
    assert licence_in(tmp_path) is None
    for content in (b"# A model\n", b"", b"\xff\xfe", b"---\nlicense: mit\n"):
        (tmp_path / "README.md").write_bytes(content)
        assert licence_in(tmp_path) is None
    with (tmp_path / "README.md").open("wb") as card:
        card.truncate(1 << 40)  # a terabyte that takes no room on the disk
    assert licence_in(tmp_path) is None
