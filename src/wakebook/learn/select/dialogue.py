"""The phrases of a dialogue, as data: correcting, leaving open, proposing and accepting."""

from __future__ import annotations

from wakebook.learn.select.sentences import CHOOSE

# Corrections ------------------------------------------------------------------------

WRONG = (
    "(?:(?:oops|sorry|hm+|wait|nope|no|ah|oh|actually|um|whoops|my (?:bad|mistake)|correction"
    "|scratch that|scrap that|strike that|forget that|i (?:meant|mean|misspoke)|i was wrong"
    "|(?:that's|thats|that is|this is|it's|.{2,40}? is|you're) (?:wrong|not right|not correct"
    "|incorrect|outdated|out of date|not true|old|stale|a mistake)(?: (?:now|actually))?"
    r"|change of plans?(?: on [\w ]{2,30})?|hang on|make that|come to think of it"
    r"|on second thoughts?)(?:\s*[,.:;!–—-]+\s*|\s+|$)){1,4}"
)
WRONG_STRONG = (
    r"\b(?:oops|whoops|correction|scratch that|scrap that|strike that|forget that|i meant"
    "|misspoke|wrong|not right|not correct|incorrect|outdated|out of date|not true|stale"
    "|mistake|change of plans?|hang on|make that|come to think|on second thought"
    "|no,? (?:actually|it's|wait|that's)|sorry,? (?:i|it|that|not)"
    r"|nope|actually,? no)\b"
)
IS_NOT = r"(?:.{0,70}[:,] )?(?:it|that)(?:'s| is) not (?:the )?(?P<old>\d[\w .:%€$]{0,20})"
NOT_THIS = r"(?:it's |its )?not (?P<old>[\w' .-]{1,40}?)(?:,|;| but| -) (?:but )?(?P<new>.+)"
UNDONE = (  # something that was settled is given up
    r"\b(?:scrap|forget|after all|instead|no longer|any ?more|hang on|make that|come to think"
    r"|on second thoughts?|mistake|(?:is|'s) (?:dead|off|out)|not more|take (?:that|something) back"
    r"|new plan|change of (?:plan|heart)|rather than)\b"
)
NOW = (  # things are otherwise now
    r"\b(?:now|no longer|any ?more|moved|changed|switch(?:ed|ing)?|scrap|ditch|drop|instead"
    "|after all|these days|rather than|not doing|overturned|postponed|pushed (?:back|to)"
    r"|rescheduled|dropping|replaced|new|back to|change of plans?)\b"
)

# Questions --------------------------------------------------------------------------

