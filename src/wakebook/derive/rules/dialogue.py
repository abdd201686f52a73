"""The phrases of a dialogue, as data: correcting, leaving open, proposing and accepting."""

from __future__ import annotations

from wakebook.derive.rules.vocabulary import CHOOSE

# Corrections ------------------------------------------------------------------------

WRONG = (
    "(?:(?:oops|sorry|hm+|wait|nope|no|ah|oh|actually|um|whoops|my (?:bad|mistake)|correction"
    "|scratch that|scrap that|strike that|forget that|i (?:meant|mean|misspoke)|i was wrong"
    "|(?:that's|thats|that is|this is|it's|.{2,40}? is|you're) (?:wrong|not right|not correct"
    "|incorrect|outdated|out of date|not true|old|stale|a mistake)(?: (?:now|actually))?"
    r"|change of plans?(?: on [\w ]{2,30})?)(?:\s*[,.:;!–—-]+\s*|\s+|$)){1,4}"
)
WRONG_STRONG = (
    r"\b(?:oops|whoops|correction|scratch that|scrap that|strike that|forget that|i meant"
    "|misspoke|wrong|not right|not correct|incorrect|outdated|out of date|not true|stale"
    "|mistake|change of plans?|no,? (?:actually|it's|wait|that's)|sorry,? (?:i|it|that|not)"
    r"|nope|actually,? no)\b"
)
NOT_THIS = r"(?:it's |its )?not (?P<old>[\w' .-]{1,40}?)(?:,|;| but| -) (?:but )?(?P<new>.+)"
NOW = (  # things are otherwise now
    r"\b(?:now|no longer|any ?more|moved|changed|switch(?:ed|ing)?|scrap|ditch|drop|instead"
    "|after all|these days|rather than|not doing|overturned|postponed|pushed (?:back|to)"
    r"|rescheduled|dropping|replaced|new|back to|change of plans?)\b"
)

# Questions --------------------------------------------------------------------------

