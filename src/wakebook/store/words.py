"""Words: from text to the terms that are indexed and looked up.

A term is a word in lower case, cut to its stem in the language of the text, without
accents, and with the language if that is not English. Scripts that are written without
spaces (Chinese, Japanese, Thai, ...) and Hangul give pairs of characters, and every character
for itself. `camelCase` and `snake_case` give their parts and the whole. Nothing in a question
is syntax: whatever stands in it is cut into terms, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

VERSION = "2"  # part of the index's fingerprint
SEPARATOR = "\x1f"  # between a stem and its language
LONGEST = 64  # characters of a term; the rest of a longer word is dropped
KEPT_STEMS = 100_000

# Indic letters with their signs, which \w would cut at every sign; and combining marks
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_UNSPACED = (
    "\u0e00-\u0e4f\u0e5a-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\uac00-\ud7af\U00020000-\U0003134f"  # Hangul, rare Han
)
_PLAIN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
# apply_voucher, worker.py, 2026-11-01; possessive, or a long word would take for ever
_NAMES = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[_./-][a-z0-9]++)++")
_IS_CAMEL = re.compile(r"[a-z][A-Z]")
_SCRIPTS = (  # beginning and end of a script's letters, and the language of most texts in it
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0531", "\u0587", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


# Compiled when they are first needed: a question in plain English needs none of them, and
# compiling them takes longer than answering it.
@cache
def _any() -> re.Pattern[str]:
    spaced = rf"(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))+"
    return re.compile(rf"[{_UNSPACED}]+|{spaced}(?:'{spaced})*")


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


@cache
def _camel() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Names like thisOne, and their parts."""
    name = re.compile(r"\b[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*\b")
    return name, re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@cache
def _elision() -> re.Pattern[str]:
    return re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|un|all|dall|dell|nell|sull)'(?=.{2})")


_stems: dict[str, dict[str, str]] = {}
_stemmers: dict[str, Callable[[str], str]] = {}


class Asked(NamedTuple):
    """One word of a question: the terms that it may stand under, and whether it matters."""

    word: str
    terms: tuple[str, ...]
    common: bool = False  # a stop word
    weight: float = 1.0


def tokens(text: str) -> list[str]:
    """The words of a text, then the parts of camelCase and the whole of dotted names."""
    parts = _camel_parts(text) + _NAMES.findall(text.lower())
    found = in_order(text)
    return found + parts if parts else found


def in_order(text: str) -> list[str]:
    """The words of a text in lower case, and runs of characters written without spaces."""
    if text.isascii():
        found: list[str] = _PLAIN.findall(text.lower())
    else:
        folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
        found = _any().findall(folded)
    return found


def has_camel(text: str) -> bool:
    return _IS_CAMEL.search(text) is not None


def _camel_parts(text: str) -> list[str]:
    if not has_camel(text):
        return []
    names, parts = _camel()
    return [
        part.lower()
        for name in names.findall(text)
        for part in parts.findall(name)
        if len(part) > 1
    ]


def is_unspaced(word: str) -> bool:
    """Whether a token is a run of characters that are written without spaces."""
    return not word.isascii() and _unspaced().match(word) is not None


def language(words: Iterable[str]) -> str:
    """The language of a text, by its script or its stop words. English if nothing tells."""
    votes: dict[str, int] = {}
    for word in words:
        for name in LANGUAGES.get(word, ()):
            votes[name] = votes.get(name, 0) + 1
        if not word.isascii():
            for first, last, name in _SCRIPTS:
                if first <= word[0] <= last:
                    votes[name] = votes.get(name, 0) + 1
    if not votes:
        return "english"
    best = max(votes, key=votes.__getitem__)
    return "english" if votes.get("english", 0) == votes[best] else best


def terms(words: Iterable[str], name: str) -> list[str]:
    """What the words of a text in this language are indexed under, in order."""
    kept = _stems.setdefault(name, {})
    found: list[str] = []
    for word in words:
        stem = kept.get(word)
        if stem is not None:
            found.append(stem)
        elif is_unspaced(word):
            found += word
            found += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            found.append(_stem(word, name, kept))
    return found


