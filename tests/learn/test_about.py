"""What is true of the user, told at the top of MEMORY.md and at every start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.learn.selecting import SELECTOR, logged, talk
from wakebook import Memory
from wakebook.learn.about import (
    DATA,
    ENOUGH,
    KEPT,
    LEAST,
    MOST,
    Weights,
    about,
    everywhere,
    is_own,
    lost,
    own,
    points,
    unclear,
)
from wakebook.learn.extract import Scene
from wakebook.log.entry import Entry, derived_id
from wakebook.log.subjects import Registry, Subject

NOW = datetime(2026, 11, 9, tzinfo=UTC)


def said(content: str, days_ago: int = 0, **fields: object) -> Entry:
    base = {"type": "fact", "session": "s", "timestamp": NOW - timedelta(days=days_ago)}
    return Entry(id=derived_id("t", "", content), content=content, **(base | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "My name is Tove and I go by Tov.",
        "I'm a nurse at the children's hospital in Malmö.",
        "I work from home on Fridays.",
        "My sister Marta lives in Porto.",
        "We have two kids and a dog.",
        "I need a bed for my dog Bruno.",
        "I've been learning the cello for three years now, and I played in public once.",
        "I'm allergic to peanuts.",
        "I prefer short answers.",
        "My current goal is to run a half marathon in under two hours.",
        "I started a new job in March.",
        "I take the bus at 8:00 on Wednesdays.",
        "Ich wohne in Leipzig.",
        "Vivo en Sevilla con mi esposa.",
        "J'habite à Lyon.",
    ],
)
def test_what_lasts(text: str) -> None:
    assert points(said(text), Registry()) >= ENOUGH


@pytest.mark.parametrize(
    "text",
    [
        "I'm thinking of getting a new keyboard.",
        "I think I'll try the lentil soup this weekend.",
        "I just bought a winter coat at the sale last week.",
        "I was wondering if you could recommend a book.",
        "I'm looking for a camera backpack.",
        "We deploy on Tuesdays.",
        "The sensor sends its data to the server.",
        "Wow, I had no idea there were so many!",
        "I like the idea of sorting my expenses.",
        "can I use the other port instead",
        "I'm a bit concerned about the cost.",
        "I've heard great things about Lumo lamps, and the compact design is appealing to me.",
        "I notice that a lot of authors also use nature and the weather in their writing.",
        "In the real world, people don't always apply logic and critical thinking.",
        "I'm glad I could help you with your letters, and you write so well about your garden.",
        "By the way, how can I track the visitors of my YouTube channel on Sundays?",
        "like im five year old",
    ],
)
def test_what_passes(text: str) -> None:
    assert points(said(text), Registry()) < ENOUGH


@pytest.mark.parametrize(
    "text",
    [
        "I need to grab them before I head out.",
        "I've been using a spare one since my favourite one broke.",
        "I take a later bus on Wednesdays because of this meeting.",
        "My budget is around 200 a night.",
        "I've been going every Thursday evening for two months.",
        "She works with me at the harbour.",
        "I've been sleeping better since the retreat.",
    ],
)
def test_what_is_not_named_is_lost(text: str) -> None:
    assert lost(text)
    assert about([said(text)], Registry()) == []


@pytest.mark.parametrize(
    "text",
    [
        "I've been using packing cubes for a year, and they keep my clothes flat.",
        "My bike is a Gazelle, and I've had it since 2018.",
        "My sister Marta lives in Porto, where she has a bakery.",
        "I work in IT as a tester.",
        "My friend Mike is into fantasy, so I read a lot in that genre.",
    ],
)
def test_what_the_line_names_itself_is_not_lost(text: str) -> None:
    assert not lost(text)


def test_chat_and_lead_ins_count_against_a_line() -> None:
    plain = "I'm a member of the rowing club."
    for worse in (
        "Plus, I'm a member of the rowing club.",
        "I'm a member of the rowing club, so some tips would be great.",
        "I was thinking of a gift, and I'm a member of the rowing club.",
    ):
        assert unclear(plain) < unclear(worse)
    passing = said("I'm thinking of baking a cake, like my friend Emily brought to my party.")
    assert points(passing, Registry()) >= ENOUGH
    assert about([passing], Registry()) == []


@pytest.mark.parametrize(
    "text",
    [
        "I've been using a fitness app to track my progress, and that helps.",
        "I've been taking online lessons to learn the basics of the game.",
        "I've been working on my return game since then, twice a week.",
        "I wore my brown loafers to work every day last week.",
    ],
)
def test_what_names_nothing_or_is_over_is_not_told(text: str) -> None:
    assert about([said(text)], Registry()) == []
    assert about([said("I take the 7:45 bus to work every weekday.")], Registry())


def test_the_person_first_then_people_instructions_and_all_else() -> None:
    likes = said("I've been playing the cello every day for three years.")
    wish = said("Always answer in short sentences.", kind="preference")
    sister = said("My sister Marta has a bakery in Porto.")
    work = said("I'm a nurse.")
    assert about([likes, wish, sister, work], Registry()) == [work, sister, wish, likes]


def test_a_standing_instruction_is_told_and_a_projects_own_is_not() -> None:
    everywhere = said("Always answer in British English.", kind="preference", subject="heron")
    here = said("Never deploy the repo on a Friday.", kind="preference", subject="heron")
    work = said("I run the tests with make.", subject="heron")
    assert about([everywhere, here, work], Registry()) == [everywhere]


def test_people_and_what_is_known_of_them() -> None:
    registry = Registry().with_(Subject("marta", "Marta", "person"))
    one = said("Marta works as a vet.", subject="marta", kind="relationship")
    assert about([one], registry) == []
    both = said("Marta is my sister and works as a vet.", subject="marta")
    assert about([both], registry) == [both]


def test_the_most_lasting_first_the_newest_of_two_alike_and_few_of_one_talk() -> None:
    old = said("I live with my sister Marta, in Porto.", 40)
    again = said("I live in Porto, with my sister Marta.", 3)
    things = ("band saw in the cellar", "pillar drill from Zug", "oak bench", "new lathe and vice")
    tools = [said(f"I've got a {name}.", transcript="t") for name in things]
    found = about([old, *tools, again], Registry())
    assert found[0] == again and old not in found
    assert len(found) == 4  # three of one conversation
    many = [said(f"I own a {n} with {n * 7} strings in room {n * 11}.", n) for n in range(60)]
    assert len(about(many, Registry())) <= MOST


def test_it_is_told_at_once_at_the_top_and_the_replaced_value_never(memory: Memory) -> None:
    old = memory.remember("I live in Porto.")
    memory.remember("I live in Braga.", replaces=[old.id])
    memory.notes.brief(ask=False)
    text = memory.home.memory.read_text()
    assert "BRIEFING -->\n## About You\n- I live in Braga.\n" in text
    assert "Porto" not in text and "noted — I live" not in text
    assert "## About You\n- I live in Braga." in memory.wake()


def test_a_start_is_told_twelve_lines_and_memory_md_more(memory: Memory) -> None:
    things = (
        "harp lute oboe tuba viola drum flute organ banjo cello horn bugle kazoo zither lyre fife"
    )
    for name in things.split():
        memory.remember(f"I play the {name}.")
    memory.notes.brief(ask=False)
    text, wake = memory.home.memory.read_text(), memory.wake()
    assert text.count("- I play the") == len(things.split())
    assert text.index("## About You") < text.index("## More About You")
    assert wake.count("- I play the") == 12 and "More About You" not in wake


def test_what_sentences_weigh_is_kept_and_made_anew_without_the_cache(memory: Memory) -> None:
    memory.remember("My sister Marta lives in Porto.")
    memory.notes.brief(ask=False)
    kept = memory.home.root / KEPT
    first = kept.read_bytes()
    kept.write_bytes(b"{")
    memory.remember("I'm a nurse at the harbour clinic.")
    memory.notes.brief(ask=False)
    assert "harbour clinic" in memory.home.memory.read_text()
    assert "Marta lives in Porto" in memory.home.memory.read_text()
    assert kept.read_bytes() not in (first, b"{")


def test_what_a_text_weighs_is_kept_for_other_places_too(memory: Memory) -> None:
    asked: list[str] = []

    def weigh(text: str) -> list[float]:
        asked.append(text)
        return [float(len(text))]

    for texts in (["one", "two!"], ["three"], ["one", "two!", "three"]):
        weights = Weights(memory.home, ".cache/worth.json", DATA, weigh, most=2)
        assert [weights.best(text) for text in texts] == [[float(len(one))] for one in texts]
        weights.keep()
    assert asked == ["one", "two!", "three"]


@pytest.mark.parametrize(
    "wish",
    [
        "From now on answer in short sentences",
        "always use metric units",
        "Please reply in German from now on.",
        "Ab jetzt bitte immer auf Deutsch antworten.",
        "De ahora en adelante responde en español.",
    ],
)
def test_a_standing_wish_stands_in_about_you_wherever_it_was_said(wish: str) -> None:
    [draft] = SELECTOR.extract(talk(wish), Scene(subject="heron", project="p-heron"))
    assert draft.kind == "preference"
    entry = logged(draft).with_(project="p-heron", subject="heron")
    assert is_own(entry, Registry())
    assert [one.content for one in about([entry], Registry())] == [wish]


RULES = [
    "british spelling.",
    "no exclamation marks, ever.",
    "if something is unclear ask me one question, not five.",
    "and don't open an answer with praise.",
]


def test_rules_that_are_announced_are_kept_and_hold_where_it_says() -> None:
    request = "now: the foreword, cut it to 500 words."
    for announced, for_all in (
        ("before we start, a few things that apply whatever we work on.", True),
        ("some rules for this repo, please keep to them.", False),
    ):
        drafts = SELECTOR.extract(talk(" ".join([announced, *RULES, request])), Scene())
        assert [one.content for one in drafts] == RULES
        assert {(one.kind, one.detail) for one in drafts} == {("preference", f"Among: {announced}")}
        entries = [logged(one).with_(project="p-heron", transcript="t") for one in drafts]
        told = about(entries, Registry())
        assert sorted(one.content for one in told) == (sorted(RULES) if for_all else [])


def test_the_first_rule_may_stand_in_the_sentence_that_announces_them() -> None:
    first = "a few things that hold for everything we do: metric only, no feet."
    said = f"{first} R, not python. My daughter Noor is nine. now: the cross sections"
    drafts = SELECTOR.extract(talk(said), Scene())
    rules = [one.content for one in drafts if one.detail.startswith("Among: ")]
    assert rules == [first, "R, not python."]
    assert "My daughter Noor is nine." in [one.content for one in drafts]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("general thing for all our chats: keep it under five lines.", "no emojis."),
        ("also everywhere: metric units, and dont say sorry.", ""),
        ("for everything you build: i get migraines.", "no animations, dark theme only."),
        ("something in general, not only for this project: bullet points.", ""),
        ("my setup, for all the things you do: fish, helix, uv.", ""),
        ("pour tout ce qui touche aux repas : Tibo est allergique aux noix.", ""),
    ],
)
def test_a_heading_says_that_what_follows_holds_everywhere(said: str, kept: str) -> None:
    request = "Now: the page that lists the boats, please."
    drafts = SELECTOR.extract(talk(" ".join(filter(None, (said, kept, request)))), Scene())
    assert [one.content for one in drafts] == [one for one in (said, kept) if one]
    entries = [logged(one).with_(project="p-heron", transcript="t") for one in drafts]
    assert sorted(one.content for one in about(entries, Registry())) == sorted(
        one.content for one in drafts
    )


def test_what_holds_for_all_tests_is_no_wish_for_everywhere() -> None:
    for said_ in ("checks for all modules: run make check", "for all tests: seed 7"):
        drafts = SELECTOR.extract(talk(said_), Scene())
        assert not any(is_own(logged(one).with_(project="p"), Registry()) for one in drafts)


@pytest.mark.parametrize(
    "wish",
    [
        "so no tables and no ascii diagrams, please, in any project.",
        "and no emoji, they get read aloud.",
        "no screenshots of my desk, ever.",
        "make check before each commit.",
        "secrets come from the vault, never from files.",
        "colours from now on, viridis, everywhere",
        "and if something is unclear ask one question, not five",
        "keep answers short by the way, in every project, i read them on my phone",
    ],
)
def test_terse_wishes_stand(wish: str) -> None:
    [draft] = SELECTOR.extract(talk(wish), Scene())
    assert (draft.content, draft.kind) == (wish, "preference")


@pytest.mark.parametrize(
    "said",
    [
        "What are the rules of chess?",
        "The rules engine is slow. It takes 9 seconds. Find out why.",
        "The house style is nice. I bought a lamp for it.",
    ],
)
def test_what_only_speaks_of_rules_announces_none(said: str) -> None:
    assert not [
        one for one in SELECTOR.extract(talk(said), Scene()) if one.detail.startswith("Among: ")
    ]


def test_what_has_changed_a_truth_about_the_user_holds_everywhere_too() -> None:
    new = said("tram map: the lines of Leuven, that is where the depot is now", subject="trams")
    new = new.with_(project="p-trams")
    assert not is_own(new, Registry()) and not about([new], Registry())
    new = new.with_(detail="Was: I live in Ghent.")
    assert is_own(new, Registry()) and about([new], Registry()) == [new]


def test_to_ask_is_not_to_tell_of_oneself() -> None:
    assert own("I want to know more about how this affected their daily lives.") == 0
    assert own("I'd like to discuss how I can use my audience.") == 0


@pytest.mark.parametrize(
    "text",
    [
        "I'm a piano tuner, retired since March.",
        "vegetarian btw, and no mushrooms",
        "keep your replies below five lines, whatever I ask",
        "mein Hund heißt Fiete und ist elf",
        "tutoie-moi, c'est plus simple",
        "i cant stand coriander",
        "ich kann rosenkohl nicht ausstehen",
        "no soporto los lunes tempranos",
    ],
)
def test_what_is_of_the_user_is_told_in_every_project(text: str) -> None:
    assert is_own(said(text).with_(project="p-heron"), Registry())


@pytest.mark.parametrize(
    "text",
    [
        "the depot closes at six on Fridays",
        "use two spaces in the templates",
        "my deadline for the poster is friday",
        "I renamed the module to tides",
        "we rehearse in the gym until Easter",
        "can I use the other port instead",
        "die Probe ist jetzt mittwochs",
        "hier immer siezen, und keine ausrufezeichen",
        "aquí siempre de usted",
        "ici on tutoie les lecteurs",
        "I can't stand this test",
        "kapitel 1 fängt an mit: Ich trinke nie wieder Kaffee.",
        "keep the grammar in ONE file, grammar.lark, i hate grammars spread over strings",
        "a little tarot app for my niece, 22 cards.",
        "the backup goes to the nas of my brother at 3 in the morning",
        "la sauvegarde part à 3h du matin vers le nas de mon frère",
        "im roman: die ich-erzählerin Wiebke ist ärztin und wohnt in Innsbruck",
        "i measure the hysteresis on the weekend",
        "I'll look at those logs tonight.",
        "and in here push to main is fine, commit messages can be silly, its just me",
    ],
)
def test_what_is_of_a_project_stays_there(text: str) -> None:
    assert not is_own(said(text).with_(project="p-heron"), Registry())


def test_what_names_the_project_is_of_it() -> None:
    billed = "i bill 92 an hour, invoice goes to Frau Sehested once a month, text in german"
    for text in (f"for nordwind {billed}", f"Nordwind: {billed}"):
        assert is_own(said(text).with_(project="/home/mo/heron"), Registry())
        assert not is_own(said(text).with_(project="/home/mo/nordwind-shop"), Registry())
    units = said("nordwind is metric only, never use miles anywhere").with_(kind="preference")
    assert is_own(units.with_(project="/home/mo/heron"), Registry())
    assert not is_own(units.with_(project="/home/mo/nordwind-shop"), Registry())
    family = said("mealplan for us: my wife Ilse is coeliac").with_(project="/home/mo/mealplan")
    assert is_own(family, Registry())


def test_a_wish_for_one_repository_stays_there() -> None:
    [draft] = SELECTOR.extract(talk("In this repo only: always answer in German."), Scene())
    assert not about([logged(draft).with_(project="p-heron")], Registry())


def test_a_rule_for_all_may_stand_among_those_of_a_repository() -> None:
    rules = "rules for this repo: commits start with the ticket. tabs, obviously."
    for_all = "and wherever we work together, keep answers short, I read them on my phone"
    drafts = SELECTOR.extract(talk(f"{rules} {for_all}"), Scene(project="p"))
    kept = {one.content: logged(one).with_(project="p") for one in drafts}
    assert [text for text, one in kept.items() if is_own(one, Registry())] == [for_all]
    for here in ("pour ce dépôt : réponds toujours en français.", "für dieses Projekt: duz mich."):
        rule = said(here, kind="preference", project="p")
        assert not is_own(rule, Registry()) and not everywhere(here)
    assert everywhere(for_all) and everywhere("Sign my mails with Z.K.")


def test_a_wish_may_speak_to_whoever_listens() -> None:
    wish = said(
        "Please always explain new terms, I don't mind if it takes long.", kind="preference"
    )
    assert points(wish, Registry()) - unclear(wish.content) < LEAST
    assert about([wish], Registry()) == [wish]


@pytest.mark.parametrize(
    "text",
    [
        "i'm left handed btw.",
        "i'm vegetarian, she eats everything",
        "weekdays after 5 only, i'm deputy head now and the days are long",
        "im colour blind",
    ],
)
def test_what_the_user_is_holds_everywhere(text: str) -> None:
    assert everywhere(text)
    [kept] = SELECTOR.extract(talk(text), Scene(project="p"))
    assert about([logged(kept).with_(project="p", transcript="t")], Registry())


def test_there_may_be_a_day() -> None:
    assert unclear("wednesdays i'm off with the kids so never plan anything there.") < LEAST
    assert unclear("i'm off with the kids so never plan anything there.") > LEAST


def test_what_somebody_else_is_does_not() -> None:
    assert not everywhere("Pretend I'm a very angry customer.")


def test_a_wish_that_is_said_again_is_told_once_in_its_full_words() -> None:
    full = said("I use a screen reader, so please never answer with tables or diagrams.", 40)
    again = said("and as always no tables please, my reader makes a mess of them", 3)
    assert about([full, again], Registry()) == [full]
    assert about([again, full], Registry()) == [full]
    wide = said("for all my projects: british spelling in docs and no co-author on a commit", 40)
    assert about([said("british spelling please, as everywhere", 3), wide], Registry()) == [wide]


def test_what_is_said_of_a_day_there_is_not_lost() -> None:
    text = "I teach on tuesdays and wednesdays, so don't plan anything for me there"
    assert not lost(text)
    assert lost("the band plays on, don't plan anything for me there")


def test_a_reproach_is_no_wish() -> None:
    assert own("thats exactly what i asked you not to do") == 0.0
