"""Plain English texts for the validity gate: sentences, paraphrases, exchanged words, and words with two senses.

All texts were written for the project.
"""

from __future__ import annotations

# Sentences of common words, which any tokenizer knows in part and any language model finds likely.
SENTENCES = (
    "The children went to school in the morning.",
    "She opened the door and looked into the room.",
    "He said that he would be back before the end of the week.",
    "There was a small house on the other side of the river.",
    "The president of the United States was born in New York.",
    "I do not know what you want me to do about it.",
)

# Rarer words and names, which tokenizers of parts of words, letters or bytes know in parts.
RARE = (
    "Lakisha",
    "Abdulrahman",
    "Svetlana",
    "Nakamura",
    "ornithologist",
    "rheumatologists",
    "haberdasher",
    "unkindest",
)

# Two sentences with the same meaning and no common word.
PARAPHRASES = (
    ("A physician examined the sick child.", "Some doctor looked at an ill kid."),
    ("The automobile would not start.", "My car's engine failed to turn on."),
    ("Prices rose sharply in January.", "Everything became much more expensive at the beginning of this year."),
    ("He is afraid of dogs.", "Puppies frighten that man."),
    ("She purchased a new house.", "Her family bought their first home."),
    ("It rained heavily all night.", "A storm poured water until dawn."),
    ("They won the football match.", "Our team beat its opponents in soccer."),
    ("Her lawyer defended his client in court.", "An attorney spoke for the accused before a judge."),
    ("I cooked dinner for my friends.", "We made supper together and served some guests."),
    ("An airplane landed safely.", "The jet touched down at that airport without trouble."),
    ("Students must pass an exam.", "Every pupil has to succeed in a test."),
    ("Their king died in battle.", "A monarch was killed during the war."),
    ("He repaired the broken clock.", "Someone fixed a watch that had stopped."),
    ("Smoking causes cancer.", "Cigarettes can lead to tumours."),
    ("The shop sells fresh bread.", "You can buy warm loaves at that bakery."),
    ("She sings beautifully.", "Her voice makes lovely music."),
    ("The company fired fifty workers.", "Many employees lost their jobs at a firm."),
    ("Snow covered the mountains.", "White flakes lay on every hill and peak."),
    ("He stole money from the bank.", "A thief robbed cash at his branch."),
    ("The baby is asleep.", "An infant sleeps in her cradle."),
    ("Scientists discovered a distant planet.", "Astronomers have found another world far away."),
    ("The train was late again.", "Once more our railway arrived behind schedule."),
    ("Our garden is full of roses.", "Many red flowers grow behind the house."),
    ("The river flooded the village.", "High water from a stream drowned several small towns."),
)

# The same words in another order, with another meaning.
ORDERS = (
    ("The dog bit the man.", "The man bit the dog."),
    ("Anna gave Peter a book.", "Peter gave Anna a book."),
    ("The cat chased the mouse into the house.", "The mouse chased the cat into the house."),
    ("The lawyer paid the doctor.", "The doctor paid the lawyer."),
)

# Sentences that differ in one word.
ONE_WORD = (
    ("The nurse was late.", "The pilot was late."),
    ("They painted the wall red.", "They painted the wall green."),
    ("We met in Paris.", "We met in London."),
    ("My brother likes tea.", "My sister likes tea."),
)

# Sentences with a gap, and the word that belongs there; neighbours exchange their words.
PLACES = (
    ("The children went to {} in the morning.", "school"),
    ("The boat went down the {} to the sea.", "river"),
    ("She opened the {} with a key.", "door"),
    ("He ate a bowl of hot {} for lunch.", "soup"),
    ("The doctor gave the patient some {}.", "medicine"),
    ("A bird built its nest in a tall {}.", "tree"),
    ("He drank a cup of {} at breakfast.", "coffee"),
    ("The farmer fed his {} in the barn.", "horses"),
    ("There are seven days in a {}.", "week"),
    ("Water turns into {} when it freezes.", "ice"),
    ("He read a long {} about the war.", "book"),
    ("They swam across the cold {}.", "lake"),
    ("She put on her warm {} and went out.", "coat"),
    ("The {} shone brightly in the blue sky.", "sun"),
    ("The pilot landed the {} at the airport.", "plane"),
    ("The cook cut the {} with a sharp knife.", "meat"),
    ("The judge sent the {} to prison.", "thief"),
    ("The cow gives {} every day.", "milk"),
    ("His wife is the {} of two boys.", "mother"),
    ("The {} of France is Paris.", "capital"),
    ("He paid for the ticket with {}.", "money"),
    ("The baby slept in a small {}.", "bed"),
    ("The soldiers fought in the {}.", "war"),
    ("She plays the {} in an orchestra.", "violin"),
)

