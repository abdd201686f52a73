"""Days: "tomorrow" and "next Friday" with the day that was meant, for whoever reads them later."""

import re
from datetime import date, timedelta

from wakebook.learn.select.said import MONTH

ABSENT = 30  # days that nobody is away longer who does not say how long
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)
} | {"a": 1, "an": 1}
_AHEAD = {
    "the day after tomorrow": 2, "day after tomorrow": 2, "the day before yesterday": -2,
    "day before yesterday": -2, "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "last night": -1, "heute": 0, "gestern": -1, "vorgestern": -2, "übermorgen": 2, "hoy": 0,
    "ayer": -1, "anoche": -1, "pasado mañana": 2, "aujourd'hui": 0, "après-demain": 2, "demain": 1,
}  # fmt: skip
_MONTHS = {  # in four languages, by their first letters
    begins: number
    for number, names in enumerate(
        "jan ene|feb fév|mar mär|apr abr avr|may mai|jun juin|jul juil|aug ago aoû|sep|oct okt"
        "|nov|dec dez dic déc".split("|"),
        1,
    )
    for begins in names.split()
}
_BEGINS = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH, _MONTH_NAME = rf"(?P<month>{_BEGINS})[a-zéû]*", rf"(?:{_BEGINS})[a-zéû]*"
_DAY = re.compile(
    r"\b(?:(?:(?P<weeks>\d|[a-z]{1,5}) weeks? from )?"
    rf"(?P<near>{'|'.join(_AHEAD)})"
    rf"|(?P<which>next|this|on|last) (?P<weekday>{'|'.join(_WEEKDAYS)})"
    r"(?! (?:of|in) )"
    rf"(?! (?:morning|afternoon|evening|night)s|,? (?:and )?(?:{'|'.join(_WEEKDAYS)}))"
    rf"|in (?P<count>\d{{1,2}}|[a-z]{{1,5}}) (?P<unit>days?|weeks?)"
    rf"(?:(?: \([^()]*\))?,? on (?:the |a )?(?P<then>{'|'.join(_WEEKDAYS)}))?)\b(?! \(\d)"
    r"(?!,? (?:the )?\d{1,2}(?:st|nd|rd|th)\b)"  # "on Friday the 20th": the day is there
    rf"(?!,? \d{{1,2}}\.? {_MONTH_NAME}|,? {_MONTH_NAME} \d)",
    re.IGNORECASE,
)
# what only means something with its day, and does not say which
_VAGUE = re.compile(
    r"\b(?:recently|lately|ago|(?:this|next|last) (?:week\w*|month|year|spring|summer|winter)"
    r"|(?:till|until|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?<!guten )morgen|mañana)\b",
    re.IGNORECASE,
)
# what is over soon: "ignore it till Friday"
_PASSES = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:week\w*|month|morning|afternoon|evening)"
    r"|(?:till|until|by|bis|hasta|jusqu['’]?\w*) |heute|(?<!guten )morgen|hoy|mañana|demain"
    r"|(?:['’]ve got|have) (?:[\w'’-]+ ){1,4}(?:on|this|next) \w+day\b)",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"\b(?:from|as of|starting|ab|desde) (?:today|tomorrow|heute|morgen|hoy|mañana)\b", re.I
)
_PAST = re.compile(
    r"\b(?:was|were|went|did|had|came|(?<!ve )(?<!has )got|took|met|\w{3,}ed)\b", re.IGNORECASE
)
# "we decided to ship on Friday": the day is ahead all the same
_INTENDS = re.compile(
    r"\b(?:(?:decid|plann|agre|promis|want|ask|schedul|intend|hop|expect|need)ed\b.*\bto\b"
    r"|will|shall|should|must|going to)\b|['’]ll\b",
    re.IGNORECASE,
)
_WAS = re.compile(r"\b(?:was|were|had|(?:i|we|he|she|they) \w{3,}ed)\b", re.IGNORECASE)
_YEAR = r"(?:,? (?P<year>20\d\d)\b)?"
_UNTIL = re.compile(  # "until the fair on 25 October", "bis zum 3. Mai", "until Friday"
    r"\b(?:until|till|bis|hasta|jusqu['’]\w+) (?:[\w'’-]+ ){0,5}?"
    rf"(?:(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:of |de )?{_MONTH}"
    rf"|{_MONTH.replace('month', 'first')} (?P<behind>\d{{1,2}})(?!\d)"
    rf"|(?P<weekday>{'|'.join(_WEEKDAYS)}))\b{_YEAR}",
    re.IGNORECASE,
)
_DATE = re.compile(  # "on May 6", "am 6. Mai"
    rf"\b(?:(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:of |de )?{_MONTH}"
    rf"|{_MONTH.replace('month', 'first')} (?P<behind>\d{{1,2}})(?!\d)|(?P<weekday>(?!)))\b{_YEAR}",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"\b(?:flying|travell?ing|away|back|off|visiting|on (?:holiday|vacation|leave)"
    r"|urlaub|verreist|fliege|weg|vacaciones|viajo|vuelo|vacances|absente?)\b",
    re.IGNORECASE,
)
_WHILE_AWAY = re.compile(
    r"\b(?:while|as long as|until|till) (?:i|we)['’]?(?:m| am|re| are)? "
    r"(?:gone|away|off|out|back|on (?:holiday|vacation|leave))\b"
    r"|\b(?:solange|während|bis) ich (?:weg|im urlaub|verreist|zurück|wieder da)\b"
    r"|\b(?:mientras|hasta que) (?:esté fuera|vuelva)\b|\bpendant mon absence\b",
    re.IGNORECASE,
)
_ON_THE = re.compile(r"\b(?:on|by) the (?P<day>\d{1,2})(?:st|nd|rd|th)\b(?! of)", re.IGNORECASE)
_TO_DO = re.compile(
    r"\b(?:(?:have|has|need|needs) to|(?:i|we) need|must|will)\b|['’]ll\b", re.IGNORECASE
)
_THAT_DAY = re.compile(  # "plan first, no code today"
    r"\b(?:no|not|don['’]?t|only|just|nothing|nur|kein\w*|nichts?|s[oó]lo|nada|pas|rien)\b"
    r"[^.;!?]{0,40}\b(?:today|tonight|heute|hoy|aujourd['’]hui)\b(?!['’]s)"
    r"|\b(?:heute|hoy|aujourd['’]hui) (?:nur|kein\w*|nichts?|s[oó]lo|nada|pas de|rien)\b",
    re.IGNORECASE,
)
_TERM = re.compile(  # "no schema changes until new year"
    r"\b(?:until|till|bis|hasta|jusqu['’]\w*) (?:(?:after|the|nach|zum|a|el|la|le) |l['’])*(?:"
    r"end of (?:the |this )?(?P<unit>week|month|year)|(?P<german>wochen|monats|jahres)ende"
    r"|(?:fin de|fin del?|fin du|fin de l['’]) ?(?P<other>semana|mes|año|semaine|mois|année)"
    r"|(?P<year>new year\w*|neujahr|año nuevo|nouvel an)"
    r"|(?P<feast>christmas|xmas|weihnachten|navidad|noël)"
    rf"|(?:end of|ende|finales de|fin(?:al)? de|fin) (?P<month>{MONTH}))(?!\w)",
    re.IGNORECASE,
)
_PUT_IN = re.compile(r" \(\d{1,2} [A-Z][a-z]+ \d{4}\)")


