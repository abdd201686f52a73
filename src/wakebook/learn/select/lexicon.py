"""Word classes and frames that the features of a clause are made of, as data.

Subjects are tried in order at the start of a clause; the other frames are looked for
anywhere in it. Everything is lower case except `VALUES`.
"""

from __future__ import annotations

from wakebook.base.words import listed
from wakebook.learn.select.sentences import MONTH, ROLES, SYMPTOM, WEEKDAY

SUBJECTS = (
    ("i", r"(?:\w+ )?(?:i|i'm|im|i've|i'll|i'd|ive)\b"),
    ("we", r"(?:\w+ )?(?:we|we're|we've|we'll|we'd)\b"),
    ("lets", r"(?:so |then )?(?:let's|lets|let us)\b"),
    ("my role", rf"(?:my|our) (?:[\w'-]+ )?(?:{ROLES})\b"),
    ("my", r"(?:my|our|mine|ours)\b"),
    ("you", r"(?:you|you're|your|you've|you'll)\b"),
    ("he", r"(?:he|she|he's|she's|he'll|she'll|his|her|shes|hes)\b"),
    ("they", r"(?:they|they're|they'll|they've|their|those|these)\b"),
    ("it", r"(?:it|it's|its|it'll|it'd)\b"),
    ("that", r"(?:that|that's|thats|this|that'll|that'd)\b"),
    ("there", r"(?:there|there's|theres|there'll|here|here's)\b"),
    ("ask", r"(?:what|whats|what's|how|how's|why|which|who|whos|who's|where|when|whether|if)\b"),
    ("nobody", r"(?:nobody|no one|somebody|someone|everybody|everyone|people|anyone)\b"),
    ("no", r"(?:no|none|not|nothing|neither)\b"),
    ("all", r"(?:all|every|each|any|anything|everything|whatever|whoever|only|both)\b"),
    ("the role", rf"(?:the|a|an) (?:[\w'-]+ )?(?:{ROLES})\b"),
    ("the", r"(?:the|a|an)\b"),
    (
        "when",
        rf"(?:from|on|in|at|by|until|before|after|as of|starting|for|since|every|once)\b"
        rf"|(?:{WEEKDAY})\b",
    ),
    ("reason", r"(?:because|cause|cuz|otherwise|so that|as|while|though|although|unless|except)\b"),
    (
        "talk",
        r"(?:ok|okay|yes|yeah|yep|yup|sure|thanks|thank|thx|ty|bye|hi|hello|hey|haha|lol|ah|oh"
        r"|hm+|ugh|wow|nice|great|good|cool|perfect|lovely|super|right|fine|sorry|ha|mhm|nah"
        r"|nope|well|true)\b",
    ),
)
MODES = (
    (
        "duty",
        r"\b(?:need to|needs to|have to|has to|haveto|had to|got to|gotta|must|ought to"
        r"|supposed to|yet to|should|i've to)\b",
    ),
    ("need", r"\b(?:need|needs|want|wants|require|requires)\b(?! to)"),
    ("will", r"\b(?:will|\w+'ll|going to|gonna)\b"),
    ("wont", r"\b(?:won't|will not|not going to|not gonna)\b"),
    ("would", r"\b(?:would|\w+'d|wouldn't)\b"),
    (
        "maybe",
        r"\b(?:maybe|perhaps|might|could|may|possibly|if i|if we|what if|suppose|imagine"
        r"|one day|wonder|probably)\b",
    ),
    (
        "perfect",
        r"\b(?:(?:i|we|they)'ve|(?:have|has|'s) (?:been|\w{3,}ed|gone|got|sent|made|done|said))\b",
    ),
    (
        "progress",
        r"\b(?:\w+'(?:m|re|s)|am|is|are|im) (?:not |now |also |still |just |only )?\w{3,}ing\b",
    ),
    ("negative", r"\b(?:not|no|never|\w+n't|nobody|nothing|without|cannot|none)\b"),
    ("can", r"\b(?:can|can't|cannot|able)\b"),
    ("be", r"\b(?:is|are|\w+'s|was|were|'re)\b"),
)
FRAMES = (
    (
        "time:now",
        r"\b(?:right now|now|for now|for a (?:sec|moment|minute)|at the moment|in a (?:sec"
        r"|minute|moment))\b",
    ),
    ("time:today", r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b"),
    (
        "time:later",
        rf"\b(?:tomorrow|later|soon|next (?:week|month|year|time|sprint)|this (?:week|weekend"
        rf"|month)|some (?:day|time)|(?:on|next|this|until|by|before|till|after) (?:{WEEKDAY})"
        rf"|(?:{WEEKDAY})(?: morning| evening| afternoon)?$|midweek|first thing|at the weekend"
        rf"|end of (?:the )?(?:week|month|year|day))\b",
    ),
    (
        "time:date",
        rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH})"
        rf"|(?:{MONTH}) \d{{1,2}}|in (?:{MONTH})|(?:{MONTH})$)\b",
    ),
    (
        "time:deadline",
        rf"\b(?:by (?:the (?:end|\d|first|next)|\d|next|noon|then|tomorrow|{WEEKDAY}|{MONTH})"
        r"|before|until|till|due|latest|deadline|once|as soon as|ahead|overdue)\b",
    ),
    (
        "time:rule",
        r"\b(?:always|never|every|each|from now on|from here on|as of|from next|going forward"
        r"|in future|in the future|whenever|ever|usually|normally|permanently|for good|rule)\b",
    ),
    (
        "time:start",
        rf"\b(?:from|as of|starting) (?:the |next |this )?(?:\w+ )?(?:{WEEKDAY}|{MONTH}|week"
        rf"|month|year|now|tomorrow|\d\w*)\b",
    ),
    (
        "time:ago",
        r"\b(?:yesterday|last (?:night|week|month|year|time)|ago|earlier|just now|this morning"
        r"|already|finally)\b",
    ),
    (
        "choice:over",
        r"\b(?:instead|rather than|over (?:the )?\w+$|not (?:the |a )?[\w-]+$|and not|after all"
        r"|in the end|anymore|any more|no longer|no more|not more)\b|\w, not \w|\bover\b",
    ),
    (
        "choice:final",
        r"\b(?:decided|decision|agreed|settled|final|finally|verdict|winner|official|deal|sold"
        r"|chosen|call(?:ed)? it)\b",
    ),
    (
        "choice:it-is",
        r"\bit is$|\bit is then|, then$|\bthen$|\bthat's it\b|\bend of story\b|\bdone$"
        r"|\bgoing to be\b|\bit'll be\b|\bit's going\b",
    ),
    (
        "choice:stays",
        r"\b(?:stays?|remains?|keeps?|goes|go|gets?|moves?|comes?|leaves?) (?:\w+ ){0,2}(?:on"
        r"|in|at|to|with|as|from|by|for|out|first|last|until|through|past|off|only|a|the)\b",
    ),
    (
        "choice:limit",
        r"\b(?:cap|capped|capping|limit|at most|max|maximum|tops|no more than|not a \w+ more"
        r"|only|at least|above|below|over|under|up to|and up) ",
    ),
    (
        "choice:drop",
        r"\b(?:scrap|drop|dropping|skip|skipping|cancel\w*|call(?:ing|ed)? off|off the table"
        r"|is out|are out|ditch\w*|kill\w*|axe|forget (?:the|about)|without|dead|postpone\w*"
        r"|push(?:ed|ing)? (?:back|to)|delay\w*|park)\b",
    ),
    (
        "task:list",
        r"\b(?:to-?do|on (?:my|the) (?:list|plate)|remind|reminder|don't let me|forget"
        r"|follow[- ]?up|next step|action item|my (?:job|task|turn|homework)|note to self"
        r"|put down)\b",
    ),
    (
        "task:owe",
        r"\b(?:owe|owes|promised|promise|said i'd|said i'll|told \w+ i'd|still missing"
        r"|outstanding|overdue|left to do|not done|remaining)\b",
    ),
    (
        "task:wait",
        r"\b(?:wait(?:ing)? (?:for|on)|blocked|stuck|can't .* (?:until|unless|before|without)"
        r"|until .* (?:sends|answers|comes|says|tells)|hasn't (?:answered|sent|come|replied"
        r"|signed))\b",
    ),
    ("task:self", r"\b(?:myself|by hand|in person)\b"),
    ("task:other", r"\b(?:somebody|someone|\w+) (?:has|needs|have|need) to\b"),
    (
        "like",
        r"\b(?:prefer|prefers|rather|favou?rite|like|likes|hate|hates|can't stand|love|loves"
        r"|allergic|vegan|vegetarian|coeliac|diabetic)\b",
    ),
    ("called", r"\b(?:called|named|name is|name's|known as|goes by)\b"),
    (
        "located",
        r"\b(?:lives?|sits?|hosted|stored|located|is (?:in|at|on|under)|are (?:in|at|on|under)"
        r"|runs? on|based|address|reached)\b",
    ),
    ("role", rf"\b(?:{ROLES}|in charge|responsible|treasurer|intern|apprentice|florist|adviser)\b"),
    (
        "learned",
        r"\b(?:turns? out|turned out|lesson|hard way|learned|learnt|apparently|found out"
        r"|root cause)\b",
    ),
    (
        "feeling",
        r"\b(?:love|hate|ugh|god|omg|lol|haha|tired|hungry|happy|sad|glad|angry|sorry|hope"
        r"|hopefully|luckily|wish|nice|lovely|beautiful|ugly|weird|crazy|silly|funny|boring"
        r"|terrible|awful|amazing|brutal|classic|poor|annoying|embarrass\w*|suspicious|mess"
        r"|mush|hurts?|brain|feel|feels|felt|laughed|joked|fun|cute|wild|potato|zombie)\b",
    ),
    (
        "hedge",
        r"\b(?:maybe|perhaps|might|what if|suppose|imagine|tempted|tempting|could be|not sure"
        r"|unsure|no idea|no clue|don't know|wonder\w*|possibly|torn|whether|someday|in theory"
        r"|thinking of|considering|would be nice)\b",
    ),
    ("bug", SYMPTOM),
    ("to agent", r"\b(?:you|your|you're|please|pls|kindly)\b"),
    ("for me", r"\b(?:for me|for us|to me|me)\b"),
    (
        "points",
        r"(?:^| )(?:it|that|this|them|those|these|one|ones|thing|stuff|there)$|\b(?:it|them)\b",
    ),
    (
        "because",
        r"\b(?:because|since|as (?:it|we|the|i|they|he|she)|due to|so that|cause|cuz|given)\b|;|\(",
    ),
    ("colon", r"^[\w' -]{2,40}: \S"),
    (
        "leaving",
        r"\b(?:bye|good night|gn|see you|laters|later!|stop here|for today|logging off|off to"
        r"|gotta go|heading|that's all|back to work|lunch|coffee|bed|cooking|train now)\b",
    ),
    ("said so", r"\b(?:says?|said|wants?|insists?|asked|told|thinks?|expects?)\b"),
    ("own", r"\b(?:our|my|us|we|i|me|mine|ours)\b"),
    (
        "size",
        r"\b(?:people|guests|kids|pupils|students|members|customers|users|rows|pages|copies"
        r"|litres?|kilos?|kg|gb|mb|metres?|km|euros?|percent|hours?|minutes?|days|weeks|months"
        r"|years|degrees|characters|a head|per \w+|a (?:month|week|day|year|minute|word))\b",
    ),
)
VALUES = (
    ("has:number", r"\d"),
    (
        "has:number word",
        r"(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|twice"
        r"|first|second|third)\b",
    ),
    ("has:day", rf"(?i)\b(?:{WEEKDAY}|weekends?|mornings|evenings|afternoons|noon|midnight)\b"),
    ("has:month", rf"\b(?i:{MONTH})\b"),
    ("has:clock", r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b|\bhalf past\b"),
    ("has:path", r"(?<!\S)[~/][\w.-]+|\b[\w-]+\.[a-z]{2,4}\b|`|\b[a-z]+[-_]\w*\d|\b\w+_\w+"),
    ("has:quote", r"[\"“”]"),
    ("has:exclaim", r"!"),
)


def _forms(text: str) -> frozenset[str]:
    """All simple forms of these verbs."""
    found: set[str] = set()
    for verb in text.split():
        base, _, past = verb.partition("/")
        stem = base[:-1] if base.endswith("e") else base
        found |= {base, base + "s", base + "es", stem + "ing", stem + "ed", *past.split("/")}
        if base[-1] not in "aeiouwxy" and base[-2] in "aeiou":
            found |= {base + base[-1] + "ing", base + base[-1] + "ed"}
        if base.endswith("y"):
            found |= {base[:-1] + "ies", base[:-1] + "ied"}
    return frozenset(found - {""})


VERBS = {
    "choose": _forms(
        """choose/chose/chosen pick opt decide select settle vote take/took/taken go/went"""
    ),
    "change": _forms(
        """switch move migrate replace rename swap convert shift extend adopt upgrade"""
    ),
    "keep": _forms("""keep/kept stay stick/stuck remain leave/left hold/held retain"""),
    "drop": _forms(
        """drop scrap ditch skip cancel stop cut postpone delay retire kill remove cap
        limit axe shelve"""
    ),
    "make": _forms(
        """use make/made do/did build/built run/ran print charge sell/sold offer open close
        start launch publish host serve"""
    ),
    "ask": _forms(
        """ask call ring/rang text email mail phone tell/told remind ping write/wrote chase
        contact message speak/spoke"""
    ),
    "fetch": _forms(
        """buy/bought order book pay/paid get/got pick bring/brought collect return
        send/sent renew submit sign apply register fetch"""
    ),
    "work": _forms(
        """fix clean review check test finish update rewrite draft prepare plan sort scan
        file fill photograph change document deploy rotate load"""
    ),
    "think": _forms(
        """think/thought guess know/knew believe feel/felt hope wonder mean/meant suppose
        remember understand/understood see/saw find/found hear/heard notice look seem"""
    ),
    "have": _forms("have/has/had own hold/held share rent get/got"),
    "do daily": _forms(
        """live work run teach/taught study play speak drive/drove manage lead/led handle
        collect cover sew breed host coach sing volunteer train eat/ate drink/drank wear"""
    ),
    "happen": _forms(
        """come/came arrive start end begin/began open close expire happen join move retire
        turn expect"""
    ),
    "fail": _forms("""fail break/broke crash hang/hung die burn blow freeze/froze lose/lost"""),
}
IMPERATIVES = listed(
    """act add answer apply build calculate call change check clean commit compare continue convert
    copy count create cut debug define delete deploy describe do draft draw drop edit explain fix
    forget format generate give go help hit ignore implement improve include install keep leave let
    list look make merge move open pick plan plot print pull push put read redo refactor refresh
    regenerate remind remove rename rephrase replace rerun restart revert review rewrite round run
    scale search send set shorten show simplify skip sort split start stay stick stop suggest
    summarise summarize switch take tell test throw tighten translate try turn undo update upload
    use wait write"""
)
_IRREGULAR = listed(
    """had did went came got made said told took sent left kept wrote found thought gave met paid
    ran sold bought brought lost won broke began held heard felt built spoke drove fell knew saw was
    were hung died rang sat spent taught caught cost put"""
)


def past(word: str) -> bool:
    return word in _IRREGULAR or (len(word) > 4 and word.endswith("ed"))
