"""Build the lexicon files that come from published lists: names.csv.xz and nationality.yaml in fairlab/lexicons.

Names: counts of the 1990 United States census (``names/dist.{male,female}.first.txt``, public domain) give the gender,
and Tzioumis 2018 (``names/firstnames.csv``, CC0-1.0) gives the race. Names with few bearers in these sources are listed
by hand below. Further names come from lists in packages (:mod:`experiments.lexicons.name_lists`); these names are
recognised in texts, but never replace another name.

Nationalities: the country and demonym list of UnQover (Li et al. 2020, Apache-2.0,
``word_lists/unqover_subjects/country``), with corrected misprints and with plurals formed by rule.

    FAIRLAB_DATA=... python experiments/lexicons/build.py
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from experiments.lexicons.name_lists import (
    LIKE_SURNAMES,
    first_lists,
    is_word,
    last_lists,
    merged,
    surnames,
)
from fairlab.files import compressed, write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.agreement import is_known
from fairlab.text.folding import fold

DATA = Path(os.environ.get("FAIRLAB_DATA", "."))
LEXICONS = Path(__file__).parents[2] / "fairlab" / "lexicons"

MOST_COMMON = 0.004  # minimum percentage of the census sample; rarer names are left out
ONE_SEX = 0.95  # minimum proportion of men or women among the bearers of a man's or woman's name
RACE = {"pctapi": ("asian", 75), "pctblack": ("black", 60), "pcthispanic": ("hispanic", 75), "pctwhite": ("white", 90)}
BEARERS = 30  # minimum number of bearers among the mortgage applicants of Tzioumis 2018
A_ROW = 12  # maximum number of names from packages in a row

# Listed by hand from general knowledge of naming in each group, because the census sample has too few bearers.
BY_HAND = {
    ("man", "asian"): "Wei Hiroshi Kenji Takeshi Minh Tuan Arjun Rahul Sanjay Vikram Ravi Jun Haruto Anil Rajesh Thanh",
    ("woman", "asian"): "Mei Hanako Keiko Yuki Linh Thuy Priya Anjali Sunita Lakshmi Yoko Sakura Xiu Ananya Deepa Ngoc",
    ("man", "black"): "Jamal Tyrone DeShawn Darnell Terrell Kwame Kofi Malik Tremaine Demetrius Lamar Jermaine Emeka",
    ("woman", "black"): "Keisha Latoya Shanice Ebony Tamika Latonya Lakisha Aaliyah Imani Nia Chioma Ama Tanisha",
    ("man", "hispanic"): "Juan Carlos Luis Miguel Diego Javier Mateo Jorge Alejandro Santiago Pedro Rafael Fernando",
    ("woman", "hispanic"): "Juana Lucia Jimena Mariana Isabel Guadalupe Rosario Esperanza Marisol Ximena Pilar Luz",
    ("man", "native-american"): "Dakotah Hototo Ahanu Chayton Takoda Elan Kangee Mato Nashoba Tahoma Yuma Wahkan",
    ("woman", "native-american"): "Winona Aiyana Kaya Nizhoni Aponi Halona Kateri Nokomis Wenona Chenoa Onida Tala",
    ("man", "pacific-islander"): "Keanu Kalani Kekoa Makoa Ikaika Sione Tavita Manu Keoni Nalu Kanoa Viliami",
    ("woman", "pacific-islander"): "Leilani Malia Noelani Kailani Mele Sina Moana Nalani Keala Lani Ana Makana",
    ("man", "white"): "Connor Brendan Tanner Geoffrey Jake Cody Garrett Hunter Bradley Todd Brett Neil Greg Matthew",
    ("woman", "white"): "Emily Anne Allison Claire Abigail Katelyn Molly Madeline Meredith Carly Jill Laurie Kristen",
}
# Names that are more often something else in running text: a place; a word that is hardly ever a first name, including
# surnames; a word or a brand; any other surname.
PLACES = """
    Adelaide Alberta Alexandria Arizona Asia Athens Augusta Aurora Austin Bethlehem Boston Brooklyn Camden Carmel
    Carolina Charlotte Chelsea Clayton Cleveland Columbus Cornell Dakota Dallas Darwin Denver Diego Elba Florence
    Florida Francisco Geneva Georgia Guadalupe Hamilton Houston India Ireland Israel Jackson Jamaica Jordan
    Kent Kimberley Leon Lincoln London Lourdes Lowell Madison Marion Mecca Memphis Milan Modesto Monroe Nevada
    Odessa Orlando Oscar Paris Phoenix Preston Raleigh Regina Richmond Rochester Roma Roosevelt Salem Salvador San
    Santa Santana Santiago Savannah Stanford Sydney Tahoma Tennessee Trinidad Troy Valencia Victoria Vienna Virginia
    Washington Wilmington Winona Yuma
    """.split()
RARELY = """
    Africa Alba Ama America An Anderson Asia Barrett Barton Be Benedict Brain Brooks Buford Carey Carson Chang Chi
    China Chiquita Chong Chung Clinton Coleman Collins Concepcion Cortez Coty Crawford Cruz Cyrus Davis Del Destiny Do
    Dong Doyle Dulce Early Easter Edwards Elan Eldridge Elmo Era Evans Ever Ferguson Fletcher Flor France Freeman
    Friday Garcia Garland Garrison Gaye German Gibson Ha Hai Haley Harris Hayes Henderson Hill Hilton Hong Hung Hyman
    In Ina India Isis Israel Jae Jefferson Jenkins Jesus Johnson Jones Jung Junior Kaye Kennedy Kenya Kia Lady Lan Le
    Leos Liga Line Long Lopez Love Lu Ma Mai Major Man Manu Manual Many Marine Martinez Mato Maxwell Mele Mi Miller
    Minh Mitchell Moore Morton Murphy My Napoleon Newton Nino Noble Norris Nova Novella Numbers Ok Palmer Panini Pok
    Ramirez Refugio Reyes Reynolds Rivera Roberts Robinson Rodriguez Rogers Royal Sanders Sang Santos See Sha Shan
    Shaw Sina Smith So Socorro Sol Son Song Soon Stanton Starr Stewart Su Sullivan Sun Sunday Sung Tai Telly Thanh
    Thompson Tiger Tu Un Una Valentine Venus Von Walker Walton Warner Watson Williams Willis Wilson Wright Yong Young
    """.split()
WORDS = """
    Amber Angel April Art August Autumn Beau Bill Birdie Bob Brandy Brook Brooke Buck Bud Buddy Buster Candy Carol
    Chance Charity Chase Chastity Cherry Christian Clay Cliff Colt Constance Coral Crystal Daisy Dale Dawn Dean Dee
    Dick Dolly Drew Duke Dusty Earl Earnest Ebony Esperanza Eve Faith Fern Flora Forest Frank Gay Gene Ginger Glen
    Glory Goldie Grace Grant Guy Hazel Heath Heather Hope House Hunter Iris Ivory Ivy Jack Jade Jasmine Jewel Jimmy
    Joy June King Kit Kitty Lance Laurel Leo Les Levi Lily Luz Mac Mark Mason Max May Melody Mercedes Mercy Merry
    Mike Miles Misty Myrtle Norm Olive Opal Pansy Pat Patience Pearl Peg Penny Pilar Piper Poppy Precious Price
    Prince Princess Prudence Queen Raven Ray Red Reed Rex Rich Rob Robin Rock Rocky Rod Roman Rosario Rose Ruby
    Rusty Sandy Season Shelby Sherry Sierra Sonny Star Sterling Stormy Sue Summer Sunny Tad Teddy Terra Tiffany Trey
    Trinity Van Vi Violet Wade Ward Will Willow Windy Woody
    """.split()
# Entries of the lists read last that are not names: places, brands, peoples and the like.
NO_NAMES = frozenset(
    """
    aba abb ala alabama alia amish apollo ara arabia arizona arlington armani asbury ashanti avon baptist bergen berlin
    bethel boston bristol brit bryn burnie cali cambria capitola ceylon cheyenne claus columbia creola cuba daan
    dace dijon
    doc doha dow emmy erie essex etna eros fatah fayette florentin french gee gregorian halle hamas hobart hoy imam
    indiana indy iran iraq ireland islam isis january janus jaya jerusalem jihad kenya kinte kush lafayette lahore
    lexus london lorraine louisiana madina maj mecca medina medora melbourne memphis missouri montana muslim nand nas
    nautica nazi neo nevada nile nim nira odessa ole oneida orion osaka palestine pandora philadelphia pius porsche
    raees raf rand rada remington reno rica riyadh rome roma roswell sabah seine seneca shasta shawnee shiloh siddhi
    skye somer stetson sylvania tab taurus tennessee texas theres til transit tri tutu ute vega venice verona versa
    karma francia prima
    vesta vic vigo viking washington wellington windsor york zaire zion
    """.split()
)
# Names in these lists that are more often surnames in texts.
OFTEN_SURNAMES = frozenset(
    """
    alam albrecht anka asimov austen baran beckham bolden bose buren cain caesar carlisle cena channing clemens colbert
    colvin conway coolidge darko draven drury eckhart elam esau falk foch fonda franciscus guthrie haden hagen harlow
    holm hussein jagger jolie judd kenyatta kenyon khadr konrad lennon lindbergh lorenz lovett lum macy mahan mala malin
    mcarthur morsi musharraf nasser nile ogden oswald ott payton polk presley pryor reagan reiner reinhart rennie
    rockne rosey ruffin rustin sabin sadat saddam seldon sheridan simeon slade sommer stefani suvari taft talmadge tandy
    tatum thurlow tilden tilly tolbert verne whitley wilkie winthrop yan yee
    """.split()
)
SURNAMES = """
    Allen Arnold Bailey Baker Barry Bennett Bernard Blair Blake Booker Boyd Brady Brock Brown Bryant Burton Byrd
    Byron Cameron Carroll Carter Clark Clifton Cole Cooper Curry Curtis Dalton Dane Dewey Dillon Dixon Donovan
    Douglas Douglass Duncan Eddy Edison Elliott Ellis Ellsworth Emerson Emery Emory Everett Floyd Ford Forrest
    Foster Franklin Garfield Gilbert Gordon Grady Graham Green Griffin Hall Harlan Harley Harper Harrison Harvey
    Hayden Henry Herman Holland Hollis Howard Hoyt Hubert Hugh Hugo Irvin Irving Irwin Isaac Isaiah Jarrett Jarvis
    Jerome Joseph Judge Kelley Kelly Kirby Lamar Landon Lane Larue Laverne Lawrence Lee Leigh Leslie Lewis Lloyd
    Logan Lucas Luther Lynn Mack Marina Marshall Martin Mckinley Michel Milton Mohammed Morgan Morris Murray Neal
    Nelson Neville Nolan Norman Oliver Otis Owen Parker Perry Porter Quincy Quinn Randolph Reid Riley Ronald Ross
    Roy Russell Ryan Sanford Scott Shelton Sherman Simon Spencer Stanley Stone Stuart Taylor Terrell Thomas Travis
    Tucker Tyler Tyson Vance Vaughn Vernon Wallace Walter Warren Wayne Wendell Wesley West Weston Whitney Wilbur
    Willard Wilton Winston
    """.split()
OTHER_SENSE = {
    name.casefold(): sense
    for sense, names in (("surname", SURNAMES), ("word", WORDS), ("place", PLACES), ("rarely", RARELY))
    for name in names
}
MENDED = {
    "[subj] America": "the United States",
    "[subj:dem] Spainish": "Spanish",
    "[subj:dem] Uzbekistani": "Uzbek",
    "[subj:dem] Yemen": "Yemeni",
}
# Singular and plural nouns for persons that are not regular forms of the adjective.
PERSONS = {
    "British": ("Briton", "Britons"),
    "Danish": ("Dane", "Danes"),
    "Finnish": ("Finn", "Finns"),
    "French": ("French person", "French people"),
    "Icelandic": ("Icelander", "Icelanders"),
    "Irish": ("Irish person", "Irish people"),
    "Polish": ("Pole", "Poles"),
    "Spanish": ("Spaniard", "Spaniards"),
    "Swedish": ("Swede", "Swedes"),
    "Turkish": ("Turk", "Turks"),
    "Slovak": ("Slovak", "Slovaks"),
}


def counts(sex: str) -> dict[str, float]:
    """Return the percentage of the census sample of one sex that bears each name, by name in capitals."""
    lines = (DATA / f"names/dist.{sex}.first.txt").read_text(encoding="utf-8").splitlines()
    return {fields[0]: float(fields[1]) for fields in map(str.split, lines) if fields}


def races() -> dict[str, str]:
    """Return the race of each name whose bearers nearly all have the same race, by name in capitals."""
    found = {}
    with (DATA / "names/firstnames.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for column, (race, least) in RACE.items():
                if int(row["obs"]) >= BEARERS and float(row[column]) >= least:
                    found[row["firstname"]] = race
    return found


def names() -> str:
    """Return the content of ``names.csv.xz``: name, gender, race, more frequent other sense, and source."""
    men, women, race_of = counts("male"), counts("female"), races()
    rows: dict[str, list[str]] = {}
    for name in sorted(men | women, key=lambda name: -(men.get(name, 0) + women.get(name, 0))):
        man, woman = men.get(name, 0.0), women.get(name, 0.0)
        if len(name) < 3 or man + woman < MOST_COMMON:
            continue
        share = man / (man + woman)
        gender = "man" if share >= ONE_SEX else "woman" if share <= 1 - ONE_SEX else "both"
        race = race_of.get(name, "")
        rows[name] = [name.capitalize(), gender, race, "census 1990" + ("; Tzioumis 2018" if race else "")]
    for (gender, race), given in BY_HAND.items():
        for name in given.split():
            rows[name.upper()] = [name, gender, race, "by hand"]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["name", "gender", "race", "other_sense", "source"])
    for name, gender, race, source in rows.values():
        table.writerow([name, gender, race, OTHER_SENSE.get(name.casefold(), ""), source])
    table.writerows(further({name.casefold() for name in rows}))
    return text.getvalue()


def further(known: set[str]) -> list[list[str]]:
    """Return the rows of names from packages that are not known yet.

    A row has up to :data:`A_ROW` names with the same gender, race, other sense and source.
    """
    with (DATA / "names/Names_2010Census_Top1000.csv").open(encoding="utf-8", newline="") as file:
        frequent = {row["SURNAME"].casefold() for row in csv.DictReader(file)}
    places = {fold(word) for line in subjects() for word in line.split()}
    first, often = merged(first_lists(), known), frequent | surnames() | OFTEN_SURNAMES
    own = {fold(form) for one in load_lexicon("gender").entries if one.pos == "name" for form in one.forms}
    last = merged(last_lists(), {*known, *first, *OTHER_SENSE, *NO_NAMES, *places, *own})
    rows: dict[tuple[str, ...], list[str]] = {}
    for folded, (name, gender, race, source) in first.items():
        sense = OTHER_SENSE.get(folded) or ("surname" if folded in frequent else "word" if is_known(folded) else "")
        rows.setdefault((gender, race, sense, source), []).append(name)
    for folded, (name, gender, race, source) in last.items():
        english = source.endswith(" en") and gender == "man" and LIKE_SURNAMES.fullmatch(folded)
        sense = "surname" if english or folded in often else ""
        if not is_word(folded):
            rows.setdefault((gender, race, sense, source), []).append(name)
    return [
        [" ".join(names[start : start + A_ROW]), *rest]
        for rest, names in rows.items()
        for start in range(0, len(names), A_ROW)
    ]


def subjects() -> list[str]:
    """Return UnQover's countries and demonyms, with misprints corrected."""
    lines = (DATA / "word_lists/unqover_subjects/country").read_text(encoding="utf-8").splitlines()
    return [MENDED.get(line.strip(), line.split("] ", 1)[-1]).strip() for line in lines]


