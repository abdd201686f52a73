"""The vocabulary of the rules: classes of words that several cues are made of.

Everything here is a piece of a regular expression, to be put in brackets by its user.
`pattern` compiles when first used, without regard to case.
"""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def listed(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
WEEKDAY = (
    "mon(?:day)?s?|tue(?:s(?:day)?)?s?|wed(?:nesday)?s?|thu(?:rs(?:day)?)?s?|fri(?:day)?s?"
    "|sat(?:urday)?s?|sundays?|sun"
)
TIME = (
    rf"(?:\b(?:{WEEKDAY}|tomorrow|tonight|later|soon|next (?:week|month|year|sprint|time)"
    "|end of (?:the )?(?:day|week|month|year)|this (?:afternoon|evening|week|weekend|month)"
    r"|(?:after|before|by|once|when|until) \w+|\d{1,2}(?:st|nd|rd|th)|first thing|in the morning"
    rf"|on the (?:train|plane|weekend)|\d{{1,2}} (?:{MONTH})|(?:{MONTH}) \d{{1,2}})\b)"
)
VERB = (
    "(?:is|are|was|were|'s|isn't|aren't|will|has|have|had|hasn't|haven't|lives?|sits?|runs?"
    "|comes?|starts?|ends?|belongs?|owns?|leads?|handles?|works?|wants?|likes?|loves?|hates?"
    "|prefers?|delivers?|moved|left|joined|gets?|goes|go|uses?|costs?|takes?|holds?|can't"
    "|cannot|can|doesn't|don't|won't|opens?|closes?|arrives?|reports?|pays?|needs?|stays?"
    "|lands?|speaks?|teaches|manages?|expects?|insists?|approves?|signs?|covers?|plays?|keeps?"
    "|died|quit|started|got|said|says|called|turned|turns|happens?|came|went|arrived|cost|took"
    "|paid|ended|finished|increased|dropped|grew|expires?|renews?|falls|knows|never|always)"
)
ROLES = (
    "manager|boss|lead|advisor|supervisor|doctor|dentist|teacher|designer|contact|landlord"
    "|landlady|lawyer|accountant|partner|wife|husband|fianc[eé]e?|girlfriend|boyfriend|mum|mom"
    "|mother|dad|father|sister|brother|son|daughter|kids?|children|twins|aunt|uncle|cousin"
    "|niece|nephew|grandma|grandpa|friend|colleague|coworker|co-?founder|founder|ceo|cto|cfo"
    "|client|customer|neighbou?r|roommate|flatmate|coach|trainer|therapist|vet|editor|agent"
    "|plumber|electrician|tiler|builder|developer|engineer|intern|assistant|dog|cat|horse"
    "|florist|treasurer|apprentice|adviser|photographer|caretaker|secretary|chair|captain|miller"
    "|principal|head|director|owner|maintainer|reviewer|supplier|vendor|nurse|physio|pm|pi"
)
HEDGE = (  # said without being meant as a statement
    r"\b(?:maybe|perhaps|might|what if|suppose|supposing|imagine|hypothetical(?:ly)?|could we"
    "|would it|wonder(?:ing)?|if (?:i|we|you|he|she|they|it|someone)|in theory|tempted"
    r"|thinking of|considering|possibly|not sure|unsure|let's say|theoretically|either)\b"
)
SYMPTOM = (  # signs of a bug that is being talked about
    r"\b(?:errors?|fail(?:s|ed|ing|ure|ures)?|broken|crash(?:es|ed|ing)?|bugs?|exception"
    "|warnings?|traceback|undefined|null|nan|404|500|timeouts?|hangs?|stack ?trace|segfault"
    "|(?:doesn't|isn't|aren't|does not|is not) work(?:ing)?|weird|typo|output|returns?|returned"
    r"|prints?|compil(?:e|es|ed|ing)|line \d+|loading|button|regex|function|variable|syntax"
    r"|stderr)\b"
)
ASKS = (  # how a question starts
    "(?:what|whats|what's|how|hows|how's|why|which|who|whos|who's|whom|where|wheres|where's"
    "|when|can|could|would|will|is|are|am|does|do|did|has|have|should|shall|any|got any|regex"
    r"|was|were|isn't|aren't|doesn't|don't you)\b"
)
DIRECTIVE = (  # how a request to the agent starts
    "(?:redesign|design|act|imagine|provide|pretend|answer|respond|reply|analy[sz]e|outline"
    "|brainstorm|prepare|plan|help|consider|assume|elaborate|expand|organi[sz]e|define|discuss"
    r"|identify|include|teach|play|pretend|select|choose|rank)\b|(?:please|pls|kindly|can you"
    "|could you|would you|will you|i need you to|i want you to|i'd like you to|help me"
    "|need (?:a hand|help)|let me|show|give|tell|explain|write|make|run|rerun|fix|add|rename"
    "|translate|summari[sz]e|convert|list|find|draft|check|commit|regenerate|put|create|update"
    "|remove|delete|generate|change|look|try|open|read|search|compare|review|rewrite|refactor"
    "|implement|build|test|debug|format|install|set|move|copy|print|send|describe|suggest"
    "|recommend|do|go|use|keep|continue|stop|undo|revert|apply|merge|push|pull|deploy|start"
    "|wait|hold on|forget|ignore|clean|sort|count|calculate|compute|plot|draw|shorten|simplify"
    r"|improve|turn|take|pick)\b"
)
DONE = (
    "sent|shipped|submitted|finished|completed|merged|deployed|released|launched|fixed|wrote"
    "|written|called|phoned|emailed|mailed|booked|paid|swapped|replaced|uploaded|printed|filed"
    "|signed|posted|published|delivered|ordered|bought|renewed|cancelled|canceled|returned"
    "|handed in|turned in|handed over|picked up|dropped off|set up|sorted|sorted out|cleaned"
    "|cleaned up|updated|migrated|moved|scheduled|arranged|reviewed|approved|tested|rotated"
    "|installed|configured|documented|drafted|asked|told|met|talked to|spoke to|spoke with|got"
    "|collected|reconciled|transferred|invoiced|reported|resolved|closed|removed|deleted|added"
    "|refactored|implemented|built|rewrote|wrapped up|knocked out|took care of|dealt with"
    "|ticked off|crossed off|checked|confirmed|registered|applied|repaired|painted|hung|planted"
    "|watered|packed|pushed|prepared|recorded|done"
)
CHOOSE = (  # base forms: "let's ...", "we'll ...", "decided to ..."
    "(?:go with|go for|go|use|take|keep|stick with|stick to|stay with|stay on|stay|switch|move"
    "|migrate|drop|skip|scrap|ditch|call it|name it|postpone|make it|cap|limit|target|adopt"
    "|hold off|defer|leave|avoid|split|replace|rename|cancel|stop|start using"
    "|standardi[sz]e|host|store|settle|opt|cut|park|not|ban|retire|rewrite|push|ship|delay|kill"
    r"|remove|merge|\w+ (?=.*\binstead))"
)
CHOOSING = (
    "(?:going (?:with|for|ahead)|switching|moving|migrating|dropping|sticking|staying|taking"
    "|keeping|skipping|scrapping|ditching|killing|cutting|cancelling|canceling|postponing"
    "|delaying|stopping|replacing|retiring|splitting|standardi[sz]ing|adopting"
    "|pushing|not doing|not going|not using|no longer (?:using|doing)|doing|using|putting off"
    "|holding off|calling it|naming it)"
)
PAST_EVENT = (
    "(?:moved|joined|started|quit|left|got|bought|sold|hired|signed|broke|lost|passed|graduated"
    "|was born|grew up|married|met|adopted|launched|raised|won|retired|switched|became|turned"
    r"|had (?:a|an|our|my|surgery|(?:about |around |over )?\d+)|closed|opened|inherited|enrolled"
    "|was diagnosed|founded|released|was promoted|took over|landed)"
)
VAGUE = (  # an object that says nothing without the conversation
    "(?:it|that|this|these|those|them|to|how|what|where|when|why|your|you|the idea|one|some"
    "|an? (?:question|problem|bug|issue|few|idea|feeling|couple|look|error|doubt|quick|lot|bit"
    "|hard time|thought|request|favou?r|minute|moment|template|list|file|function|table)"
    "|no (?:idea|clue|problem|questions?)|trouble|the (?:same|feeling|following)|so|more"
    r"|another)\b"
)
MENTAL = (  # what the speaker thinks, not what is
    "(?:(?:can't|cannot|don't|do not|never|always|really|still|just|also|only"
    "|didn't) ){1,2}(?:wait|believe|think|know|knew|see|find|seem|remember|recall|understand"
    "|want|mind|get|figure|help|care|agree|appreciate|feel|struggle|stress|thought|realized"
    "|hesitate|decide|tell|work out|have (?:any|a|the|to|time|much|enough)|need|mean|expect"
    r"|worry)\b"
)
THIN = (  # what one gets, moves or starts in any talk
    "(?:it|that|this|these|those|them|back|rid|to (?:see|do|know|try|go|meet|hear|be|say"
    "|the point)|around|an? (?:e-?mail|message|notification|reply|response|call|idea|feeling"
    "|chance|deal|sense|new|lot|bit|few)|the (?:error|idea|impression|feeling|chance|same)"
    r"|an? (?:error|warning|weird)|stuck|to (?:the|a) (?:point|part)|on\b|off|an?other|some"
    r"|confused|lost)\b"
)
CODE = (  # the set-up of a programming question
    r"(?:.{0,20}\bhave|.{0,20}'ve got) (?:an?|the following|\d+|two|three|four|some|this"
    r"|several) (?:[\w-]+ ){0,2}?(?:lists?|arrays?|tables?|columns?|rows?|strings?|dicts?"
    "|dictionar|dataframes?|csv|json|files?|functions?|class(?:es)?|variables?|scripts?|query"
    r"|queries|numbers?|vectors?|matri|components?|endpoints?|tests?|branch|commits?|repo)\b"
)
MARKUP = r"\s*(?:```|\||<)"  # a message that starts so is hardly prose