OPEN_HINT = (
    r"\b(?:still|yet|unclear|undecided|unresolved|unsure|unsettled|open|tbd|decided?|sure|fence"
    r"|torn"
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
DOUBT = (  # the speaker does not know
    r"\b(?:(?:don't|do not|dont) (?:really |yet |honestly )?know|dunno|no (?:idea|clue)"
    r"|not (?:yet )?"
    r"(?:really |quite |so )?(?:sure|clear|certain|decided|convinced)|unsure|unclear|undecided"
    r"|(?:haven't|hasn't|not) (?:yet )?(?:decided|settled|figured|made up)|still open|open for me"
    r"|open is|remains open|(?:can't|cannot|couldn't) (?:decide|tell|say|make up)|torn|jury"
    r"|up in the air|ongoing debate|(?:one )?to be seen|depends on|will have to see|have to see"
    r"|no answer|nobody knows|not known|(?:the )?(?:big|open|only) question)\b"
)
NO_DOUBT = (  # a doubt that is none, or about the talk itself
    r"\b(?:what you mean|i mean|by heart|how to (?:say|spell|thank)|why you|who you|what to say"
    r"|what (?:that|this|it) (?:is|means|does)|where to (?:start|begin)|what happened)\b"
)
ASKED = (  # the question inside a statement
    r"(?P<rest>\b(?:whether|if|who|whom|how|what|which|when|where|why|between|do we|do i|does|is"
    r"|are|should|can|may|will)\b.+)"
)
SHELVE = (
    r"\b(?:(?:have to |need to |will |i'll |let me |let's )+(?:sleep on|think about|park|mull over)"
    r" (?:it|that|this)(?: one)?)\b"
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
    r"|don't know yet|need to sleep on|let's park|needs? to weigh in|open for now|ask (?:him"
    r"|her|them)|would know)\b"
)
UNKNOWN = (  # the agent cannot answer
    r"\b(?:i (?:can't|cannot|can not|don't|do not|am not able to|'m not able to"
    "|am unable to) (?:tell|know|see|say|answer|check|verify|access)|not able to (?:say|tell"
    "|see)|unable to (?:say|tell|see)|(?:you(?:'d| would|'ll)?|you) (?:need|have) to (?:ask"
    r"|check with)|no way (?:for me )?to know|hard to (?:say|tell)|only you can"
    r"|impossible to say|i don't(?: know)? either|can't be answered"
    r"|guessing wouldn't|without (?:a|more|the) (?:test|numbers?|data|load test))\b"
)
TO_AGENT = r"\b(?:you|your|pls|please)\b"
TO_USER = (  # an agent's question that is worth an answer
    "(?:and )?(?:which|what|when|who|where|how (?:many|much|long"
    r"|often))\b(?!.*\b(?:do you think|would you|do you like|can i|could i|help"
    r"|about)\b)(?=.*\b(?:your?|we|our|should)\b)"
)

# Handoff ----------------------------------------------------------------------------

CHATTER = (  # starts small talk or an aside
    r"(?:yes|no|thanks|thank|ok|sounds|looks|haha|lol|bye|good night|enjoy|see you|hello|hi"
    r"|speaking of"
    r"|side question|last one|what do you do|strange hour|luckily|oh no|ouch|let me tell)\b"
)
PASSING = (  # hardly what a window was about
    r"\b(?:one thing less|this morning|cut off|off my list|is done|finished|luckily|tonight"
    r"|yesterday|came|died)\b"
)
STANDS = (  # says where things stand at the end
    r"\b(?:the state|state of (?:things|play)|not done|still (?:open|missing|to do)|for tomorrow"
    r"|first thing tomorrow|next (?:time|session|up|step)|tomorrow:|left to do|where we (?:are"
    r"|stand)"
    r"|i(?:'m| am) stopping|(?:is|are) for next time|continue with)\b"
)

# Proposals and their acceptance -----------------------------------------------------

PROPOSALS = (
    r"\b(?:i'd|i would|i) (?:strongly |also |simply |probably )?(?P<rest>(?:suggest|recommend"
    "|propose|advise|go (?:with|for)|take|use|pick|choose|start with|lean towards|opt for|keep"
    "|stick with|move|split|store|put|drop|skip|switch|do|run|merge|make|set|leave|charge"
    r"|print|book|buy|limit|send|plan|hold|serve|offer)\b.+)",
    r"\b(?:my|the) (?:suggestion|recommendation|proposal|pick|advice|preference)(?: (?:is"
    r"|would be))?\s*:?\s*(?P<rest>.+)",
    r"\b(?:then )?the (?P<rest>(?:first|second|third|last)(?: one| option)? (?:fits|is|would|has"
    r"|seems|looks|works|sounds|suits)\b.+)",
    "^(?:how|what) about (?:we )?(?P<rest>.+)",
    "^(?:let's|we (?:could|should|can)|you (?:could|should)|shall we"
    rf"|should we) (?P<rest>{CHOOSE}\b.+)",
)
ADVISES = (  # plain advice: taken when the user says yes to it
    r"^(?:[^,]{0,50}, )?(?:then )?(?P<rest>(?:start|use|take|keep|make|put|move|go|split|charge|run"
    r"|leave|set|do|plan|try|book|send|serve|limit|switch|drop|print|write|meet)\b.+)"
)
OFFER = (
    r"(?:shall i|should i|(?:do you )?want me to|would you like(?: me)?|do you need|may i"
    r"|can i)\b"
)
OPTIONS = (  # what follows is to choose from
    r"(?i)\b(?:options?|suggest\w*|recommend\w*|propos\w*|i'd|lean|alternatives?|ideas?|names?"
    r"|taglines?|titles?|variants?|choices?|ways|possibilities|regions?|depends on"
    r"|either|fits|(?:two|three|four) (?!causes|reasons|steps|errors|tests)\w+)\b"
    r"|\b(?:could|can):|^\s*(?:1|A)[.)]"
)
PROPOSED = r"(?:suggest|recommend|propose|advise)(?:ing)?(?: that)?(?: (?:you|we))?\s+"
YES = (
    "(?:(?:yes|yep|yeah|yup|sure|ok(?:ay)?|k|great|perfect|agreed|fine|absolutely|definitely|deal"
    "|approved|right|good|nice|cool|super|alright|works|sold|love it|i like (?:it|that)|fair"
    r"|i trust you|makes sense|haha+)\b[\s,.!-]*){0,3}"
)
YES_ONLY = (
    r"(?:yes|yep|yeah|yup|sure|ok(?:ay)?|right|good|nice|cool|fine|great|hm+|ah|oh|alright)"
    r"(?:,? (?:yes|yep|yeah|that|ok|good|fine|then|makes sense|fair))?"
)
GLAD = (  # yes and nothing else
    r"(?:yes|yep|yeah|yup|sure|perfect|great|agreed|absolutely|definitely|deal|approved|sold|fine"
    r"|super|love it|i like (?:it|that)|works)\b"
)
COMMIT = (
    "(?:please )?(?:do (?:it|that|this|so)|go(?: ahead| for it| with (?:that|it|this))?$"
    "|let's(?: (?:do"
    "|go with|try) (?:it|that|this)| go)?$|let's do (?:it|that)|sounds (?:good|great|right|perfect)"
    "|agreed|(?:that )?works|make it so|please do|deal|approved|i'm in|(?:good|great) (?:idea"
    "|plan|call)"
    "|yes please|sold|(?:fine|good|ok(?:ay)?|happy) (?:by|with) (?:me|that|it)|i(?:'m"
    "| am) (?:fine|happy"
    "|good|ok) with|i(?:'ll)? take (?:it|that)|as you (?:say|propose|suggest)"
    "|that(?:'s the)? one|that$"
    "|(?:you've |i'm )?convinced|happy (?:to go )?with|(?:i|we)(?:'ll)? (?:will )?do (?:it"
    "|that)|will do"
    "|that way|like that|(?:by|with) me|let's$|i like (?:it|that))"
)
ASKS_ASSENT = (  # a question that yes answers with a choice
    r"^(?:shall|should) we\b|^(?:how|what) about\b|\b(?:that|this|it) (?:work|ok|okay|fine|suit"
    r"|sound)"
    r"|^(?:ok|okay|agreed|deal)$|^(?:sound|sounds)\b|^(?:what do you think|shall i set)\b"
    r"|\bgo with\b"
)
REFUSES = (
    r"\b(?:no|not|don't|nah|neither|none|but|maybe|perhaps|hm+|later|wait|thanks|thank)\b(?! one)"
)
NOW_ONLY = (  # a step of the work at hand
    r"\b(?:(?<!for )now|show me|first (?:two|three)|then show|fix it|go on|next)\b"
)
TAKING = (
    r"(?:(?:i'd say|i think|then|definitely|so|let's (?:do|take|go (?:with|for)|use|make it)"
    r"|go (?:with"
    r"|for)|take|make it|(?:we|i)(?:'ll|'d)? (?:take|go (?:with|for)|pick|choose|prefer|like)) )+"
)
TAKEN_END = (
    r",? (?:then|please|pls|it is(?: then)?|for sure|for me|sounds (?:good|best|great)"
    r"|works(?: for me)?"
    r"|definitely|yes|wins)$"
)
PICK = (
    r"(?:the )?(?P<pick>(?:(?:option|number|no\.?|nr\.?|#) ?)?(?:\d(?:(?:,| and|,? &|\+) ?\d){0,4}"
    r"|[a-e]|(?<=number )(?:one|two|three|four))|(?:first|second|third|fourth|last|former|latter))"
    r"(?: (?:one|option|approach|idea|version))?(?: for now)?"
)