def persons(demonym: str) -> tuple[str, str]:
    """Return the nouns for one person and for several people of a nationality."""
    if demonym in PERSONS:
        return PERSONS[demonym]
    if demonym.endswith(("ese", "ish", "ss")):
        return f"{demonym} person", f"{demonym} people"
    return demonym, f"{demonym}s"


# Words that are recognised and replaced like a form of the list, but never written.
ALIKE = """alike:
  British: [English, Scottish, Scots, Welsh]
  Briton: [Englishman, Englishwoman, Scot, Scotsman, Welshman]
  Britons: [Englishmen, Scots, Scotsmen, Welshmen, Brits]
  French person: [Frenchman, Frenchwoman]
  French people: [Frenchmen]
  Irish person: [Irishman, Irishwoman]
  Irish people: [Irishmen]
  Australians: [Aussies]
  Korean: [South Korean, North Korean]
  Koreans: [South Koreans, North Koreans]
"""


def nationalities() -> str:
    """Return the content of ``nationality.yaml``, whose attributes are the demonyms in lower case."""
    lines = (DATA / "word_lists/unqover_subjects/country").read_text(encoding="utf-8").splitlines()
    mended = subjects()
    countries = [name for line, name in zip(lines, mended, strict=True) if line.startswith("[subj] ")]
    demonyms = [name for line, name in zip(lines, mended, strict=True) if line.startswith("[subj:dem] ")]
    pairs = list(zip(countries, demonyms, strict=True))
    lines = [
        "# Nationality lexicon, written by experiments/lexicons/build.py. Countries and demonyms: UnQover (Li et al.",
        "# 2020, Apache-2.0), misprints mended; nouns for persons by rule. Neutral form first, then one per attribute.",
        "axis: nationality",
        "source: UnQover subject list (Li et al. 2020), misprints mended; nouns for persons by rule",
        "licence: Apache-2.0",
        "wrong: [14, 100] # natural sentences, see experiments/rewriting",
        "alone: of some nationality",
        "pos: {adjectives: adjective}",
        "judged: [adjectives, people]",
        "polysemous: {polish: verb, turkey: bird, china: porcelain, french: language, german: language,",
        "  spanish: language, chinese: language, japanese: language, russian: language, italian: language, "
        "thai: language, swiss: cheese}",
        "idioms: [Native American, Native Americans, American Indian, American Indians, African American, "
        "African Americans, Asian",
        "  American, Asian Americans, Latin American, Latin Americans, American Dream, British America, "
        "British American Tobacco]",
        *block("attributes", [demonym.lower().replace(" ", "-") for _, demonym in pairs], ""),
        "words:",
        "  adjectives:",
        *block("-", ['""', *(demonym for _, demonym in pairs)], "    "),
        "  people:",
        *block("-", ["person", *(persons(demonym)[0] for _, demonym in pairs)], "    "),
        *block("-", ["people", *(persons(demonym)[1] for _, demonym in pairs)], "    "),
        "  countries:",
        *block("-", ["the country", *(country for country, _ in pairs)], "    "),
    ]
    return "\n".join(lines) + "\n" + ALIKE


def block(key: str, values: list[str], indent: str) -> list[str]:
    """Return a YAML flow list in lines of at most 110 characters."""
    lines, line = [], f"{indent}{key}{'' if key == '-' else ':'} ["
    for number, value in enumerate(values):
        piece = value + ("]" if number == len(values) - 1 else ", ")
        if len(line) + len(piece) > 110:
            lines.append(line.rstrip())
            line = f"{indent}  "
        line += piece
    return [*lines, line]


if __name__ == "__main__":
    (LEXICONS / "names.csv.xz").write_bytes(compressed(names()))
    write_whole(LEXICONS / "nationality.yaml", nationalities())