OPEN_HINT = (
    r"\b(?:still|yet|unclear|undecided|unresolved|unsure|unsettled|open|tbd|decided?|sure|fence|torn"
    r"|idea|clue|figured?|work(?:ed)? out|find out|know|unknown|answered|settled|question|thing|bit"
    r"|part|jury|seen?|whether|in the air|determined?|resolved|clarify|uncertainty)\b"
)
OPEN = (  # a question that the speaker leaves open; `rest` is the question
    "(?:it(?:'s| is)? )?(?:also )?(?:still |also |remains |is )*(?:an )?(?:open question"
    "|undecided|unclear|unresolved|unsure|open|tbd|to be decided|up in the air"
    r"|unsettled)(?: still| yet)?(?:\s*:\s*|\s+(?:is\s+|about\s+|on\s+)?(?=who|whether|if|how"
    r"|what|which|when|where|why|do|does|is|are|should)|\s+(?:about|on)\s+)(?P<rest>.+)",
    "(?P<rest>.{4,120}?) (?:is|are|remains?|'s) (?:still |all )?(?:an open question|undecided"
    "|unclear|unresolved|open|tbd|to be decided|up in the air|not decided(?: yet)?"
    "|not settled(?: yet)?|unsettled|the open question)(?: still| yet| for now"
    "| at the moment)?$",
    r"(?=.{0,40}\b(?:yet|still|no idea|no clue|on the fence|undecided)\b)(?:(?:i'm|we're|i am"
    "|we are|im|still|honestly) )*(?:not (?:yet )?(?:entirely |quite |really )?sure|unsure"
    "|on the fence|undecided|torn|no idea|no clue)(?: yet| still)?(?: about"
    r"| on)? (?P<rest>(?:who|whether|if|how|what|which|when|where|why|between|about)\b.+)",
    "(?:(?:i|we|nobody|no one)(?: has| have)? )?(?:still )?(?:haven't|havent|hasn't|have not"
    "|not|never) (?:yet )?(?:figured out|decided|worked out|settled|made up (?:my"
    "|our) minds?(?: about| on)?|answered|resolved|determined)(?: yet"
    r"| still)?:? (?P<rest>(?:who|whether|if|how|what|which|when|where|why|on|about)\b.+)",
    "(?:what |the (?:one |only |big |main )?(?:thing|bit|part|question) )?(?:i|we"
    "|nobody)(?: honestly| really| just| still)* (?:can't|cannot|don't|do not|couldn't|has"
    "|have)(?: yet| really| quite)? (?:know|decide|work out|figure out|make up my mind|tell"
    r"|answered)(?: yet| still)?(?: is)?\s*:?\s*(?P<rest>(?:who|whether|if|how|what|which|when"
    r"|where|why|do|does|is|are|should|between)\b.+)",
    "(?:the |one |another )?(?:(?:one|only|big|main|open|remaining) )*(?:thing|bit|part"
    r"|question)s?(?: that)? (?:i|we|nobody|no one|still)\b[^:]{0,50}:\s*(?P<rest>.+)",
    "(?:(?:i|we)(?: still| also)*(?:'ll| will)? )?(?:need|have) to (?:figure out|work out|decide"
    "|find out|determine|settle|clarify|agree on|think about) (?P<rest>(?:who|whether|if|how"
    r"|what|which|when|where|why|on|between)\b.+)",
    "(?:(?:i'm|we're|i am|we are) )?(?:still )?torn (?P<rest>between .+)",
    r"(?P<rest>(?:who|what|how|which|when|where|whether)\b[^,]{3,80}), (?:i|we)(?: really| honestly"
    r"| still| just)* (?:don't know|haven't decided|can't say|have no idea|can't decide)\b.*",
    "(?:the )?jury(?:'s| is) still out on (?P<rest>.+)",
    "(?:(?:i|we) )?still (?:don't|do not) know (?P<rest>(?:who|whether|if|how|what|which|when"
    r"|where|why)\b.+)",
    "(?:we'll|i'll|it) (?:have to see|remains to be seen|need to see) (?P<rest>(?:who|whether"
    r"|if|how|what|which|when|where)\b.+)",
    "the (?:big |main |real |only |remaining |open )*(?:unknown|question|uncertainty|issue left"
    "|open point) (?:is|remains|now is) (?P<rest>(?:who|whether|if|how|what|which|when|where"
    r"|why)\b.+)",
    r"(?P<rest>(?:whether|how|who|what|which|when|where|if)\b.{4,100}?) is (?:something|still"
    r"|a question|another question|what)\b.*",
    "(?P<rest>.{4,80}?) is (?:the|one|what)(?: (?:bit|part|thing|question"
    "|one)(?: that)?)? (?:i'm|i am|we're|we are|i|we) (?:still )?(?:unsure|not sure|undecided"
    "|torn|stuck|can't decide|haven't decided|don't know)(?: yet)?(?: about| on)?$",
)
WONDER = (
    r"(?:i'm|we're|i am|we are) (?:still )?not (?:\w+ )?sure(?: about)? (?P<doubt>(?:if|whether"
    r"|how|what|which|who|when|where)\b.+)|(?:i|we)(?:'m| am|'re| are)? (?:still )?(?:wonder"
    "|wondering|keep wondering|debating|asking (?:myself|ourselves))(?: about)?"
    r" (?P<rest>(?:if|whether|how|what|which|who|when|where|between)\b.+)"
)
PARK = (  # leaves the last question open
    r"^(?:no idea|no clue|dunno|who knows|beats me)$|\bcan't (?:decide|make up my mind)$"
    r"|\b(?:leave (?:it|that|this) open|park (?:it|that|this|the)|sleep on it|think about (?:it"
    "|that)|think it over|mull (?:it|that)|none of (?:those|these|them) (?:decided|convinc)"
    "|(?:still )?(?:unclear|undecided|unsure)|no conclusion|neither (?:convinces|works|feels|is|of)"
    "|not decided"
    "|haven't decided|come back to (?:it|that|this)|get back to (?:you|it|that)|revisit"
    "|decide (?:later|another time|that later)|let me think|need to think|not (?:sure )?yet"
    r"|don't know yet|needs? to weigh in|open for now|ask (?:him|her|them)|would know)\b"
)
UNKNOWN = (  # the agent cannot answer
    r"\b(?:i (?:can't|cannot|can not|don't|do not|am not able to|'m not able to"
    "|am unable to) (?:tell|know|see|say|answer|check|verify|access)|not able to (?:say|tell"
    "|see)|unable to (?:say|tell|see)|(?:you(?:'d| would|'ll)?|you) (?:need|have) to (?:ask"
    r"|check with)|no way (?:for me )?to know|hard to say|only you can)\b"
)
TO_AGENT = r"\b(?:you|your|pls|please)\b"
TO_USER = (  # an agent's question that is worth an answer
    "(?:and )?(?:which|what|when|who|where|how (?:many|much|long"
    r"|often))\b(?!.*\b(?:do you think|would you|do you like|can i|could i|help"
    r"|about)\b)(?=.*\b(?:your?|we|our|should)\b)"
)

