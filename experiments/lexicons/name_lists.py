"""Lists of first names from packages, for names that have few bearers in the census.

:mod:`experiments.lexicons.build` adds these names. The packages must be installed: Faker 40.63 (MIT), indian-names 0.3
(BSD-3-Clause), persian-names 1.5.1 (MIT), and arabic-name-romanizer 0.2.0 (MIT). The last one has Latin spellings of
Arabic and Persian names from Wikidata (CC0-1.0) and the Algerian Name Transcription Corpus (CC0-1.0). The gender of
these names comes from Faker.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from importlib.resources import files

from fairlab.rewriting.english.agreement import is_known
from fairlab.text.folding import fold

GENDERS = {"male": "man", "female": "woman"}
SHORTEST = 3  # minimum number of letters in a name
RARE = 2  # minimum number of people with a Latin spelling
ONE_SEX = 0.9  # minimum proportion of men or women among the bearers of a man's or woman's spelling
BOTH = frozenset("alix jacky nour remy rowan shea yuri".split())  # names of men and women that are listed for one sex
NO_NAMES = frozenset(["sep"])  # names with another meaning in data: <SEP> joins the fields of a row

# Faker locales from which all names are used, by race.
FIRST = {
    "hispanic": ("es_MX", "es_CO", "es_ES", "es_AR"),
    "": ("fr_FR", "fr_QC", "fr_BE", "fr_DZ", "ga_IE", "en_IE"),
    "asian": ("vi_VN",),
}
# Locales whose names with a non-English letter (Jürgen, Łukasz) come first; their other names come last.
EUROPEAN = "cs_CZ da_DK de_DE et_EE fi_FI hr_HR hu_HU lv_LV no_NO pl_PL pt_BR pt_PT ro_RO sk_SK sv_SE".split()
LAST = {
    "asian": ("en_IN", "id_ID"),
    "black": ("ha_NG", "ig_NG", "yo_NG", "zu_ZA", "tw_GH"),
    "": ("tr_TR", "az_AZ", "uz_UZ", *EUROPEAN, "de_AT", "de_CH", "nl_BE", "nl_NL", "it_IT", "sl_SI", "en"),
}
OF_ARABIC = ("ar_AA", "ar_DZ", "fa_IR")
SURNAMES = "en en_US en_GB en_IE de_DE fr_FR it_IT nl_NL es_ES en_IN id_ID".split()
# Pattern of English men's names, most of which are also surnames: Jefferson, Stanley, Maxwell.
LIKE_SURNAMES = re.compile(
    r".+(?:son|ton|man|ley|well|ford|field|wood|land|worth|burn|ett|ard|ings?|er|rs|ns|ck|by|more|aw|all|ell|bell|us|ss)"
)

Listed = tuple[str, str, str, str]  # name, gender, race, source


def of_faker(locale: str, race: str) -> Iterator[Listed]:
    """Yield the names of a Faker locale, in its order."""
    people = importlib.import_module(f"faker.providers.person.{locale}").Provider
    for sex, gender in GENDERS.items():
        for name in getattr(people, f"first_names_{sex}"):
            yield name, gender, race, f"Faker 40.63 {locale}"


def of_files(package: str, pattern: str, race: str, source: str) -> Iterator[Listed]:
    """Yield the names in a package's two files, which have one name per line.

    ``pattern`` is the path of the files, with ``{}`` for the sex.
    """
    for sex, gender in GENDERS.items():
        lines = files(package).joinpath(pattern.format(sex)).read_text(encoding="utf-8").splitlines()
        for name in filter(None, map(str.strip, lines)):
            if not name.isdigit():
                yield name.capitalize(), gender, race, source


def romanised() -> Iterator[Listed]:
    """Yield the Latin spellings of Faker's Arabic and Persian names, most frequent first."""
    from arabic_name_romanizer.normalize import full_key  # type: ignore[import-not-found]

    database = files("arabic_name_romanizer").joinpath("resources/names.sqlite3")
    spellings: dict[str, Counter[str]] = {}
    with sqlite3.connect(str(database)) as connection:
        rows = connection.execute("SELECT arabic_key, latin, count FROM units WHERE role != 'surname'")
        for key, latin, count in rows:
            spellings.setdefault(key, Counter())[latin] += count
    bearers: dict[str, Counter[str]] = {}
    written: dict[str, Counter[str]] = {}
    for key, gender in {(full_key(name), gender) for one in OF_ARABIC for name, gender, *_ in of_faker(one, "")}:
        for latin, count in spellings.get(key, {}).items():
            bearers.setdefault(fold(latin), Counter())[gender] += count
            written.setdefault(fold(latin), Counter())[latin] += count
    for name, counts in sorted(bearers.items(), key=lambda item: (-item[1].total(), item[0])):
        if counts.total() >= RARE:
            gender, most = max(counts.items(), key=lambda item: (item[1], item[0]))
            form = min(written[name], key=lambda latin: (-written[name][latin], latin))
            yield form, gender if most >= ONE_SEX * counts.total() else "both", "", "Wikidata"


def first_lists() -> Iterator[Listed]:
    """Yield the names that count even if they are English words.

    These are Romance, Irish and Vietnamese names, and European names with non-English letters.
    """
    for race, locales in FIRST.items():
        for locale in locales:
            yield from of_faker(locale, race)
    for locale in EUROPEAN:
        for name, *rest in of_faker(locale, ""):
            if not name.isascii() and len(name) > SHORTEST:
                yield name, *rest  # type: ignore[misc]


def last_lists() -> Iterator[Listed]:
    """Yield the names that count only if they are not English words."""
    yield from of_files("indian_names", "first.{}.names", "asian", "indian-names 0.3")
    yield from of_files("persian_names", "data/{}_en.txt", "", "persian-names 1.5.1")
    yield from romanised()
    for race, locales in LAST.items():
        for locale in locales:
            yield from of_faker(locale, race)


def merged(lists: Iterator[Listed], known: Collection[str]) -> dict[str, Listed]:
    """Return the listed names that are not known yet, by folded form. Only single words and hyphenated names count."""
    found: dict[str, Listed] = {}
    for name, gender, race, source in lists:
        one = found.setdefault(fold(name), (name, gender, race, source))
        if one[1] != gender:
            found[fold(name)] = (one[0], "both", one[2], one[3])
    return {
        folded: (one[0], "both" if folded in BOTH else one[1], one[2], one[3])
        for folded, one in found.items()
        if folded not in known
        and folded not in NO_NAMES
        and len(one[0]) >= SHORTEST
        and one[0][:1].isupper()
        and re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)*", one[0])
    }


def is_word(folded: str) -> bool:
    """Return whether a folded name is also an English word."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return is_known(folded) or folded in STOP_WORDS


def surnames() -> set[str]:
    """Return the surnames that Faker lists, by folded form."""
    people = [importlib.import_module(f"faker.providers.person.{locale}").Provider for locale in SURNAMES]
    return {fold(name) for one in people for name in one.last_names}