def resolved(text: str, said: date) -> str:
    """A text that was said on a day, with the days that it means: "tomorrow (14 November 2026)"."""
    return _DAY.sub(lambda match: _meant(match, said), text)


def as_said(text: str) -> str:
    """A text without the days that were put in."""
    return _PUT_IN.sub("", text)


def passes(text: str) -> bool:
    """Whether a text holds only for some days, or cannot be told without the day it was said."""
    text = _FROM.sub("", text)  # it holds since
    relative = _VAGUE.search(text) or _DAY.search(text)
    return bool(relative and _PASSES.search(text))


def over(text: str, said: date, today: date) -> bool:
    """Whether a text that was said on a day held until another day, which has passed."""
    for match in _UNTIL.finditer(text):
        if not _WAS.search(text, 0, match.start()):
            last = _last(match, said)
            return last is not None and last < today
    term = _TERM.search(text)
    if term and not _WAS.search(text, 0, term.start()):
        return _end(term, said) < today
    if _AWAY.search(text) and not _WAS.search(text):
        dates = [_last(match, said) for match in _DATE.finditer(text)]
        return bool(dates) and all(one is not None and one < today for one in dates)
    if _WHILE_AWAY.search(text):
        return said + timedelta(days=ABSENT) < today
    if _THAT_DAY.search(text):
        return said < today
    on_the = _ON_THE.search(text)
    if not on_the or not _TO_DO.search(text):  # "the rent is due on the 2nd" holds every month
        return False
    return _next(int(on_the["day"]), said) < today