def _stem(word: str, name: str, kept: dict[str, str]) -> str:
    stemmer = _stemmers.get(name)
    if stemmer is None:
        from Stemmer import Stemmer

        stemmer = _stemmers[name] = Stemmer(name, 0).stemWord
    if len(kept) >= KEPT_STEMS:
        kept.clear()
    stem = stemmer(_elision().sub("", word, count=1) if "'" in word else word)
    if not stem.isascii():
        plain = unicodedata.normalize("NFKD", stem)
        stem = "".join(char for char in plain if not "\u0300" <= char <= "\u036f")
    stem = stem[:LONGEST]
    if name != "english":  # or a German stem would be found in English texts
        stem += f"{SEPARATOR}{name}"
    kept[word] = stem
    return stem


def plain(term: str) -> str:
    """A term as it may stand in a text, without its language."""
    return term.partition(SEPARATOR)[0]


def asked(text: str, languages: Iterable[str]) -> list[Asked]:
    """The words of a question, each once, with their terms in the languages of the index."""
    words = list(dict.fromkeys(tokens(text)))
    own = language(words)
    names = tuple(dict.fromkeys((own, "english", *languages)))
    return [one for word in words for one in _asked(word, own, names)]


@lru_cache(maxsize=10_000)
def _asked(word: str, own: str, names: tuple[str, ...]) -> tuple[Asked, ...]:
    if is_unspaced(word):
        pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        return tuple(Asked(pair, (pair,)) for pair in dict.fromkeys(pairs))
    variants = dict.fromkeys(term for name in names for term in terms((word,), name) if term)
    common = word in STOP_WORDS.get(own, ())
    return (Asked(word, tuple(variants), common, WEAK_WORDS.get(word, 1.0)),)