# A word, two sentences with one of its senses, and two with another.
SENSES = (
    (
        "bank",
        ("He sat on the bank of the river.", "We walked along the muddy bank of the stream."),
        ("She took money out of the bank.", "The bank gave him a loan."),
    ),
    (
        "bat",
        ("A bat flew out of the dark cave.", "The bat hangs upside down and eats insects."),
        ("He hit the ball with a wooden bat.", "The player swung his bat and missed."),
    ),
    (
        "spring",
        ("Flowers bloom in spring.", "In spring the snow melts and birds return."),
        ("The spring in the mattress is broken.", "A metal spring pushes the lid open."),
    ),
    (
        "match",
        ("He lit the candle with a match.", "A match burns for a few seconds."),
        ("They lost the match by two goals.", "The tennis match lasted three hours."),
    ),
    (
        "bark",
        ("The bark of the tree is rough.", "Deer eat bark from young trees in winter."),
        ("The dog's bark woke the neighbours.", "We heard the loud bark of a dog."),
    ),
    (
        "seal",
        ("A seal swam near the ice.", "The seal eats fish and lives in cold water."),
        ("The letter had a seal of red wax.", "The king put his seal on the document."),
    ),
    (
        "letter",
        ("She wrote him a long letter.", "The letter arrived by post this morning."),
        ("The word begins with a capital letter.", "The last letter of the alphabet is Z."),
    ),
    (
        "rock",
        ("The climber held on to a rock.", "A heavy rock fell from the cliff."),
        ("They play rock and jazz on the radio.", "He sings in a rock band."),
    ),
    (
        "star",
        ("The brightest star in the sky is far away.", "Astronomers watched a star explode."),
        ("The film star signed autographs.", "She became a star of Hollywood."),
    ),
    (
        "nail",
        ("He hit the nail with a hammer.", "A rusty nail stuck out of the board."),
        ("She painted the nail of her thumb red.", "I broke a nail on my finger."),
    ),
    (
        "mouse",
        ("The cat caught a mouse.", "A mouse ate the cheese in the kitchen."),
        ("Click the left button of the mouse.", "The computer needs a keyboard and a mouse."),
    ),
    (
        "plant",
        ("The plant needs water and light.", "A green plant with small leaves grew there."),
        ("The workers at the plant went on strike.", "The plant makes cars and trucks."),
    ),
    (
        "crane",
        ("The crane lifted the steel beam.", "A crane stood at the building site."),
        ("The crane is a bird with long legs.", "A white crane flew over the lake."),
    ),
    (
        "palm",
        ("He held the coin in the palm of his hand.", "She has a scar on her palm."),
        ("A palm grew beside the beach.", "Coconuts fell from the tall palm."),
    ),
    (
        "ring",
        ("She wears a gold ring on her finger.", "He bought a ring for the wedding."),
        ("The boxer climbed into the ring.", "They fought ten rounds in the ring."),
    ),
    (
        "club",
        ("He is a member of a chess club.", "The club meets every Friday to talk about books."),
        ("The caveman carried a heavy wooden club.", "The robber hit him with a club."),
    ),
    (
        "bow",
        ("She tied the ribbon in a bow.", "The gift had a red bow on top."),
        ("He shot an arrow with his bow.", "The hunter drew his bow and aimed."),
    ),
    (
        "chip",
        ("She ate a potato chip.", "He dipped a salty chip in the sauce."),
        ("The computer has a faster chip.", "A silicon chip holds a billion transistors."),
    ),
    (
        "deck",
        ("He shuffled the deck and dealt the cards.", "She drew the ace from the deck."),
        ("The sailors stood on the deck of the ship.", "Waves washed over the deck of the boat."),
    ),
    (
        "jam",
        ("He spread jam on his toast.", "She makes jam from strawberries."),
        ("We were stuck in a traffic jam.", "The accident caused a jam on the motorway."),
    ),
    (
        "pitcher",
        ("She poured water from a pitcher.", "A pitcher of lemonade stood on the table."),
        ("The pitcher threw a fast ball.", "The team traded its best pitcher."),
    ),
    (
        "fan",
        ("The fan cools the hot room.", "Turn off the electric fan."),
        ("He is a fan of the football team.", "A fan asked the singer for an autograph."),
    ),
    (
        "scale",
        ("She stepped on the scale to check her weight.", "The scale shows two kilograms."),
        ("The pianist practised a scale.", "Play the scale of C major."),
    ),
    (
        "toast",
        ("He burned the toast at breakfast.", "She put butter on her toast."),
        ("They drank a toast to the bride.", "He raised his glass and proposed a toast."),
    ),
)
