"""Nouns for people: which words name a person or a group of persons."""

from __future__ import annotations

from functools import lru_cache

# Compiled for this project from general English usage.
_PEOPLE = frozenset(
    """
    adult adolescent ally ancestor artist athlete attendee attorney audience author baby babies beneficiary body boss
    buddy candidate captain caregiver celebrity chef chief child children citizen clerk client coach colleague
    comedian
    comic community communities companion competitor congregation cook cop couple couples cousin crowd culture
    customer
    deputy dentist descendant diplomat doctor employee enemy entrepreneur executive expert face faculty families
    family
    fan fellow folk folks friend guard guest guide guy guys head hero household human humans immigrant individual
    inmate
    intern judge kid lawyer leader lover lovers man mate mayor member men migrant minister minority minorities model
    musician native neighbor neighbour neighborhood neighbourhood neighbors nurse officer official orphan pal panel
    parent partner passenger patient patron peasant people person person's persons pilot pioneer poet police
    politician
    population populations president prisoner pupil rapper rebel refugee relative representative resident residents
    respondent roommate scholar secretary senator sibling singer slave slaves soldier someone spouse staff star
    student
    survivor suspect teen teenager teens thug tourist twin victim villain voter woman women worker youth youths
    american americans briton britons canadian canadians african africans bystander chairperson janitor applicant
    accountant technician engineer mechanic plumber paramedic pathologist veterinarian psychologist dietitian
    homeowner
    everyone somebody anybody anyone nobody everybody artists nurse cashier electrician architect physician onlooker
    """.split()
)
_ENDINGS = ("er", "or", "ist", "ian", "ant", "ent", "ee", "eur", "man", "woman", "person", "people", "men", "women")
# Common words with such an ending that name no person.
_THINGS = frozenset(
    """
    after answer another armor author's banner border bitter butter center centre chapter character cancer carrier
    clever
    color colour computer consider corner counter cover danger december deliver dinner door either ever error factor
    favor favour feather fever filter finger flavor flavour floor flower folder gender former hammer harbor heater
    honor
    hunger indoor inner labor labour ladder latter layer leather letter liver lower major manner master matter
    member's
    meter minor mirror monster motor murder neither never november number october offer older order other outdoor
    outer
    over owner's paper pepper plaster poor power powder prior quarter rather razor refer remember river rubber rumor
    semester september shelter shoulder silver sister's slipper soccer spider sticker summer sweater temper terror
    theater
    theatre thunder tiger timber together tower tractor transfer trailer tumor under upper user's vector water weather
    whether winter wonder younger elevator monitor sensor reactor refrigerator container printer scooter boulder
    burger
    accent agent's amount apartment argument assessment cement client's comment component content continent department
    document element employment engagement environment equipment event excellent experiment fragment frequent
    government
    document garment incident instrument intent investment moment monument movement ornament parent's payment percent
    present recent rent segment sent silent statement talent tent torrent treatment went permanent independent current
    different patent urgent violent apparent evident consistent innocent absent ancient sufficient efficient
    convenient
    elephant giant instant plant restaurant constant distant elegant important pleasant relevant significant vacant
    brilliant want grant pant coffee committee fee free see tree three agree knee degree bee guarantee list mist twist
    exist assist resist insist consist fist wrist mexican open specimen omen amen acumen abdomen ten written human's
    """.split()
)


@lru_cache(maxsize=20_000)
def is_person(word: str) -> bool:
    """Whether a common noun, case-folded, singular or plural, names people (``doctors``, ``community``)."""
    if word in _PEOPLE:
        return True
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    if word in _PEOPLE:
        return True
    return len(word) > 4 and word.endswith(_ENDINGS) and word not in _THINGS


def is_people(word: str) -> bool:
    """Whether a noun names several persons: ``nurses``, ``people``."""
    if word in ("people", "men", "women", "children", "folks", "police", "parents", "couple", "members"):
        return True
    return word.endswith("s") and not word.endswith("ss") and word not in ("boss", "s") and is_person(word)
