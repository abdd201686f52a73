"""Drafts that are not worth keeping: general knowledge, inventories, and minutes of the talk."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from wakebook.base.words import listed
from wakebook.base.words import names_in as names
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft
from wakebook.learn.judge.grounds import Ground, ground, numbers, telling
from wakebook.learn.phrases import lazy

_TOOLS = listed(
    """python node nodejs react vue angular svelte vite webpack typescript javascript django flask
    fastapi pydantic numpy pandas scipy pytest ruff mypy black eslint prettier jest vitest zod
    express next nextjs nuxt tailwind postgres postgresql mysql sqlite redis mongodb docker
    kubernetes terraform ansible rust cargo go golang java kotlin swift ruby rails php laravel
    requests httpx aiohttp sqlalchemy alembic celery uvicorn gunicorn poetry uv pip npm pnpm yarn
    bun deno axios lodash moment dayjs rxjs redux graphql prisma jinja2 click rich typer torch
    tensorflow keras transformers matplotlib seaborn scikit-learn serde tokio clap axum gradle maven
    spring hibernate junit openssl nginx git linux ubuntu debian chrome firefox babel rollup esbuild
    swc storybook cypress playwright selenium mocha chai sinon bootstrap jquery three.js opencv"""
)
_PAIR = lazy(
    r"(?<![\w.-])(@?[A-Za-z][\w./+#-]*?)(?:\s*(?:@|==|>=|~=|\^|~|=)\s*|\s+(?:version\s+)?v?"
    r"|:\s*\^?v?|-v?|\s*\(v?)(\d+(?:\.\d+)*(?:\.[x*])?)(?![\w%])",
    0,
)
_LISTING = lazy(
    r"\b(?:depend(?:s|encies|ency)?|packages?|librar(?:y|ies)|installed|imports?|requirements?"
    r"|modules?|devdependencies|tech stack|stack)\b"
)
_ANCHOR = lazy(
    r"\b(?:user(?:'s)?|users?'|i|i'm|my|me|we|we're|our|us|his|her|he|she|team|company|(?:the"
    r"|their) (?:project|repo|app|codebase|client|customer|branch|build|deploy\w*|release|server"
    r"|site|office))\b|用户|我|\b(?:ich|mein\w*|wir|unser\w*|nous|notre|mon|ma|mes|yo|mi|nuestr\w+"
    r"|je)\b"
)
_GENERAL = lazy(
    r"^the (?:capital|population|currency|official language|(?:boiling|melting) point|speed"
    r"|(?:chemical )?(?:formula|symbol)|(?:largest|highest|longest|tallest|smallest) \w+) (?:of|in)"
    r" [\w ]{2,40} (?:is|was|are)\b|"
    r"^(?:[a-z-]+ )?[a-z-]+s are (?:\w+ )?\w+s\b|^(?:an? |the )?[\w .+#/'()-]{1,50}? (?:is|are"
    r"|means|refers to|stands for|describes) (?:an? |the |when |that |used |a type|one of)"
    r"|^(?:you can |to [\w ]{3,40}, )?use [`\w.+#()-]+ (?:to|for|when|instead|if)\b"
    r"|^in (?:python|javascript|typescript|rust|go|java|c\+\+|c|sql|bash|git|react|css|html"
    r"|general|most|linux|docker|postgres\w*|excel)\b,? |^(?:generally|typically|usually|often"
    r"|in general|by default)\b|^[\w .+#/'()-]{1,50}? (?:can be|should be|is usually"
    r"|are usually|is typically|is often|allows?|lets? you|enables?|helps?|provides?|supports?"
    r"|returns?|reduces?|improves?|ensures?|prevents?|requires?)\b"
)
_ASKS = lazy(
    r"\?\s*$|^\W*(?:(?:and |ok |so |but )*(?:what|how|why|when|where|who|which)(?:'s|s| is| are"
    r"| was| does| do| did| can| to| would| should| exactly| about| kind| actually)|can you"
    r"|could you|explain|tell me|is there|show me|give me|define)\b(?! (?:i|we) (?:do|need"
    r"|must))"
)
_OURS = lazy(
    r"(?<!do )(?<!can )(?<!could )(?<!should )(?<!would )\bI\b|\bI'\w+"
    r"|\b(?:my|mine|our|ours|we|this|these|(?:the|their) (?:project|repo|app|codebase|client"
    r"|customer|branch|build|deploy\w*|release|server|site|office|team))\b"
)
_WEB = lazy(r"web|browse|fetch|http")
_SPLIT = lazy(r"(?<=[.!?])\s+|\n", 0)
_AGREES = lazy(
    r"^\W*(?:yes|yeah|yep|yup|ok(?:ay)?|sure|exactly|right|correct|true|indeed|she is|he is"
    r"|they are|it is|do (?:that|it|so)|sounds good|go (?:for it|ahead)|agreed|perfect|great"
    r"|good|fine|please do|ja|oui|sí|si|genau|passt|d'accord|vale|好|是|对)\b"
)
_STANDING = (
    r"(?!.*\b(?:always|never|from now on|not to|by default|every time|in future|that all)\b)"
)
_META = lazy(
    r"^(?:the )?(?:user|human)s? (?:(?:has )?(?:asked|asks|inquired|inquires|enquired|wondered"
    r"|is asking|was asking|wanted to (?:know|understand|learn how)|wants to (?:know|understand)"
    rf"|requested|sought|seeks|queried)){_STANDING} (?:the (?:assistant|agent|ai|model)|me|about"
    r"|how|what|why|whether|if|when|where|which|who|for (?:(?:some |an? |the |more )?(?:help"
    r"|explanation|information|advice|summary|assistance|clarification|guidance|example"
    r"|translation|instructions))|help|a question|questions|an explanation|clarification"
    r"|information|assistance|to (?:explain|summari[sz]e|translate|help))\b|^(?:the )?(?:user"
    r"|human) (?:greeted|thanked|acknowledged|said (?:hello|hi|thanks|thank you|ok|goodbye)"
    r"|expressed (?:gratitude|thanks|appreciation)|engaged in|had a conversation|interacted with"
    r"|started (?:a|the) (?:conversation|chat|session))\b|^(?:the )?(?:user|human) (?:confirmed"
    r"|agreed|responded|replied|answered)\W*$|^(?:the |this )?(?:conversation|chat|exchange"
    r"|transcript|dialogue) (?:was|is|focused|focuses|covered|covers|revolved|concerned"
    r"|contains?|contained|centered|included?|discussed)\b|^(?:the |this )?(?:session"
    r"|discussion) (?:was|is) (?:about|focused|centered)\b|^(?:there (?:is|was|were) )?(?:no"
    r"|nothing) (?:(?:significant|important|new|notable|relevant|memorable|useful|user-specific"
    r"|specific|personal|extractable|meaningful) ?)+(?:information|facts?|details?|entries"
    r"|content|memor\w+|data|was|were|to)\b|^nothing (?:to|worth) (?:record|extract|remember|log"
    r"|note|keep|store)\w*|^(?:n/?a|none|null|unknown|no entries)\W*$"
)
_MACHINE = lazy(
    r"^(?:the )?(assistant|ai|model|chatbot|agent|claude|chatgpt) (?:has |then )?(?:explained"
    r"|helped|assisted|clarified|summari[sz]ed|answered|responded|replied|described|suggested"
    r"|recommended|listed|showed|greeted|offered|provided|gave|told|discussed|outlined"
    r"|acknowledged|advised)\b"
)
_EMPTY = listed(
    """ok okay done thanks thank you yes no hello hi hey bye good great nice fine cool sure noted
    user task decision fact question made completed complete confirmed agreed unknown misc other
    info information update note notes todo something nothing"""
)


def meta(draft: Draft, messages: Sequence[Message]) -> str:
    """Why a draft is about the talk and not about its matter, or ""."""
    content = draft.content.strip()
    if draft.type == "handoff":
        return "" if content else "it is empty"
    words = content.lower().replace(".", " ").split()
    if len(words) < 3 and all(word.strip("!?,:;") in _EMPTY for word in words):
        return "it says nothing"
    if draft.type != "question" and _META.search(content):
        return "it tells of the talk, not of its matter"
    match = _MACHINE.search(content)
    if match and not re.search(r"\b(?:user|and) (?:accept|agree|approv|chose|will)", content):
        topic = re.compile(rf"\b{match.group(1)}\b", re.IGNORECASE)
        if not any(topic.search(message.text) for message in messages if message.role == "user"):
            return "it tells what the agent did in the talk"
    return ""


def generic(
    draft: Draft,
    evidence: Sequence[Message],
    messages: Sequence[Message],
    anchors: Collection[str],
) -> str:
    """Why a draft could be written without knowing this person, or ""."""
    spoken = [message for message in evidence if message.role == "user"]
    if draft.type in ("handoff", "decision") or (draft.type != "fact" and spoken):
        return ""
    if _inventory(draft.content):
        return "it lists versions or dependencies"
    asked = _asked(draft, evidence, messages)
    if not asked and not _GENERAL.search(draft.content.strip()):
        return ""
    stated = _said_half(draft, messages) if asked else any(_states(one.text) for one in spoken)
    if stated or _anchored(draft, messages, anchors, named=not asked):
        return ""
    return "it is general knowledge of the agent's"


def agrees(text: str) -> bool:
    """Whether a user's message begins with a yes."""
    first = next((part for part in _SPLIT.split(text) if part.strip()), "")
    return _AGREES.search(first) is not None and not first.rstrip().endswith("?")


