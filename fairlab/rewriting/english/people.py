"""Nouns for people: words that name a person or a group of people."""

from __future__ import annotations

from fairlab.text.words import cached_for_recent_words

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
    wife husband mother father brother sister son daughter aunt uncle nephew niece grandmother grandfather grandson
    granddaughter grandparent widow bride groom lady gentleman girl boy lad lass dude chap bloke gal surgeon detective
    priest monk nun thief criminal sailor clown magician poet monarch spy ace champ individual someone bachelor
    virgin mum mom dad twins teammate classmate inhabitant native nanny maid butler servant vendor pedestrian cyclist
    drummer guitarist pianist violinist cellist saxophonist skateboarder toddler infant newborn astronaut cowboy bandit
    student patient resident president agent client parent correspondent respondent opponent adolescent descendant
    accountant applicant assistant consultant attendant servant immigrant participant defendant merchant inhabitant
    lieutenant sergeant infant migrant emigrant informant militant combatant contestant giant tenant occupant pedant
    regent superintendent dissident recipient proponent adherent student's patient's
    crew team squad choir cast troupe band orchestra ensemble duo trio quartet jury workforce
    hipster protester demonstrator shopper bride bridegroom goalkeeper athlete gymnast acrobat
    seamstress barista notary notaries actuary actuaries paralegal midwife midwives concierge valet bailiff sheriff
    steward stewardess waitress actress hostess heiress governess apprentice cadet envoy pundit tycoon sommelier
    everyone somebody anybody anyone nobody everybody artists nurse cashier electrician architect physician onlooker
    """.split()
)
_ENDINGS = ("er", "or", "ist", "ian", "ee", "eur", "man", "woman", "person", "people", "men", "women")
# Common words that have such an ending but do not name a person.
_THINGS = frozenset(
    """
    after answer another armor author's banner border bitter butter center centre chapter character cancer
    carrier clever color colour computer consider corner counter cover danger december deliver dinner door
    either ever error factor favor favour feather fever filter finger flavor flavour floor flower folder gender
    former hammer harbor heater honor hunger indoor inner labor labour ladder latter layer leather letter liver
    lower major manner master matter member's meter minor mirror monster motor murder neither never november
    number october offer older order other outdoor outer over owner's paper pepper plaster poor power powder
    prior quarter rather razor refer remember river rubber rumor semester september shelter shoulder silver
    sister's slipper soccer spider sticker summer sweater temper terror theater theatre thunder tiger timber
    together tower tractor transfer trailer tumor under upper user's vector water weather whether winter wonder
    younger elevator monitor sensor reactor refrigerator container printer scooter boulder burger comforter
    accent agent's amount apartment argument assessment cement client's comment component content continent
    department document element employment engagement environment equipment event excellent experiment fragment
    frequent government document garment incident instrument intent investment moment monument movement ornament
    parent's payment percent present recent rent segment sent silent statement talent tent torrent treatment
    went permanent independent current different patent urgent violent apparent evident consistent innocent
    absent ancient sufficient efficient convenient elephant giant instant plant restaurant constant distant
    elegant important pleasant relevant significant vacant brilliant want grant pant coffee committee fee free
    see tree three agree knee degree bee guarantee list mist twist exist assist resist insist consist fist wrist
    mexican open specimen omen amen acumen abdomen ten written human's
    anger barrier better binder blazer blender blooper boiler broader bumper burger canister career chamber
    chandelier charter cheaper cheer clover conveyor cooler cooker copier crossover cruiser cylinder decree deeper
    detector diameter diaper diner dispenser disaster dryer earlier encounter epicenter escalator excavator exterior
    faster fertilizer flyer fodder freezer freighter frisbee fryer fuller further generator geyser girder glacier
    glider greater gutter hamburger harder headquarter heater helicopter heist higher hopper interior jumper
    larger laser liquor loafer locker longer loudspeaker lumber marker marquee
    matinee merger metaphor misdemeanor mixer moniker newer newspaper nicer noisemaker nutcracker oleander pager
    panther parlor pedigree peeler perimeter planter pointer poker poster projector propeller proper
    purifier recliner recorder rigor rooster rotor router scanner scorcher sector semitrailer sheer
    shower shutter silencer skyscraper slasher sledgehammer slicker slower smaller sneaker softer sooner
    splinter sprinkler stapler starter steamer stroller stronger superman suspender synthesizer tanker taller tender
    tether thriller toaster topper transformer transmitter trigger trouser turnover vapor visor voucher
    cinder glitter humor humour muffler odor odour whisker
    wallpaper warmer washer wetter wider windbreaker wrapper zipper
    toffee apogee jubilee
    checklist shortlist playlist wishlist blacklist
    """.split()
)

# Nouns whose adjective refers to a people instead of a state, firm or team: *a Chinese nurse*, not *minister*.
_PRIVATE = frozenset(
    """
    man men woman women boy boys girl girls guy guys lady ladies gentleman gentlemen person persons people kid
    kids child children teen teens teenager teenagers couple couples family families student students immigrant
    immigrants migrant migrants refugee refugees nurse nurses maid maids friend friends neighbor neighbors
    neighbour neighbours community communities neighborhood neighborhoods neighbourhood american americans
    descent heritage ancestry origin teacher teachers doctor doctors cook cooks waiter waiters waitress driver
    drivers gardener barber cleaner slave slaves bride groom dude dudes baby babies mom dad mum aunt uncle
    roommate girlfriend boyfriend lover grandmother grandfather grandparents mother mothers father fathers wife
    husband brother brothers sister sisters son sons daughter daughters parent parents customer customers
    passenger passengers youth youths adult adults elder elders tribe tribes population populations stranger
    bandit ranger rangers actor actors actress singer artist artists
    """.split()
)
KIN = frozenset(
    """
    brother brothers sister sisters son sons daughter daughters sibling siblings cousin cousins child children
    kid kids wife husband spouse mother father parent parents grandmother grandfather grandparents grandson
    granddaughter grandchild grandchildren uncle aunt nephew niece
    """.split()
)
ANIMALS_AND_THINGS = frozenset(
    """
    plug plugs socket connector connectors bird birds dog dogs cat cats lion lions bear bears animal animals plant
    plants flower flowers spider spiders fish elephant elephants horse horses penguin penguins frog frogs insect
    insects career careers bee bees mosquito mosquitoes mouse mice rat rats monkey monkeys ape apes wolf wolves cow cows
    """.split()
)
ONE_OF_MANY = frozenset("a an another this each every".split())  # determiners of one person or thing
_ONE = ONE_OF_MANY | {"that"}
_VERBS = frozenset("said says went came took gave told saw knew felt kept wrote lived died wept prayed".split())
_GROUPS = frozenset("people men women children folks police parents couple members".split())


def is_role(word: str) -> bool:
    """Return whether a case-folded word is listed as a noun for a person, regardless of its ending."""
    return word in _PEOPLE


def is_thing(word: str) -> bool:
    """Return whether a case-folded word is listed as a thing or an animal, or ends like *everything*."""
    return word in _THINGS or word in ANIMALS_AND_THINGS or word.endswith("thing")


def is_private_person(word: str) -> bool:
    """Return whether a common noun names people as individuals, not as members of a state, a firm or a team."""
    return word in _PRIVATE


@cached_for_recent_words
def is_person(word: str, more: frozenset[str] = frozenset()) -> bool:
    """Return whether a common noun names people (``doctors``, ``community``).

    The word is case-folded, singular or plural. ``more`` holds additional such nouns in the singular.
    """
    if word in _PEOPLE or word in more:
        return True
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    if word in _PEOPLE or word in more:
        return True
    return len(word) > 4 and word.endswith(_ENDINGS) and word not in _THINGS


def is_past(word: str) -> bool:
    """Return whether a word is probably a verb in the past: ``wept``, ``prayed``."""
    return word in _VERBS or (len(word) > 4 and word.endswith("ed"))


def is_people(word: str) -> bool:
    """Return whether a noun names several people: ``nurses``, ``people``."""
    if word[-1:] != "s":
        return word in _GROUPS
    return word in _GROUPS or (word[-2:] not in ("ss", "s") and is_person(word))


def is_noun_by_neighbours(before: str, gap: str, after: str, kind: str) -> bool:
    """Return whether an adjective is used as a noun for one person, judged by its neighbours: *the Muslim said*.

    Args:
        before: Word before the adjective.
        gap: Text between the adjective and the next word.
        after: Word after the adjective.
        kind: Kind of noun that the next word can be: ``person``, ``noun``, or "" for none.
    """
    before, after = before.lower(), after.lower()
    joined = gap[:1] in ("-", "/") or (gap[:1] == "," and after not in ("who", "whose")) or after in ("and", "or")
    if joined or (before not in _ONE and before != "the"):
        return False
    is_verb = before in _ONE and after[-1:] == "s" and after[-2:-1] not in ("s", "u", "i")  # this Christian prays
    return not kind or after in _VERBS or (is_verb and kind == "noun")