def _end(term: re.Match[str], said: date) -> date:
    """The last day of the week, the month or the year, or of Christmas."""
    if term["feast"]:
        feast = date(said.year, 12, 26)
        return feast if feast >= said else feast.replace(year=said.year + 1)
    unit = (term["unit"] or term["german"] or term["other"] or term["month"] or "year").lower()
    if unit.startswith(("week", "woche", "sem")):
        return said + timedelta(6 - said.weekday())
    if term["month"]:
        month = _month(unit)
        said = date(said.year + (month < said.month), month, 1)
    if term["month"] or unit.startswith(("mon", "mes", "moi")):
        return (said.replace(day=1) + timedelta(31)).replace(day=1) - timedelta(1)
    return date(said.year, 12, 31)


def _month(name: str) -> int:
    return _MONTHS[next(it for it in _BEGINS.split("|") if name.lower().startswith(it))]


def _next(number: int, said: date) -> date:
    """The next day of a month with that number."""
    days = (said + timedelta(ahead) for ahead in range(62))
    return next((day for day in days if day.day == number), said)


def _last(match: re.Match[str], said: date) -> date | None:
    """The day that was meant, the next of its name."""
    if match["weekday"]:
        return said + timedelta((_WEEKDAYS.index(match["weekday"].lower()) - said.weekday()) % 7)
    try:
        year, day = int(match["year"] or said.year), int(match["day"] or match["behind"])
        last = date(year, _month(match["month"] or match["first"]), day)
        return last if last >= said or match["year"] else last.replace(year=year + 1)
    except ValueError:  # 30 February
        return None


def dated(text: str, said: date) -> str:
    """The same, with the day in front where nothing else tells it."""
    found = resolved(text, said)
    return f"{said}: {found}" if _VAGUE.search(found) else found


def _meant(match: re.Match[str], said: date) -> str:
    day = _day(match, said)
    return f"{match[0]} ({day.day} {day:%B} {day.year})" if day else match[0]


def _day(match: re.Match[str], said: date) -> date | None:
    near, which, count = (
        match[name] and match[name].lower() for name in ("near", "which", "count")
    )
    if near:  # "a week from tomorrow"
        weeks = _number(match["weeks"].lower()) if match["weeks"] else 0
        return said + timedelta(days=_AHEAD[near] + 7 * weeks)
    if which:
        ahead = (_WEEKDAYS.index(match["weekday"].lower()) - said.weekday()) % 7
        before = match.string, 0, match.start()
        behind = which == "on" and _PAST.search(*before) and not _INTENDS.search(*before)
        if which == "last" or behind:
            return said + timedelta(days=ahead - 7)
        # of "next Friday", most people mean the one of next week
        same_week = ahead and said.weekday() + ahead < 7
        return said + timedelta(days=ahead + 7 * bool(which == "next" and same_week))
    number, weeks = _number(count), match["unit"].lower().startswith("week")
    day = said + timedelta(days=number * (7 if weeks else 1)) if number else None
    if day and match["then"]:  # "in five weeks, on the sunday"
        day += timedelta(_WEEKDAYS.index(match["then"].lower()) - day.weekday())
    return day


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS.get(word, 0)