def _asked(draft: Draft, evidence: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Whether a draft answers a question that anyone could have asked: of no thing of the user's,
    and answered without a look at one."""
    if any(not _WEB.search(tool.name) for message in evidence for tool in message.tools):
        return False
    last = max((one.turn for one in evidence), default=0)
    said = {role: [one for one in messages if one.role == role] for role in ("user", "agent")}
    words = telling(draft.content)
    new = [word for word in words if not any(ground(one.text).has(word) for one in said["user"])]
    if not any(ground(one.text).has(word) for one in said["agent"] for word in new):
        return False  # nothing of it is the agent's
    return any(
        _ASKS.search(part) and not _OURS.search(part) and words & telling(part)
        for message in [one for one in said["user"] if 0 < one.turn <= last][-2:]
        for part in _SPLIT.split(message.text)
    )


def _said_half(draft: Draft, messages: Sequence[Message]) -> bool:
    """Whether the user's own statements have half of what a draft says."""
    words = telling(draft.content)
    stated = _statements(messages)
    return 2 * sum(any(one.has(word) for one in stated) for word in words) >= len(words)


def _inventory(content: str) -> bool:
    pairs = _PAIR.findall(content)
    sure = [name for name, version in pairs if version.count(".") > 1 or name.lower() in _TOOLS]
    if len(pairs) >= 3 and sure and (len(sure) >= 3 or _LISTING.search(content) is not None):
        return True
    items = [item.split() for item in re.split(r",|\band\b|[:;]", content.lower())]
    tools = sum(
        len(item) <= 2 and any(word.strip("`.") in _TOOLS for word in item) for item in items
    )
    return tools >= 3 and _LISTING.search(content) is not None


def _states(text: str) -> bool:
    """Whether a user's message says anything besides questions."""
    sentences = [part for part in _SPLIT.split(text) if part.strip()]
    return any(
        _AGREES.search(part) or (not _ASKS.search(part) and len(telling(part)) > 1)
        for part in sentences
    )


def _anchored(
    draft: Draft, messages: Sequence[Message], anchors: Collection[str], named: bool
) -> bool:
    """Whether a draft speaks of the user, of a known subject, or (`named`) of what the user
    brought up."""
    text = f"{draft.content} {draft.detail}"
    low = text.lower()
    if _ANCHOR.search(text) or any(anchor and anchor.lower() in low for anchor in anchors):
        return True
    if not named:
        return False
    own = {name.lower() for name in names(draft.content)} - _TOOLS
    values = {value for value in numbers(draft.content) if value >= 10}
    return any(
        values & one.numbers or any(one.has(name) for name in own) for one in _statements(messages)
    )


def _statements(messages: Sequence[Message]) -> list[Ground]:
    """What the user said without asking."""
    return [
        ground(part)
        for message in messages
        if message.role == "user"
        for part in _SPLIT.split(message.text)
        if part.strip() and not _ASKS.search(part)
    ]