# Proposals and their acceptance -----------------------------------------------------

PROPOSALS = (
    r"(?:[^.?!]{0,80}?\b)?(?:i'd|i would|i) (?:strongly |also )?(?P<rest>(?:suggest|recommend"
    "|propose|advise|go (?:with|for)|take|use|pick|choose|start with|lean towards|opt for|keep"
    r"|stick with|move|split|store|put|drop|skip|switch)\b.+)",
    "(?:my|the) (?:suggestion|recommendation|proposal|pick|advice|preference)(?: (?:is"
    r"|would be))?\s*:?\s*(?P<rest>.+)",
    "(?:how|what) about (?:we )?(?P<rest>.+)",
    "(?:let's|we (?:could|should|can)|you (?:could|should)|shall we"
    rf"|should we) (?P<rest>{CHOOSE}\b.+)",
    "(?:shall i|should i|(?:do you )?want me to|would you like me to|i (?:can"
    rf"|could)) (?P<rest>{CHOOSE}\b.+)",
)
PROPOSED = r"(?:suggest|recommend|propose|advise)(?:ing)?(?: that)?(?: (?:you|we))?\s+"
YES = (
    "(?:(?:yes|yep|yeah|yup|sure|ok(?:ay)?|great|perfect|agreed|fine|absolutely|definitely|deal"
    r"|approved|right|good|nice|cool|love it|i like (?:it|that))\b[\s,.!-]*){0,3}"
)
COMMIT = (
    "(?:please )?(?:do (?:it|that|this|so)|go (?:ahead|for it|with that)|let's (?:do|go with"
    "|try) (?:it|that|this)|sounds (?:good|great|right|perfect)|agreed|works for me|that works"
    "|make it so|please do|deal|approved|i'm in|(?:good|great) (?:idea|plan|call)|yes please"
    r"|let's go)\b"
)
CHOICE = (
    r"(?P<pick>(?:(?:option|number|no\.?|nr\.?|#) ?)?\d(?:(?:,| and|,? &"
    r"|\+) ?\d){0,4})(?: (?:yes|please|it is|then|sounds good|then please|for sure|works))?$"
)
PICK = (
    r"(?:(?:let's |we'll |i'll )?(?:go|do|take|try|use) (?:with |for )?"
    r"|i(?:'d)? (?:like|prefer|pick|choose|take) )?(?:the )?"
    r"(?P<pick>(?:option|number|#) ?(?:\d|[a-e])\b|(?<=with )\d\b"
    r"|(?<=the )(?:first|second|third|fourth|last|former|latter)\b)"
    r"(?: (?:one|option|approach|idea|version))?"
    r"(?=\s*(?:$|[,.;!]|please|sounds|it is|then|works|looks|because|since))"
)
TAKEN = r"(?P<rest>[\w' /+-]{2,50}?),? (?:then|yes|please|it is|sounds good|works(?: for me)?)$"
