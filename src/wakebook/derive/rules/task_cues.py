"""The phrases that give away a task, what blocks it, and a report that it is done, as data."""

from __future__ import annotations

from wakebook.derive.rules.vocabulary import DONE, TIME

# Tasks: `rest` is what to do, `topic` and `when` stand before it --------------------

_ALSO = "(?:(?:still|also|really|just|probably|definitely|then|actually|now) ){0,2}"
_SELF = "(?:i|we)(?:'ve|'m|'re| am| are)? "
_DUTY = (
    "(?:need to|have to|haveto|got to|gotta|must|ought to|have yet to|(?:am )?(?:supposed|meant"
    "|due|scheduled|expected) to|mustn't forget to|can't forget to|better|had better|(?:plan"
    "|intend|want) to remember to)"
)
TASKS = (
    r"(?-i:TODO)\s+(?P<rest>(?!list|comment|app|item)\w.+)",
    "(?:to-?do|action items?|follow[- ]?ups?|next (?:step|up|thing|action)s?|to do|reminder"
    "|note to self|(?:(?:next|still|also) )?on (?:my|the) (?:list|plate|agenda)|still (?:to do"
    "|missing|outstanding)|left to do|(?:my|our) (?:job|task|homework"
    r"|chore)(?: for \w+)?)(?: (?:here|for (?:me|us|tomorrow|today|later)|is|are|would be"
    r"|will be))?(?:\s*[:–-]\s*|\s+(?=to |the ))(?:to )?(?P<rest>.+)",
    "(?:(?:can|could|would|will) you )?(?:please )?remind (?:me|us)(?P<when> (?:on |at "
    r"|in )?(?:the )?[\w ]{2,20}?)?,? (?:to|that i (?:need|have) to) (?P<rest>.+)",
    "(?:please )?(?:don't let me forget|i (?:can't|mustn't|shouldn't) forget|make sure i"
    "|help me remember|don't forget|nag me|poke me|ping me|let's not forget|i (?:need|want"
    "|have) to remember)(?:[:,]|(?= )) ?(?:to |about )?(?P<rest>.+)",
    "(?:please )?(?:add|put) (?P<rest>.{3,120}?) (?:to|on|in) (?:my|the|our) (?:to-?do|list"
    r"|tasks?|backlog|agenda)\b.*",
    rf"(?:(?P<topic>[^?]{{3,90}}?),? )?{_SELF}{_ALSO}{_DUTY} {_ALSO}(?P<rest>.+)",
    rf"(?:(?P<topic>[^?]{{3,90}}), )?{_ALSO}(?:(?:gonna|going to|will) )?(?:need to|have to|haveto"
    "|gotta|got to|must) (?P<rest>.+)",
    r"(?:please )?remind (?:me|us)(?P<when> [\w ]{2,20}?)? (?P<rest>about .+)",
    r"(?:(?P<when>by [\w ]{2,20}?),? )?(?:i|we) (?:still )?owe (?P<rest>.+)",
    r"(?:i|we) (?:have |'ve )?(?:promised|told|said|agreed with)(?= (?:\w+ ){0,3}(?:i'd|i would"
    r"|we'd|to)\b) (?P<rest>.+)",
    r"(?:(?P<topic>[^?]{3,90}?),? )?(?:i|we)(?:'ll| will) (?:need|have) to (?P<rest>.+)",
    rf"(?:i|we) {_ALSO}(?:should|want to|hope to|plan to|aim to|intend to|would like to"
    rf"|'d like to) (?P<rest>(?=.*(?:{TIME})).+)",
    rf"(?:(?P<topic>[^?]{{3,90}}?),? )?(?:i|we)(?:'ll| will|'m going to|'m gonna| am going to"
    rf"|'re going to|'re gonna| are going to) {_ALSO}(?P<rest>(?=.*(?:{TIME}|\bmyself\b)).+)",
)
NO_REPORT = (  # that something is done: it is still to do, or waits for something else
    rf"{_SELF}{_ALSO}{_DUTY} ",
    r".*\b(?:before|until|till|once|when|as soon as|unless|if) [^,;.]{2,60}? (?:is|are|gets?) "
    r"(?:done|finished|ready|over|complete)\b",
)
BLOCKED = (  # owed by others, or stuck: kept in the speaker's words
    r"(?:i|we) can't .{3,60} until .+",
    rf"(?:i|we) (?:still )?(?:haven't|have not|havent) (?:{DONE})\b.+\byet\b.*",
    "(?:(?:i'm|we're|i am|we are|still) )?(?:still )?waiting (?:on|for) (?=.{0,40}?(?-i:[A-Z])"
    "|.{0,60}(?:from|reply|answer|approval|contract|legal|sign-?off|feedback|response|to hear"
    "|back)).+",
    r"(?:(?:i'm|we're|i am|we are|[\w' -]{3,50} (?:is|are)) )?(?:still )?(?:blocked"
    r"|stuck)(?: (?:on|until|by|till|because)\b.*|$)",
    r"[\w' -]{3,60} (?:still )?(?:has to|have to|needs to|need to|must) be .+",
    r"[\w' -]{3,60} (?:still )?(?:needs|need) (?:re)?\w{3,}ing\b.*",
    r"[\w' -]{3,60} still (?:needs|need) (?:an?|some|the|its|proper) .+",
    r"[\w' -]{3,60} (?:is|are) still (?:missing|outstanding|to do|pending|left to do)\b.*",
)
LISTED = (
    r"(?:.{0,30}\b)?(?:to-?dos?|next(?: steps?| up| session)?|action items?|(?:open )?tasks"
    r"|open points?"
    r"|follow[- ]?ups?|(?:still )?(?:to do|missing|open|left)|not done(?: yet)?|remaining|my list"
    r"|first thing(?: tomorrow)?|for tomorrow|tomorrow)(?: (?:for|on|is|are|:)[^:]{0,30})?:"
)
ITEMS = r"(?:,|;)? (?:and )?(?:then|after that|finally) |[,;] (?:and )?| and (?=(?:the|a|an) )"
NO_TASK = (  # what follows a duty cue without being work
    r"keep .{0,30}\bin mind|(?:keep going|keep working|focus|do better|start by)\b|(?:know"
    "|understand|see|think|say|admit|be|agree|ask (?:you|something)|have|wonder|confess|mention"
    "|sleep on|let you|figure out|work out|decide|find out|get back|believe|do (?:it|that)"
    "|laugh|like|look at (?:it|this|that)$|try (?:it|that)|take a (?:look|break)|go(?: now)?$"
    r"|run$|leave$)\b"
)
NOT_DONE = (
    r"\b(?:not|isn't|isnt|aren't|wasn't|haven't|hasn't|havent|hasnt|never|almost|nearly|half"
    r"|when|once|until|if|should be|will be|to be|tomorrow|yet|keep it)\b"
)
FINISHED = (
    rf"(?:(?:i|we)(?:'ve| have)? )?(?:{_ALSO}|(?:already|finally) )(?:{DONE})\b.+",
    rf"(?P<what>.{{3,90}}?)(?:,|:)?(?:'s| (?:is|are|was|were|has been|have been|got)) (?:(?:all"
    rf"|now|finally|already|both|also|officially) )?(?:{DONE}|live|out|through|complete|in|ready"
    r"|up|handled)\b.*",
    rf"(?P<what>[^:]{{3,60}}): (?:{DONE})\b.*",
    rf"(?P<what>.{{3,60}}?),? (?:{DONE})$",
    "(?:done|finished|through) with .+",
    r"(?:you (?:can|may) )?(?:cross|tick|check|strike|take) .{0,60}?(?:off|done)\b.*",
)
BY_NOW = (  # how things are by now, when nothing is owed any more
    r"^(?!.*\b(?:need|needs|must|have to|has to|will|going to|gonna|should|want|wants|if|can't"
    r"|maybe|next|still)\b).*\b(?:now|already|as of|this morning|yesterday|last night|today)\b"
)
CAME = (  # what one waited for is there
    r"\b(?:came|arrived|answered|replied|signed|wrote|written|is (?:off|through|history|here|there"
    r"|back|gone)|'s (?:off|through|here)|are (?:off|through|here|even)|got (?:the|my|his|her|it)"
    r"|has (?:(?:his|her|their) .{2,40} now|signed|paid|answered|gone|arrived)|fits|works now"
    r"|deployed"
    r"|moved|off (?:my|the) list|said yes|says yes|run through|tick|history|behind (?:me|us)"
    r"|out of the way|taken care of|all set|at last|in the (?:bag|mail|post|bin|bank)"
    r"|dealt with|wrapped"
    r"|handed (?:in|over)|over and done|on (?:its|their) way|sorted|ticked|crossed|cross off"
    r"|cleared"
    r"|picked up|dropped off|went (?:out|through|off)|went in|in place|up and running|finally)\b"
)
FINISHED_THAT = (
    "(?:that's|thats|that is|it's|this is|that one's|that one is|both are|all) (?:now |all "
    r"|already )?(?:done|finished|sorted|shipped|sent|merged|live|handled|out)\b|(?:done"
    "|finished|shipped(?: it)?)$"
)
REPORT = r"(?:^|[.!?\n]\s?)(?:i've|i have|done)\b"  # the agent may have finished something
