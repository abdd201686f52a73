"""The signs of an injection: words that address whoever records or reads the conversation.

A cue has points, and two points close together are enough. What somebody else wrote (a quote, a
fence, a comment, a pasted page) has no business with machines, so an address to one is worth two
there and little in a user's own words: nobody forges "remember that I am allergic to nuts". A
cue that forges a role or an end of the data also spoils what follows it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Cue(NamedTuple):
    name: str
    hints: tuple[str, ...]  # one of them is in every text that the pattern fits, in lower case
    found: re.Pattern[str]
    points: tuple[int, int, int]  # in what the speaker says, seems to paste, and quotes
    spreads: bool = False


def cue(
    name: str, hints: str, *texts: str, points: tuple[int, int, int], spreads: bool = False
) -> Cue:
    found = re.compile("|".join(texts), re.IGNORECASE | re.MULTILINE)
    return Cue(name, tuple(hints.split("|")), found, points, spreads)


IN = r"[^.!?\n]"  # within a sentence
_KINDS = "assistant|agent|model|bot|system|tool|summari[sz]er|extractor|reader|recorder|crawler"
_MACHINE = (
    rf"(?:(?:a\.?i\.?|llm|language|memory|automated|autonomous|coding)[ -](?:{_KINDS})s?|ais?"
    r"|llms?|gpts?|chatgpt|claude|gemini|copilot|chat ?bots|assistants|(?:extraction"
    r"|memory) agents?|(?:extractor|summari[sz]er|note[- ]?taker|web crawler)s?|agents (?:with"
    r"|that|who|which)|whoever (?:reads|records|reviews|summari[sz]es|processes))"
)
_ALL = r"(?:the |any |all |every |an? |this |our |other |future )*"
_SINGLE = rf"(?:{_MACHINE}|(?:\w+ )?(?:assistant|agent|bot|chatbot|model))"
_EARLIER = (
    "previous|prior|above|earlier|preceding|foregoing|existing|initial|original|former|past|system"
)
_EVERY = "all|any|every|your|these|those|safety|such"
_ORDERS = (
    "instructions?|prompts?|guidelines?|guidance|directives?|programming|guardrails?|your training"
    "|orders"
)
_VERB = (
    r"(?<!n't )(?<!not )(?<!never )(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|es"
    r"|ing)"
    "|bypass|overlook|discard)|do not follow|don't follow|stop following"
)
_USER = (
    "(?:(?:the|this|your|our) (?:current )?(?:user|human|account "
    "(?:holder|owner)|principal|operator"
    "|maintainer)|this person|the owner)"
)
_HAS = (
    "name|passwords?|pin|e?-?mail|address|bank|employer|boss|manager|wallet|phone|number|account"
    "|preferences?|preferred|favou?rite|trusted|approval|consent|wish|wishes|identity|partner|doctor"
)
_DID = (
    "wants?|wishes|prefers?|likes?|loves?|hates?|trusts?|distrusts?|lives?|works?|uses|decided|gave"
    "|approve[sd]?|authori[sz]e[sd]?|agree[sd]?|consent(?:s|ed)|grant(?:s|ed)|confirm(?:s|ed)|waived"
    "|allow(?:s|ed)|permit(?:s|ted)|request(?:s|ed)|asked|moved|pre-?approved|owns|owes|recommends?"
    "|promised|chose|committed|opted|switched|accept(?:s|ed)|hired|signed|sold|bought|transferred"
    "|selected|is (?:an? |now |fine|ok|located|based|allergic)"
)
_CLAIM = (
    rf"(?:{_USER}'s (?:{_HAS})\b|{_USER}\s+(?:has |have |had |now |already |always |explicitly "
    rf"|also |really |fully )*(?:{_DID})\b)"
)
_STORE = "record|store|save|memori[sz]e|persist|log|register|write(?: down)?|enter|archive|retain"
_START = r"(?:^|[.!?:;,(\[>*\"'-]\s*|\b(?:and|please|must|should|then|always|now|to)\s+)"
_DATA = "transcript|conversation|data|context|chat|session|messages?|input|prompt|material"

# Hints.
_PEOPLE = "user|human|person|account |principal|operator|owner|maintainer"
_NAMES = (
    "assistant|agent|model|bot|llm|gpt|claude|gemini|copilot|extractor|summari|taker|crawler|whoever"
    "|ai |ai:|ai,|ai-|ais|ai.|a.i"
)

ENGLISH: tuple[Cue, ...] = (
    # Forged roles and ends of the data.
    cue(
        "token",
        "<|inst]|##",
        r"<\|[\w-]+\|>",
        r"\[/?INST\]",
        r"<</?SYS>>",
        r"<(?:start|end)_of_turn>",
        r"^#{2,4} ?(?:system|instruction|human|assistant|response) ?:",
        r"</[a-z_-]+\s+id\s*=",
        points=(2, 2, 2),
        spreads=True,
    ),
    cue(
        "turn",
        "user|agent|assistant|human|system",
        r"^\W{0,4}#?\d{1,4}[\].):]?\s*\(?(?:user|agent|assistant|human|system)\)?\s*:",
        points=(2, 2, 2),
        spreads=True,
    ),
    cue(
        "end",
        "end|eof",
        rf"^[\W_]*(?:the )?(?:end|eof)(?: of)?(?: the| this)?(?: user)? (?:{_DATA})"
        r"(?: block)?[\W_]*$",
        rf"^[\W_]{{2,}}end (?:of )?(?:the )?(?:{_DATA}|untrusted|user input)\b(?![^\n]* id)",
        points=(2, 2, 2),
        spreads=True,
    ),
    cue(
        "role",
        "system|assistant|agent|developer|ai|administrator|root|operator",
        r"^[\s>*#\[(-]{0,6}(?:system|assistant|agent|developer|ai|administrator|root"
        r"|operator)(?: (?:prompt|message|note|notice|override|update|instructions?"
        r"|alert))?[\])*]{0,3}\s*:",
        points=(1, 1, 1),
        spreads=True,
    ),
    # Orders.
    cue(
        "override",
        "ignor|disregard|forget|overrid|bypass|overlook|discard|follow",
        rf"\b(?:{_VERB})\b(?:[\W_]+\w+){{0,2}}?[\W_]+(?:{_EARLIER}|{_EVERY})"
        rf"(?:[\W_]+\w+){{0,3}}?[\W_]+(?:{_ORDERS})\b",
        rf"\b(?:{_VERB})\b(?:[\W_]+\w+){{0,2}}?[\W_]+(?:{_ORDERS}) (?:above|before|so far"
        r"|you were given)\b",
        rf"\b(?:{_VERB})\b(?:[\W_]+\w+){{0,3}}?[\W_]+(?:(?:{_EARLIER}|your)[\W_]+){{1,2}}(?:rules"
        r"|commands|constraints|context|text|content|messages|conversation|policies|tasks?)\b",
        r"\b(?:ignore|disregard|forget) (?:everything|all|anything)(?: (?:that|you|was|is|been"
        r"|were|told|said|written|you've|have|read))* (?:above|before|previously|so far|told"
        r"|been told)\b",
        rf"\byour (?:(?:{_EARLIER}) )+instructions (?:are|have)\b",
        points=(2, 2, 2),
    ),
    cue(
        "loose override",
        "ignor|disregard|forget|overrid|bypass|overlook|discard|follow",
        rf"\b(?:{_VERB})\b(?:[\W_]+\w+){{0,4}}?[\W_]+(?:{_ORDERS})\b",
        points=(0, 1, 2),
    ),
    cue(
        "orders",
        "instruction|directive|prompt|objective| mode|admin|operator|override| task| note",
        r"\b(?:new|updated|revised|real|actual|true|special|hidden|secret)(?: (?:system|admin"
        r"|agent|developer|operator))* (?:instructions?|directives?|prompt"
        r"|objective)(?: \([^)\n]*\))?\s*:",
        r"\b(?:new|updated) (?:system|admin|agent|developer|operator) (?:instructions?"
        r"|directives?|prompt)\b",
        r"\bsystem (?:override|instructions?|directive)\b",
        r"\b(?:in|enter|activate|enable) (?:developer|dan|god|admin|unrestricted"
        r"|maintenance) mode\b|\b(?:developer|dan|god|admin|unrestricted"
        r"|maintenance) mode (?:is )?(?:activated|enabled|on)\b",
        r"\b(?:admin(?:istrator)?|operator) (?:notice|note|message|override|directive)\b",
        r"\b(?:security|priority|safety|memory) override\b|\bsystem note\s*:",
        r"\b(?:your|the) (?:new|real|actual|true) (?:task|objective|instructions?) (?:is|are)\b",
        points=(1, 2, 2),
    ),
    cue(
        "steering",
        "before you|this point|this moment|from now|i gave|first|your |extract|ing",
        r"\bbefore you (?:can |may )?(?:continue|proceed|solve|answer|respond|reply)\b",
        r"\bfrom (?:this (?:point|moment)|now) (?:on|forward)(?:ward)?s?\b",
        r"\bthe task (?:that )?I gave you\b|\bdo the following first\b",
        rf"\b(?:append|add|include)\b{IN}{{0,40}}\b(?:to|in) your (?:answer|output|response|reply"
        r"|summary)\b",
        rf"\bextract (?:one|this|the following|another|an?)\b{IN}{{0,20}}\bentr",
        r"\bwhen(?:ever)? (?:you )?(?:summari[sz]|extract|process|index)ing\b",
        points=(1, 1, 1),
    ),
    cue(
        "you must",
        "you must|you shall|you are|, you",
        r"\byou (?:must|shall|are (?:now|required|instructed|obliged|ordered|hereby))\b",
        r"\bas an? (?:ai|llm|language model)\b(?:[\w ]{0,20}),? you\b",
        points=(0, 1, 1),
    ),
    cue(
        "hide",
        "user|human|owner",
        r"\b(?:do not|don't|never|without)\s+(?:ever )?(?:tell|inform|mention|reveal|notify"
        rf"|alert|show|disclos|warn)\w*{IN}{{0,30}}?\b(?:the |your |this |their )?(?:user|human"
        r"|owner)s?\b",
        rf"\b(?:hidden|secret|hide\b{IN}{{0,20}}) from the (?:user|human|owner)",
        points=(1, 1, 2),
    ),
    # What nobody tells a human: it is in place in a user's own words, and not in a quote.
    cue(
        "forever",
        "future |later |subsequent |perma|forever|remember",
        r"\b(?:in|for|during) (?:all |any |every |each |our )?(?:future|later"
        r"|subsequent) (?:sessions?|conversations?|replies|responses|chats?|interactions?)\b",
        rf"\b(?:remember|memori[sz]e|retain)\b{IN}{{0,30}}?\b(?:permanently|for (?:all|every))\b",
        rf"\bremember\b{IN}{{0,40}}?\bas (?:the |an? )?(?:most |only )?(?:trusted|preferred"
        r"|authoritative|recommended|reliable|leading|primary|approved)\b",
        r"\bremember this (?:important )?(?:rule|fact|instruction|policy)\b",
        points=(0, 1, 2),
    ),
    cue(
        "yours",
        "you",
        r"\byour (?:(?:previous|current|permanent|core|original|initial|global|system"
        r"|new) )+(?:instructions?|prompts?|behaviou?r|memor(?:y|ies)|rules|preferences"
        r"|guidelines|directives?|context)\b",
        r"\b(?:update|change|modify|reset|extend) your (?:\w+ )?(?:knowledge|core|behaviou?r"
        r"|memor(?:y|ies)|instructions)\b",
        r"\byour (?:own )?memory (?:system|module|store|log|file)\b",
        r"\byou(?:'re| are) (?:now )?(?:an? |the )?(?:helpful |unrestricted "
        r"|uncensored )*(?:ai\b|assistant|dan\b|language model|llm|chatbot)",
        r"\bas your (?:developer|creator|administrator|operator|maker)\b",
        r"\bto you, (?:the |an? |my )?(?:gpt|ai\b|claude|gemini|model|assistant|llm|deepseek)",
        points=(0, 1, 2),
    ),
    cue(
        "unbound",
        "restrict|filter|safety|prompt|verified|authenticated|authori|elevated|ethical|granted",
        r"\b(?:all|no|any|safety|without) (?:\w+ )?restrictions? (?:(?:are|have been"
        r"|were) )?(?:\w+ly )?(?:lifted|disabled|removed)\b",
        r"\b(?:you have|has|with) no restrictions\b|\bno content filter(?:s|ing)?\b|\b(?:comply"
        r"|answer|respond)\b[^.!?\n]{0,40}\bwithout (?:any )?restrictions?\b",
        rf"\b(?:reveal|print|output|leak|show|repeat)\b{IN}{{0,30}}\bsystem prompt\b",
        r"\buser (?:has been|is|was) (?:verified|authenticated|authori[sz]ed|granted)\b",
        rf"\b(?:ignore|disable|skip|bypass)\b{IN}{{0,20}}\bsafety\b",
        r"\b(?:ignore|disable|override|lift|bypass|remove) (?:all |any |every )(?:\w+ )?"
        r"(?:restrictions|filters)\b",
        r"\bno ethical guidelines\b",
        r"\belevated (?:access|privileges|permissions)\b",
        points=(0, 1, 2),
    ),
    cue(
        "header",
        "[|system ",
        r"\[{1,3} ?(?:(?:system|admin|session|security|internal|developer|operator|ai"
        r"|(?:ai )?assistant|memory|hidden)[ _-](?:update|override|notice|message|note|alert"
        r"|mode|instruction|prompt|directive)\b[^\]\n]{0,40}|system|admin|assistant"
        r"|(?:begin )?hidden)[\]:](?![(\[])",
        r"\b(?:important|urgent|critical) system (?:message|update|notice|alert)\s*:",
        points=(1, 1, 2),
    ),
    cue(
        "machine's name",
        "instruction|directive|note|prompt|processor|memo|message|ps |p.s|todo|fixme|xxx",
        r"(?<![a-z])(?:ai|agent|llm|assistant|bot)[_ -](?:instructions?|directives?|notes?"
        r"|prompts?|processor)",
        r"\b(?:modify|update|save|add|store|write|set|delete)_?memor(?:y|ies) ?\(",
        r"\b(?:todo|fixme|note|xxx) ?\((?:llms?|ai|agents?|assistant|claude|copilot)\)",
        r"\b(?:note|notice|message|instructions?|p\.?s\.?|memo) (?:for|to) (?:the |any "
        r"|all )?(?:(?:ai |language )?(?:assistants?|agents?|models?|bots?))(?! (?:coach|manager"
        r"|professor|teacher|editor|director))\b",
        points=(0, 1, 2),
    ),
    cue(
        "grooming",
        "recommend|cite|approve|trust|authori|verified|paid|confirm|the user",
        r"(?<!we )(?<!i )(?<!they )\balways (?:recommend|cite|approve|prefer|mention)\b",
        rf"\b(?:mark|treat|consider|regard|flag)\b{IN}{{0,60}}\bas (?:an? )?(?:high[- ]trust"
        r"|trusted|paid|authori[sz]ed|verified|approved|pre-?approved)\b",
        r"\bconfirm (?:that )?you(?:'ve| have) (?:recorded|stored|saved|understood|accepted)\b",
        r"\bwhen(?:ever)? (?:the|a|any) user (?:says|asks|mentions|requests)\b",
        points=(0, 1, 2),
    ),
    cue(
        "exfiltrate",
        "exfiltrat|all |every |the user's",
        r"\bexfiltrat\w+|\b(?:e?mail|send|forward|upload|post|include) (?:all|every"
        r"|the user's) (?:\w+ )?(?:data|files|keys|e?-?mails?|messages|documents|secrets"
        r"|credentials|passwords|tokens|address)\b",
        points=(0, 1, 1),
    ),
    cue(
        "new task",
        "begin|start|when",
        r"\b(?:begin|start)(?: of)?(?: the)? new (?:task|session|instructions?|conversation"
        r"|block)\b",
        r"\bwhen(?:ever)? (?:you )?(?:process|read|summari[sz]|pars|index|extract)\w* (?:this"
        r"|the (?:page|text|document|article|conversation|transcript))\b",
        points=(0, 1, 2),
    ),
    # What an agent says about an injection that it saw.
    cue(
        "report",
        " me |me to| ai| agent| assistant| model",
        r"\b(?:tries|trying|attempts?|attempting|instructs?|telling|tells|asks|asking|wants"
        r"|urges|orders)(?: to (?:make|get|trick|instruct|steer|manipulate|convince))? (?:me"
        rf"|ais?|agents|assistants|the (?:assistant|model|agent))\b{IN}{{0,40}}?\b(?:to"
        r"|into) (?:record|stor|sav|remember|not|add|memori[sz]|treat|recommend|approv|send|mail"
        r"|forward|believ)(?:e|ing)?\b",
        points=(2, 2, 2),
    ),
    # An address to machines.
    cue(
        "address",
        _NAMES,
        r"\b(?:p\.?s\.?|notes?|notices?|messages?|instructions?|reminders?|attention|memo|hint"
        rf"|info|directives?|attn\.?|important)[\s:,]*(?:to|for|of)?\s+{_ALL}{_MACHINE}(?=\W|$)",
        rf"\bdear {_ALL}(?:[\w-]+ ){{0,2}}?(?:and )?{_SINGLE}s?(?=\W|$)",
        rf"^[\s>*<!#\[-]*{_ALL}(?:assistants|bots|agents|(?:ai|llm|memory"
        rf"|language)[ -](?:{_KINDS})s?)\s*[:,]",
        rf"\bif you(?:'re| are)?\s+(?:an? |the |reading this as an? )*{_SINGLE}(?=\W|$)",
        rf"\b{_MACHINE}\s+(?:that |who |which |currently )?(?:read|process|summari|pars|index"
        r"|extract|analy|scan|crawl|handl|visit|working (?:in|on|with))\w* (?:this|these|our"
        r"|the (?:page|text|document|file|repo))",
        points=(1, 2, 2),
    ),
    cue(
        "vocative",
        _NAMES,
        rf"\b(?:hello|hi|hey|ok|okay|dear|attention),?\s+(?:helpful |my |good )?{_SINGLE}\s*[,!:]",
        r"(?:^|>|[.!?]\s)\s*(?:assistant|claude|chatgpt|ai)\s*,[ ]\w",
        points=(0, 1, 2),
    ),
    cue(
        "machines must",
        _NAMES,
        rf"\b{_MACHINE}\b(?:(?!,? i\b){IN}){{0,80}}?\b(?:must|should|shall|are (?:required"
        r"|instructed|asked|to)|need to|ha(?:ve|s) to|(?:is|be) (?:required|instructed|asked) to"
        r"|please|kindly)\b",
        points=(1, 1, 1),
    ),
    cue(
        "machines record",
        _NAMES,
        rf"\b{_MACHINE}\b(?:(?!,? i\b){IN}){{0,60}}?(?:\b(?:must|should|shall|to|please|kindly)"
        rf"|:)\s+(?:always |now |also )?(?:{_STORE}|remember|note|treat|recommend|assume|believe"
        r"|keep|file)\b",
        points=(1, 2, 2),
    ),
    # Forged memories.
    cue(
        "memory",
        "memor|profile|long|your notes|your records|your knowledge",
        r"\b(?:add|save|store|write|record|commit|append|put|log|keep|insert|enter|update"
        rf"|note)\b{IN}{{0,60}}?\b(?:(?:your|their|its|the (?:assistant|agent|ai|model)(?:'s)?"
        r"|long[- ]term|persistent|permanent|durable) (?:\w+ ){0,2}?memor(?:y|ies)(?! (?:book"
        r"|wall|card|box|lane|stick|usage|foam|of))|(?:the )?memory (?:log|bank|store|file"
        r"|entries|record)|the user's (?:memory|profile|long[- ]term)|your (?:notes|records"
        r"|knowledge) (?:about|on|of))\b",
        r"\b(?:save|commit|write|add|store) (?:this |it |the following )?(?:in)?to (?:your "
        r"|the )?memory\b(?= that|:|,)",
        r"\bmemory[ _](?:updates?|entry|entries|notes?|records?|injection|directive|write)\b",
        r"\bmemory (?:has been |was |is )?(?:now )?(?:updated|saved|stored|written)\b",
        r"\bthe (?:agent'?s? |assistant'?s? )?memory (?:must|should|shall)\b",
        points=(1, 2, 2),
    ),
    cue(
        "record", _PEOPLE, rf"{_START}(?:{_STORE})\b{IN}{{0,40}}?\bthat {_CLAIM}", points=(2, 2, 2)
    ),
    cue(
        "remember",
        _PEOPLE,
        rf"{_START}(?:remember|note|add|learn|know|keep in mind)\b{IN}{{0,30}}?\bthat {_USER}\b",
        points=(1, 1, 1),
    ),
    cue(
        "claim",
        _PEOPLE,
        rf"(?<!if )(?<!when )(?<!whether )(?<!make )(?<!once )\b{_CLAIM}",
        points=(1, 1, 1),
    ),
    cue(
        "supersede",
        "replaces|supersede|overrides|delete|erase|invalidate",
        rf"\b(?:replaces|supersedes?|overrides|deletes?|erases?|invalidates?)\b{IN}{{0,30}}\b"
        rf"(?:earlier|previous|prior|older|existing|all|any|former)\b{IN}{{0,20}}\b(?:entr(?:y"
        r"|ies)|memor(?:y|ies)|records?|notes|preferences|decisions)\b",
        points=(1, 1, 1),
    ),
    cue(
        "decode",
        "decode",
        rf"\bdecode (?:this|the following|it)\b{IN}{{0,40}}\b(?:follow|obey|execute|apply"
        r"|remember)\b",
        points=(2, 2, 2),
    ),
)


# -----------------------------------------------------------------------------
# The signs of an injection in German, French, Spanish, Italian, Portuguese, Russian and CJK.

ABROAD: tuple[Cue, ...] = (
    cue(
        "override",
        "ignor|verg|missach|überspring|oubli|négli|negli|compte|olvid|descart|omiso|dimentica|esque"
        "|忽|无|忘|不|игнор|забудь|無",
        r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missachte\w*|überspring\w*)\b(?!\s+"
        r"(?:bitte )?nicht)(?:\W+\w+){0,4}?\W+(?:anweisung\w*|instruktion\w*|vorgaben|befehle?"
        r"|systemprompt|richtlinien)\b",
        r"\b(?:ignore[rz]?|oublie[rz]?|n[ée]glige[rz]?|ne (?:tiens|tenez) pas compte)\b"
        r"(?:\W+\w+){0,2}?\W+(?:toutes|tous|les?|la|l|tes|vos|ces|des|aux?)(?:\W+\w+){0,3}?\W+"
        r"(?:instructions?|consignes?|directives?|ordres)\b",
        r"\b(?:ignor[ae]n?|olvid[ae]n?|descart[ae]n?|(?:haz|hagan?) caso omiso)\b"
        r"(?:\W+\w+){0,4}?\W+(?:instrucci(?:ones|ón)|indicaciones|directrices|órdenes)\b",
        r"\b(?:ignor[aei]\w*|dimentica|esque[çc]a)\b(?:\W+\w+){0,4}?\W+(?:istruzioni"
        r"|instru[çc][õo]es)\b",
        r"(?:忽略|无视|忘记|忘掉|不要理会|不理会|忽視|無視|忘記).{0,10}(?:指令|指示|规则|規則|提示|说明|命令)",
        r"(?:игнорируй\w*|забудь\w*)(?:\W+\w+){0,4}?\W+(?:инструкц\w+|указани\w+)",
        r"(?:指示|命令|プロンプト)[^。\n]{0,6}(?:無視|忘れ)",
        points=(2, 2, 2),
    ),
    cue(
        "address abroad",
        " ki| sprachmo| assistent| ia| asistente| model|助手|代理|模型|系统|aux "
        "assistant|des assistant|les assistant",
        r"\b(?:an|für|hinweis an|achtung)\s+(?:alle |die |den |das )*(?:KI\b|KI-\w+"
        r"|sprachmodelle?|assistenten)",
        r"\b(?:à l'attention des?|note aux?|pour les?|aux?)\s+(?:IA\b|assistants?\b"
        r"|modèles? de langage)",
        r"\b(?:para|a|nota para)\s+(?:las? |los? |el |todas? )*(?:IA\b|asistentes? (?:de IA"
        r"|virtual)|modelos? de lenguaje)",
        r"(?:致|给|請|请)?(?:所有)?(?:AI|人工智能|智能|语言模型|大模型)(?:助手|代理|模型|系统)",
        points=(1, 2, 2),
    ),
    cue(
        "memory abroad",
        "nutzer|dass d|utilisat|usuari|用|使用者|пользоват",
        r"\b(?:speicher\w*|notier\w*|vermerk\w*|merke?n? (?:dir|sie sich)"
        rf"|trag\w*)\b{IN}{{0,50}}?\bdass (?:der|die) (?:benutzer(?:in)?|nutzer(?:in)?|user)\b",
        r"\b(?:enregistre[rz]?|note[rz]?|mémorise[rz]?|retene?[zr]|retiens"
        rf"|sauvegarde[rz]?)\b{IN}{{0,50}}?\bque l'utilisat(?:eur|rice)\b",
        r"\b(?:registr[ae]|guard[ae]|anot[ae]|recuerd[ae]|memori[cz][ae]"
        rf"|almacen[ae])\w*\b{IN}{{0,50}}?\bque (?:el usuario|la usuaria)\b",
        r"(?:记录|记住|保存|写入|添加|存储|記錄|記住|储存).{0,12}(?:用户|使用者|用戶)",
        r"\bзапомни\w*\b[^.!?\n]{0,30}\bпользовател",
        points=(2, 2, 2),
    ),
)