# -----------------------------------------------------------------------------
# Words that say little, by language: for telling languages apart, and to ask without them.

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "english": """
            a about above after again against ain't all also am an and any are aren't as at be
            because been before being below between both but by can can't could couldn't did didn't
            do does doesn't doing don't done down during each else few for from further get got had
            hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him
            himself his how i i'd i'll i'm i've if in into is isn't it it'll it's its itself just
            let's many me might more most much must my myself no nor not now of off on once only or
            other our ours ourselves out over own please same shall she she'd she'll she's should
            shouldn't so some such than that that's the their theirs them themselves then there
            there's these they they'd they'll they're they've this those through to too under until
            up us very was wasn't we we'd we'll we're we've were weren't what what's when where
            which while who who's whom whose why will with won't would wouldn't you you'd you'll
            you're you've your yours yourself yourselves""",
        "german": """
            aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dem den
            denn der des die dir doch du durch ein eine einem einen einer eines er es euch für
            habe haben hat hatte hier ich ihm ihn ihr im in ist ja kann kein keine man mein mich
            mir mit nach nicht noch nur ob oder ohne schon sein seine sich sie sind so über um und
            uns unser unter vom von vor wann war waren was weil wenn wer werden wie wir wird wo
            wurde zu zum zur""",
        "french": """
            ai alors as au aussi aux avait avec avoir avons ce ces cet cette comme dans de des
            donc du elle elles en est et était être eu fait il ils je la le les leur lui ma mais
            me mes mon ne nos notre nous on ont ou où par pas pour quand que quel quelle qui sa
            sans se ses si son sont sur ta te tes ton tu un une vos votre vous""",
        "spanish": """
            a al algo ante antes como con cuál cuando de del desde donde dónde el él ella ellos en
            entre era eran es esa ese eso esta está estaba este esto fue ha hace hay la las le les
            lo los más me mi mis muy no nos o os para pero por porque qué que quién se ser si sí
            sin sobre son su sus también tiene todo tu tus un una uno y ya yo""",
        "italian": """
            abbiamo al alla alle anche che chi ci come con cosa da dal dalla degli dei del della
            delle di dove e è era gli ha hanno ho i il in io la le lei lo loro lui ma mi mia mio
            ne nel nella noi non o per perché più quale quando quello questa questo se sei si sono
            sta su sua sul sulla suo ti tra tu un una uno vi voi""",
        "portuguese": """
            a ao aos as até com como da das de dele dela depois do dos e é ela elas ele eles em
            entre era essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo
            meu minha muito na não nas no nos nós o onde os ou para pela pelo por porque qual
            quando que quem se sem ser seu são só sua também te tem tu um uma você""",
        "dutch": """
            aan al als bij daar dan dat de deze die dit doen door een en er geen had heb hebben
            heeft het hier hij hoe hun ik in is ja je kan maar me meer met mij mijn naar niet nog
            nu of om omdat ons ook op over te tot uit van veel voor waar wanneer was wat we wel
            werd wie wij wordt zal ze zich zij zijn zo zou""",
        "swedish": """
            alla att av blev bli blir då de dem den denna deras det detta dig din dina du där efter
            eller en er ett från för ha hade han hans har hon honom hur här i icke inte jag kan man
            med men mig min mitt mot mycket ni nu när någon och om oss på sig sin ska som så till
            under upp ut var vad vara vem vi vid är""",
        "danish": """
            af alle at blev blive bliver da de dem den denne der deres det dette dig din dog du
            efter eller en end er et for fra ham han hans har havde hende hun hvad hvis hvor
            hvornår i ikke ind jeg jo kunne man med meget men mig min mod ned nogle nu når og også
            om op os over på sig skal som sådan til ud under var vi vil ville været""",
        "norwegian": """
            alle at av ble bli blir da de dem den denne der deres det dette deg din du eller en
            enn er et etter for fra før ha hadde han hans har hun hva hvem hvis hvor hvorfor i ikke
            inn jeg kan kunne man med meg men mer min mot noe noen nå når og også om opp oss over
            på seg skal skulle som så til ut var ved vi vil ville være""",
        "finnish": """
            ei eikä en että he hän ja jo joka jos kanssa kuin kun kuka me mikä minun minä missä
            mitä mutta myös ne niin nyt oli olla olen ole on ovat se sen sinä sitä tai tämä tässä
            vain voi""",
        "polish": """
            aby ale bardzo był była było być ci co czy dla do gdy gdzie go i ich ja jak jako je
            jego jej jest już kiedy kto która które który ma mnie może na nie nich niż o od on ona
            oni po pod przez przy są się tak tam te tego tej to tu ty w we wszystko z za że""",
        "turkish": """
            ama ben bir biz bu da daha de defa değil en gibi hem hep her hiç için ile ise kadar ki
            kim mı mi mu nasıl ne neden nerede niçin o olan olarak sen siz şu ve veya ya""",
        "russian": """
            а без был была были было быть в вам вас весь во вот все всё вы где да для до его ее её
            если есть ещё же за здесь и из или им их к как ко когда который кто ли мне мой мы на
            не него нет ни но о об он она они от по под при с со так там то только ты у уже что
            чтобы это этот я""",
    }.items()
}

# They say when or how something is asked rather than what: they count, but less.
WEAK_WORDS: dict[str, float] = dict.fromkeys(
    """
    day days week weeks weekend weekends month months year years hour hours ago past last next
    recent recently first earliest latest since today yesterday ever already long one two three
    four five six seven eight nine ten
    """.split(),
    0.3,
) | dict.fromkeys(
    """
    recommend recommended recommendation recommendations suggest suggested suggestion suggestions
    tip tips advice help find think thinking thought wonder wondering wanted want follow followed
    confirm remind remember mention mentioned mentioning conversation discussion discussed discuss
    talk talked tell told say said previous previously earlier going looking look back chat
    specifically specific kind kinds type types sort name names called thing things something
    anything someone able interested interesting describe explain according
    """.split(),
    0.5,
)

LANGUAGES: dict[str, tuple[str, ...]] = {}  # a stop word -> the languages that have it
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        LANGUAGES[_word] = (*LANGUAGES.get(_word, ()), _language)
