"""A year of somebody's work, made from templates: the same one for the same seed.

Projects come and go, facts are corrected, tasks are finished later or never, questions are
decided or stay open. Most sentences are worth keeping, and each names what it is about so that
no two of them mean the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from tests.story import Claude, chat

SEED = 2026
ZONE = ZoneInfo("Europe/Lisbon")
FIRST = date(2026, 1, 1)
DAYS = 365
SESSIONS = 165
SPRING, AUTUMN = date(2026, 3, 29), date(2026, 10, 25)  # when the clocks change
NEVER = datetime.max.replace(tzinfo=UTC)
BUSY = 19  # every so many days there is a long one

# name, first and last day of the year, what it deals with
PROJECTS = (
    ("tidepool", 0, 364, "berth jetty mooring gangway fender pontoon slipway buoy winch ferry"),
    ("lantern", 0, 120, "beacon lamp mast battery fuse shutter"),
    ("kestrel", 20, 200, "drone rotor camera gimbal hangar antenna"),
    ("orchard", 60, 150, "press crate cellar ladder trellis pruner"),
    ("brightwork", 90, 330, "hull plank varnish stove hatch tiller"),
    ("saltmarsh", 170, 300, "sluice dyke heron fence footbridge hide"),
    ("quarry", 210, 364, "crusher conveyor drill bench shovel haulroad"),
    ("nightjar", 280, 364, "recorder microphone tripod cable mixer booth"),
)
CITIES = "Frankfurt Porto Madrid Antwerp Dublin Bergen Turin Gdansk Nantes Malmo".split()
TOOLS = "Postgres Redis Kafka Grafana Terraform Ansible Valkey Caddy Nomad Vector".split()
FIRMS = "Ankerpolice Norwind Halberd Brightline Castellan Meridian Ostrava Pelikan".split()
PEOPLE = (
    "Ylva Lindqvist,Jonas Brandt,Petra Novak,Tomas Ferreira,Marta Reis,Ines Duarte,Henrik Dahl,"
    "Oona Virtanen,Pavel Horak,Greta Simon,Bruno Costa,Leonie Kraus,Sigrid Aas,Dario Conti"
).split(",")
ROLES = "photographer accountant electrician lawyer designer surveyor carpenter".split()
REASONS = (
    "the latency is better there than with anything else that we measured in the last month",
    "the old one locks up under load and loses what was written last, which is what hurts most",
    "the licence is free and the source can be read by everybody here who wants to look into it",
    "the team knows it already and the others took a week to learn, even for those with time",
    "the support answers within a day and does not send us around from one office to the next",
)
WHICH = (  # of several
    "north south east west upper lower inner outer front back left right middle corner old new "
    "small big long short tall wide narrow heavy round square flat covered public private wooden "
    "steel stone copper glass rubber canvas floating broken spare rusty painted rented borrowed "
    "red blue green white black yellow grey brown orange purple summer winter harbour market "
    "church school station mill bridge Danish Dutch Spanish Irish"
).split()
NTH = ("", "second ", "third ", "fourth ", "fifth ", "last ")
TO_DO = (
    "We need to {}.",
    "I still have to {}.",
    "Don't forget to {}.",
    "We have to {} before the season starts.",
)
ACTIONS = (  # what is to be done, and how it is reported
    ("send the survey of the {thing} to {firm}", "sent the survey of the {thing} to {firm}"),
    ("order the spare parts for the {thing}", "ordered the spare parts for the {thing}"),
    (
        "call {person} about the permit for the {thing}",
        "called {person} about the permit for the {thing}",
    ),
    (
        "renew the insurance of the {thing} with {firm}",
        "renewed the insurance of the {thing} with {firm}",
    ),
    (
        "finish the manual of the {thing} for {person}",
        "finished the manual of the {thing} for {person}",
    ),
    ("pay {firm} for the repair of the {thing}", "paid {firm} for the repair of the {thing}"),
    ("book the crane for the {thing}", "booked the crane for the {thing}"),
)
REPORTS = ("I {} this morning.", "I've {}.", "I finally {} yesterday.", "I just {}.")
LESSONS = (
    "Lesson learned: the {thing} loses its settings when two people work on it at the same time "
    "and neither of them saves what they have done before they go to lunch.",
    "Turns out the invoices of the {thing} are rounded twice, by us and by {firm}, "
    "so that nobody could say for weeks where the missing cents of every month had gone.",
    "Lesson learned: the sensor of the {thing} reports nonsense below {number} degrees until "
    "somebody switches it off and on again, which takes the rest of the morning.",
    "Turns out the {thing} was wired by {firm} without a fuse, like "
    "everything that they have delivered to this harbour since the day they opened.",
    "We learned the hard way that the {thing} has to be drained before the first frost, "
    "because {person} spent a weekend with a hair dryer and a bucket last winter.",
    "The root cause was a loose cable behind the {thing}, which {person} had unplugged for the "
    "vacuum cleaner and never put back.",
)
EVENTS = (
    "We moved the control of the {thing} to {city}.",
    "We signed a contract about the {thing} with {firm}.",
    "I showed our {thing} to {person} from {firm} last week.",
    "We've just replaced the lock on our {thing}, after the break-in in {city}.",
    "I spent the whole weekend with {person} on the {thing}.",
)
FACTS = (  # with a value that is corrected now and then
    "the rent of our {thing} is {value} euros a month",
    "our inspection of the {thing} takes {value} minutes",
    "the warranty of the {thing} covers {value} hours of use",
    "our budget for the {thing} is {value} euros",
)
STANDING = (
    "Our {thing} was delivered by {firm} in {number} crates.",
    "The {thing} belongs to {firm} and is insured for {value} euros.",
    "Our {thing} stands in {city}, in a shed that we rent from {firm}.",
    "My brother built our {thing} with {person} in {number} weeks.",
    "I keep the keys of the {thing} in the drawer below the coffee machine.",
    "We share the {thing} with {firm}, who have it on {number} days a month.",
)
PREFERENCES = (
    "I prefer charts over tables in the report about the {thing}.",
    "Please always sort the list about the {thing} by date.",
    "I prefer short answers with numbered steps when we talk about the {thing}.",
    "I like to see the costs of our {thing} in euros, with the tax beside them.",
)
NEEDS = (
    "second inspection",
    "coat of paint",
    "permit from the town",
    "separate insurance",
    "new foundation",
    "night guard",
)
ANSWERS = ("All right.", "Good to know.", "I see.", "Makes sense.", "Understood.")


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """One session: who said what, and when it began."""

    number: int
    at: datetime  # UTC
    project: str
    turns: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        return f"5e55{self.number:04}-0000-4000-8000-{self.number:012}"

    @property
    def day(self) -> date:
        return self.at.astimezone(ZONE).date()


class Session(Claude):
    """A talk as a Claude Code transcript, in the folder of its project."""

    def __init__(self, folder: Path, talk: Talk) -> None:
        place = folder / f"-home-mira-{talk.project}"
        place.mkdir(parents=True, exist_ok=True)
        super().__init__(place, talk.id)
        self.at = talk.at
        self._talk = talk

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        return super().record(kind, **{"cwd": f"/home/mira/{self._talk.project}"} | fields)

    def until(self, moment: datetime = NEVER) -> bool:
        """Write what was said until then. Whether that is all."""
        left = self._talk.turns[self.count :]
        minutes = (moment - self.at) // timedelta(minutes=1)
        chat(self, left[: max(0, minutes)])
        return self.count == len(self._talk.turns)


class Matter:
    """What goes on in one project: what is open, what may change, and what comes next."""

    def __init__(self, name: str, things: str, chance: Random) -> None:
        self.name = name
        self._chance = chance
        kinds = [f"{which} {thing}" for which in WHICH for thing in things.split()]
        self._things = [f"{nth}{kind}" for nth in NTH for kind in kinds]
        self._tasks: list[str] = []  # how each would be reported as done
        self._questions: list[str] = []  # how each would be answered
        self._facts: list[tuple[str, int]] = []  # and the value that holds
        self._choices: list[tuple[str, str]] = []  # what a tool is used for, and which

    def thing(self) -> str:
        return self._things.pop(0)

    def _filled(self, template: str) -> str:
        chance = self._chance
        return template.format(
            thing=self.thing(),
            firm=chance.choice(FIRMS),
            person=chance.choice(PEOPLE),
            city=chance.choice(CITIES),
            number=chance.randint(2, 28),
            value=chance.randint(11, 99) * 10,
        )

    def task(self) -> str:
        to_do, done = self._chance.choice(ACTIONS)
        both = self._filled(f"{to_do}|{done}")
        to_do, _, done = both.partition("|")
        self._tasks.append(done)
        return self._chance.choice(TO_DO).format(to_do)

    def done(self) -> str:
        """Of the last ones: what is not done soon is never done."""
        if not self._tasks:
            return self.task()
        recent = range(max(0, len(self._tasks) - 3), len(self._tasks))
        done = self._tasks.pop(self._chance.choice(recent))
        return self._chance.choice(REPORTS).format(done)

    def question(self) -> str:
        thing, what = self.thing(), self._chance.choice(NEEDS)
        self._questions.append(f"We decided that the {thing} needs no {what}.")
        return f"We haven't decided yet whether the {thing} needs a {what}."

    def answer(self) -> str:
        return self._questions.pop() if self._questions else self.question()

    def fact(self) -> str:
        value = self._chance.randint(11, 99) * 10
        template = self._chance.choice(FACTS).replace("{thing}", self.thing())
        self._facts.append((template, value))
        return _sentence(template.format(value=value))

    def correction(self) -> str:
        if not self._facts:
            return self.fact()
        template, old = self._facts.pop(self._chance.randrange(len(self._facts)))
        new = old + self._chance.randint(1, 9) * 10
        self._facts.append((template, new))
        return f"No, actually {template.format(value=new)}."

    def decision(self) -> str:
        thing, tool = self.thing(), self._chance.choice(TOOLS)
        self._choices.append((thing, tool))
        return f"Let's use {tool} for the data of the {thing} because {self._reason()}."

    def change_of_mind(self) -> str:
        if not self._choices:
            return self.decision()
        thing, old = self._choices.pop()
        new = self._chance.choice([tool for tool in TOOLS if tool != old])
        chosen = f"Let's use {new} for the data of the {thing} instead of {old}"
        return f"{chosen} because {self._reason()}."

    def _reason(self) -> str:
        return self._chance.choice(REASONS)

    def lesson(self) -> str:
        return self._filled(self._chance.choice(LESSONS))

    def event(self) -> str:
        return self._filled(self._chance.choice(EVENTS))

    def standing(self) -> str:
        return self._filled(self._chance.choice(STANDING))

    def preference(self) -> str:
        return self._filled(self._chance.choice(PREFERENCES))

    def sentences(self, count: int) -> list[str]:
        kinds = {
            self.task: 4,
            self.done: 5,
            self.decision: 6,
            self.change_of_mind: 1,
            self.lesson: 6,
            self.event: 4,
            self.fact: 4,
            self.correction: 3,
            self.standing: 4,
            self.preference: 1,
            self.question: 1,
            self.answer: 1,
        }
        chosen = self._chance.choices(list(kinds), list(kinds.values()), k=count)
        return [say() for say in chosen]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def year(
    sessions: int = SESSIONS, days: int = DAYS, seed: int = SEED, quiet: Iterable[int] = ()
) -> list[Talk]:
    """The sessions of a year, the earliest first. `quiet`: days on which next to nobody talks."""
    chance = Random(seed)
    matters = {name: Matter(name, things, chance) for name, _, _, things in PROJECTS}
    people = [f"{who} is our {chance.choice(ROLES)}." for who in PEOPLE]
    talks: list[Talk] = []
    for day, count in sorted(_days(chance, sessions, days, frozenset(quiet)).items()):
        for place in range(count):
            project = _project(chance, day, days)
            said = matters[project].sentences(7 if count > 3 else chance.randint(3, 5))
            if people and len(talks) % (sessions // len(PEOPLE)) == 0:
                said.append(people.pop())
            talks.append(_talk(chance, len(talks), day, place, project, said))
    return talks


def _days(chance: Random, sessions: int, days: int, quiet: frozenset[int]) -> dict[int, int]:
    """How many sessions each day has: six on busy days, three on others, and most have none."""
    found = {day: 6 for day in range(7, days, BUSY) if day not in quiet}
    found |= dict.fromkeys(sorted(quiet)[2::4], 1)
    free = [day for day in range(days) if day not in found and day not in quiet]
    left = sessions - sum(found.values())
    at_work = sorted(chance.sample(free, min(len(free), max(1, left // 3))))
    for number in range(left):
        day = at_work[number % len(at_work)]
        found[day] = found.get(day, 0) + 1
    return found


def _project(chance: Random, day: int, days: int) -> str:
    of_year = day * DAYS // days
    going = [name for name, first, last, _ in PROJECTS if first <= of_year <= last]
    return chance.choice([*going, PROJECTS[0][0]])  # the harbour comes up most


def _talk(chance: Random, number: int, day: int, place: int, project: str, said: list[str]) -> Talk:
    turns: list[tuple[str, str]] = []
    for sentence in said:
        turns += [("user", sentence), ("agent", chance.choice(ANSWERS))]
    begin = datetime.combine(FIRST + timedelta(days=day), time(8, 30), ZONE)
    begin += timedelta(minutes=place * 95 + chance.randint(0, 60))
    return Talk(number=number, at=begin.astimezone(UTC), project=project, turns=tuple(turns))
