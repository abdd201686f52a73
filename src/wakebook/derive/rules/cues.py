"""The phrases that give away a decision or a fact, as data: one table for each type.

Patterns are anchored at the start of a clause wherever that is possible, and bounded. A
table is read from the top; the first that matches wins.
"""

from __future__ import annotations

from wakebook.derive.rules.vocabulary import (
    CHOOSE,
    CHOOSING,
    MENTAL,
    MONTH,
    PAST_EVENT,
    ROLES,
    THIN,
    VAGUE,
    VERB,
    WEEKDAY,
)

# Decisions: the content starts at `rest` --------------------------------------------

_NOW = (
    "(?:(?:now|just|also|all|finally|then|definitely|actually|probably not|officially"
    "|ultimately) ){0,2}"
)
DECISIONS = (
    rf"(?:(?P<topic>[^?]{{3,60}}?),? )?(?:let's|lets|let us) {_NOW}(?P<rest>{CHOOSE}\b.+)",
    "(?:(?P<topic>[^?]{3,60}?),? )?(?:(?:i|we)(?:'ve| have)? |(?=(?:decided|agreed|settled"
    "|concluded|opted|went)))"
    rf"{_NOW}(?:decided|agreed|concluded|voted|resolved|committed)(?: [^:]{{0,30}}?)? (?:to|that"
    r"|against|on)\b (?P<rest>.+)",
    rf"(?:(?P<topic>[^?]{{3,60}}?),? )?(?:(?:i|we)(?:'ve| have)? )?{_NOW}(?P<rest>(?:settled on"
    "|opted (?:for|to)|went (?:for|with)"
    r"|chose|picked|landed on|decided (?:on|against)|committed to|ruled out|signed off on)\b.+)",
    rf"(?:(?P<topic>[^?]{{3,60}}?),? )?(?:i'm|we're|i am|we are"
    rf"|im) {_NOW}(?P<rest>{CHOOSING}\b.+)",
    "(?:i'm|we're|i am|we are) (?P<rest>not (?:renewing|attending|coming|joining|buying|selling"
    "|hiring|paying|applying|continuing|signing|extending|supporting|shipping|offering"
    r"|accepting|inviting)\b.+)",
    "(?P<rest>(?:going (?:with|for)|sticking with|switching to|scrapping|dropping|ditching|skipping"
    "|postponing|cancelling|canceling|keeping) (?!it$|that$|this$).+)",
    "(?:the |our |my )?(?:final )?(?:choice|vote) (?:fell on|went to|is|was) (?P<rest>.+)",
    r"(?:we'll|we will) (?P<rest>(?:hold|host|run|publish|launch|release|offer|charge|serve|print"
    r"|rent|hire|build|buy|meet|open|close) (?!it\b|that\b|this\b).+)",
    "(?:the|my|our) (?:team|committee|board|family|client|group|band|crew|council|boss|manager"
    r"|company)(?: has| have)? (?P<rest>(?:voted|decided|agreed|chose|picked|opted)\b.+)",
    "(?:(?:i|we) )?(?:(?:finally )?made up (?:my|our) minds?|it's (?:settled|decided|official"
    r"|final))\s*[:,-]?\s+(?P<rest>.+)",
    "(?:(?:i|we) )?ended up (?P<rest>(?:choosing|going|picking|taking|buying|using|keeping"
    r"|choosing)\b.+)",
    "the plan is (?:now )?to (?P<rest>.+)",
    "(?:the |our |my )?(?:new )?(?:plan|approach|rule|policy|deal|setup)(?: is"
    "| now)?: (?P<rest>.+)",
    rf"(?:(?P<topic>[^?]{{3,60}}?),? )?(?:(?:i'm|we're|i am|we are"
    rf"|im) )?{_NOW}(?:not )?(?:going to|gonna) (?P<rest>{CHOOSE}\b.+)",
    rf"(?:(?P<topic>[^?]{{3,60}}?),? )?(?:i'll|we'll|i will|we will) {_NOW}(?P<rest>{CHOOSE}\b.+)",
    "(?:(?P<topic>[^?]{3,60}?),? )?(?:i|we) (?:won't|will not|'re no longer"
    "|are no longer) (?P<rest>.+)",
    r"(?:(?:my|our|the|final|meeting|[\w ]{3,25}) )?(?:decision|final answer"
    "|final call|verdict|conclusion|(?<!search )(?<!test )result|resolution|outcome|decided"
    r"|agreed|settled|final)(?: (?:is|was|at))?\s*(?::\s*|at\s+|is\s+)(?P<rest>.+)",
    "(?P<rest>[^?,]{3,60}? it is)(?: then)?$",
    "(?:we|i)? ?(?P<rest>(?:scrap|ditch|axe|shelve) (?!that$|this$|it$).+)",
    "(?P<rest>(?:no|only) [^?,]{3,80} (?:any ?more|at all|though|for now|from now on))(?:,|$).*",
    "(?:from now on|going forward|from here on|in (?:the )?future|(?:from|starting|as of) (?:next"
    rf"|this) \w+(?: on)?|(?:from|starting|as of) (?:{WEEKDAY}|{MONTH}|tomorrow)(?: on)?)"
    r",? (?P<rest>(?:no|we|i|only)\b.+)",
    r"(?P<rest>(?:[\w' -]{3,40} )?(?:i|we) .{3,80} from now on)\b.*",
)
OUTCOME = (
    r"(?:[\w' ]{0,30}\b)?(?:decisions?|decided|result|outcome|agreed|verdict|conclusions?"
    r"|resolutions?|settled)\s*:\s*"
)
SEALED = (  # "..., agreed that with Greta"
    "(?:and )?(?:we |i |have |was |all )*(?:agreed|settled|decided|confirmed|signed off"
    "|approved)(?: (?:on )?(?:that|this|it))?(?: (?:with|by|in|at|on|today|yesterday"
    r"|last)\b.*)?$"
)
NO_CHOICE = (  # follows a choice cue without being a choice
    r"(?:want|know\b|be able|let you|forget|lie\b|keep .{0,40}\bin mind|keep (?:me|you|track|an eye"
    "|up)|use (?:your|these|those)|take (?:your|these|those)|start by|leave you|stay (?:safe"
    "|tuned)|go (?:through|over|back|ahead|on|home|to (?:bed|sleep))|do (?:it|this|that"
    "|the same)$|start$|move on|stop (?:here|there)|take (?:a|it)|leave it(?: (?:open|there))?"
    "|park|keep going|use it|not forget|skip it$|not worry|push (?:it|this|that)$|ship it$"
    r"|see\b|switch gears|going (?:through|over|to be)|doing (?:ok|well|fine|good|great|it|this"
    "|a)|doing my|using (?:it|this|that)|taking (?:a|it)|keeping (?:it|an)|make it (?:work"
    r"|clear))\b"
)
REASON = (  # between a choice and its reason
    r",?\s+(?:mostly |mainly |just |partly |simply )?(?:because|cause|cuz|since (?=(?:it|we|they"
    r"|the|our|my|i|he|she|that|this|there)\b)|given (?:that )?|due to|as (?=(?:it|we|they|the"
    r"|our|that|this|there|he|she)\b)|so that|so (?=(?:it|they|that|the)\b)|reason:)\s*"
)

# Talk ------------------------------------------------------------------------------

TO_AGENT = (  # a question or request without its mark
    r"(?:i|we)(?:'d| would)? (?:need|want|like) you to\b|(?:you|your|you're|ur)\b"
    r"|now (?:an?|the|how|for|to)\b|please (?!note|remember|always|never|keep in|don't|call me)\w"
    r"|(?:can|could|would|will|do|did|are|have|should|shall) (?:you|u|i|we)\b"
)
BECAUSE = (  # only ever a reason
    r"(?:because|cause|cuz|for when|as (?:i|we|it|the|they|he|she|that|there)|otherwise|that way"
    r"|so that|since (?:i|we|it|the|they|he|she|our|my)|reason:)\b(?!.*, (?:we|i|so|let's)\b)"
)

# Facts ------------------------------------------------------------------------------

_ADV = (
    "(?:(?:always|usually|normally|often|only|mostly|currently|still|also|just|now|generally"
    "|never|really|already|actually|recently|finally|both|all|currently|typically|mainly|don't"
    "|can't|cannot|do not|no longer) ){0,3}"
)
PREFERENCES = (
    rf"(?:i|we)(?:'d)? {_ADV}(?:prefer|like|love|hate|dislike|enjoy|can't stand|rather|favou?r"
    "|avoid|want (?=short|long|my|all|no|answers|every|things)) .+",
    "(?:i'm|i am) (?:not )?(?:a (?:big |huge )?fan of|more of a|fond of|used to) .+",
    "my fav(?:ou?rite|e) .+",
    "(?:please )?(?:just )?call me .+",
    r"(?:please )?(?:always|never|don't ever|do not ever) (?!mind\b)\w+ .+",
    "(?:from now on|going forward|in (?:the )?future|in general"
    "|whenever [^,]{3,60}),? (?:please )?(?:always |never |don't )?(?:answer|reply|write|use"
    r"|keep|speak|call|avoid|stop|add|put|give|show|ask|run)\b.+",
)
NOTED = (
    "(?:please )?(?:remember|note|keep in mind|bear in mind|for (?:future|your) reference"
    "|don't forget|take note|you should know|just so you know)(?: (?:that"
    r"|this))?\s*[,:]?\s+(?!to\b|when\b|how\b|the time\b|me\b|about\b|you\b)(?P<rest>.+)"
)
LESSONS = (
    "(?:(?:it )?turn(?:s|ed) out|lesson learn(?:ed|t)|(?:i|we) learn(?:ed|t)(?: the hard way)?"
    "|the (?:root cause|culprit|trick|fix) (?:is|was)|gotcha|(?:(?:i|we) )?(?:just )?(?:found"
    r"|figured) out)(?: that)?\s*:?\s+(?P<rest>.+)"
)
SELF = (
    rf"(?:i|we) (?!{MENTAL}){_ADV}(?:work|live|use|run|own|drive|speak|study|teach|have|pay|earn"
    "|charge|host|store|deploy|support|sell|meet|hold|maintain|wear|eat|drink|sleep|train|play"
    "|travel|fly|commute|can't|cannot|don't|do not|never|always|only|serve|coach"
    r"|manage|lead|volunteer|rent|share|get (?=\d|paid|up)|require|bill|invoice|close|open"
    r"|measure|count|track|employ|grow|make (?=\w+s\b)|were|keep (?=our|my|the"
    rf"|all)) (?!{VAGUE}).+",
    rf"(?:i|we)(?:'ve| have)? {_ADV}{PAST_EVENT} (?!{THIN}).+",
    rf"(?:got|moved|joined|started at|bought|signed|hired|adopted|passed|sold|met) (?!{THIN}).+",
    "(?:i've|we've|i have|we have) (?:lived|worked|run|played|taught|been (?:at|in|on|with"
    "|using|playing|working|living|running|teaching|learning|studying|coaching|married|vegan"
    r"|vegetarian|doing|seeing|taking)) (?=.*(?:\d|(?:for|since) |(?-i: [A-Z]))).+",
    "(?:i|we) (?:used to|was born|grew up|come from|am from|go by) .+",
    r"(?:there (?:are|is|were)|we have) (?:about |around |roughly |only )?(?:\d|two|three|four"
    r"|five|six|seven|eight|nine|ten)\b.*\b(?:my|our|us)\b.*",
    r"it's (?:my|our) (?=.*(?:\d|birthday|anniversary|first|last)).+",
    rf"(?:i'm|i am|im|we're|we are) {_ADV}(?:an? (?!bit\b|little\b|lot\b|few\b|fan\b)"
    r"|the (?!one\b|same\b)|\d|(?:in|at|on|from|with) (?!it\b|that\b|the (?:middle|fence|process"
    r"|way)\b|my way\b|a (?:hurry|rush|call)\b|the mood\b|the lookout\b|awe\b|love\b|mind\b"
    r"|track\b|board\b|top\b)"
    "|based|allergic|vegetarian|vegan|married|divorced|pregnant|left-handed|colou?r-?blind"
    "|dyslexic|diabetic|off|away|out of|moving (?:to|in|house|out)|flying|travelling|traveling"
    "|learning|studying|working (?:at|for|as|in|part|full|from|on (?:a|the|my|our))"
    "|building (?:a|an|our|my)|leading|managing|responsible|getting married|expecting|retir"
    "|training for|self-employed|unavailable|free (?:on|from|after)|busy (?:on|from|until)"
    "|on call|using (?!it|that|this)).*",
    rf"(?:{WEEKDAY}|weekends|mornings|evenings|nights) (?:i'm|im|i am|we're|i|we) .+",
)
PERSON_VERB = (  # what people do
    "(?:handles?|owns?|leads?|manages?|works?|lives?|wants?|likes?|loves?|hates?|prefers?"
    "|delivers?|moved|left|joined|quit|reports? to|has|had|can't|cannot|can|won't|doesn't|insists?"
    "|approves?|signs? off|covers?|plays?|speaks?|teaches|is (?:my|our|the|on|in|at|out|away"
    "|off|back|responsible|in charge|allergic|vegan|vegetarian|pregnant|called|making|taking"
    r"|doing|writing|running|handling|leading|from|based|moving|leaving|joining|getting|\d|an? )"
    r"|are (?:my|our|both|the|on|in|allergic|\d)|was (?:my|our|the|born)|'s (?:my|our|the|on|in"
    "|out|away|allergic)|runs?|takes? over|is|will|never|always|only|uses?|starts?"
    "|needs? (?!to))"
)
MINE_NOT = (  # heads of "my ..." that are talk, not facts
    "(?:my|our) (?:question|guess|point|understanding|problem|issue|concern|worry|thinking"
    "|thoughts?|idea|bad|code|tests?|builds?|query|functions?|script|error|terminal|screen"
    "|apolog|mistake|hunch|assumption|impression|hope|opinion|fault|file|page|changes?|bet"
    r"|gut)\b"
)
STATE = (  # a passing state, not a fact
    r"\b(?:fail(?:s|ing|ed)?|broken|not working|wrong|slow|ok|fine|down|weird|stuck|empty"
    r"|missing|right|correct)$|\b(?:is|are|was) (?:too|so) "
)
HABIT = (  # what somebody does at a set time
    "(?:i|we) (?!need|want|should|must|think|guess|tr(?:y|ied)|see|saw|hope|wonder|could|might"
    r"|would|can't|don't|ran\b|said|read)(?:can only |only |usually |always )?\w+ .*"
    rf"(?:\b(?:on|every|each) (?:{WEEKDAY}|day|week|month|morning|evening|night|year)\b"
    r"|\b(?:at|after|before|from) \d).*"
)
HABIT_OTHER = (
    r"(?:the|our|my|his|her|their) (?:[\w'-]+ ){1,3}\w{3,}s"
    " (?P<rest>(?:on|at|every|until|from|by) .+)"
)
WISH = (  # what somebody around the user wants
    rf"(?:the|my|our|his|her|their) (?:[\w-]+ )?(?:{ROLES})s? (?:wants?|likes?|prefers?|insists?"
    "|hates?|said|asked|expects?|needs?|says|told) .+"
)
_NAME = r"(?:(?:Mrs?|Ms|Dr|Frau|Herr|Prof(?:essor)?)\.? )?[A-Z][a-zà-öø-ÿ]+(?: [A-Z][a-zà-öø-ÿ]+)?"
_ROLE = rf"(?:(?:my|our|the|his|her|their) )(?:[a-z-]+ ){{0,2}}(?:{ROLES})(?: of \w+| at \w+)?"
NAME_ROLE = (
    rf"(?<![\w'])(?P<name>{_NAME}), (?P<role>{_ROLE})"
    r"(?=$|[,.!;:)]| (?:till|until|who|for|and)\b)"
)
ROLE_NAME = rf"\b(?P<role>{_ROLE})(?: about \w+[^,]{{0,20}})?, (?P<name>{_NAME})(?=$|[,.!;:)])"
ASKED_VALUE = (  # a question for a value worth keeping
    r"(?:.{0,60}[,.] )?(?:and |so )?(?:(?:(?:what|when|where|who)(?:'s| is| are) )?(?:the "
    r"|your |their )"
    r"(?!goal|plan|error|problem|issue|idea|question|sound|project|temperature|matter|status"
    r"|result)"
    r"(?P<topic>(?!.* (?:about|like|for you|wrong))[\w' -]{3,40}?)(?: called| named|, for .*)?"
    r"|(?:when|who)\b(?!.*\b(?:we|shall|should|roughly)\b).{4,60}"
    r"|how (?:many|much|big|old|often|large|tall)\b.{2,60})$"
)
WEAK_SUBJECT = (
    "(?:(?:the|this|that|a|an|my|our|his|her|their|its|no|every|each"
    r"|all) )?(?:[\w'&/.+-]+ ){0,5}?[\w'&/.+-]+?"
)
WEAK = (
    rf"(?P<np>{WEAK_SUBJECT}) ?(?:(?:still|now|also|only|always|usually|already|currently"
    rf"|really) )?(?P<verb>{VERB}|(?<=\w)'s)\s+(?P<rest>.+)"
)
NO_SUBJECT = (  # a statement that starts so is about nothing by itself
    "(?:it|still|this|that|they|there|you|what|which|who|where|when|how|if|i|we|these|those|one"
    "|something|anything|everything|he|she|here|someone|neither|none|both|not|as|because|since"
    "|while|and|or|but|so|to|for|in|on|at|with|after|before|by|than|then|of|did|got|any"
    r"|sounds|looks|seems|having|including|other|others|which|such|like|people)\b"
)
CALLED = (
    r"(?:(?:the|my|our|his|her|their|its) )?[\w' -]{2,40} (?:is|was|'s|will be) (?:called|named"
    "|due|owned by|run by|hosted (?:on|at|in)|based in|for) .+"
)
PLACED = (  # where something is
    "(?:lives?|sits?|belongs? to|runs on|is (?:located|stored|hosted|owned|kept)|are (?:located"
    r"|stored|hosted|owned|kept))\b"
)
HEAD = (  # what a project or a life has one of
    r"(?:(?:the|my|our|his|her|their) )?(?:[\w'-]+ ){0,2}(?:topic|title|goal|aim|stack|theme"
    "|focus|audience|budget|deadline|venue|address|pattern|schedule|time ?zone|birthday"
    "|anniversary|nickname|shift|plan|rate|salary|rent|quota|policy|convention|due date"
    r"|start date|hometown|diet)\b"
)
LABEL = (  # "shoe size: 43"
    r"(?P<label>(?-i:(?![A-Z]{3}))(?!(?:i|we|you|it|and|so|what|this|that|he|she)\b|note|edit"
    r"|example|output|expected|actual|input|error|result|ps|todo|line|got)[a-z][\w -]{2,40}?)"
    r"(?: so you (?:have|know)[^:]{0,12})?:\s+(?P<value>.+)"
)
MEMO = (  # the speaker asks to have it kept
    "(?:(?:ok|and|so|also|oh|ah|one|just|some|quick|more"
    "|thing)[ ,.]+){0,4}(?:for (?:the record|your notes|context|reference|the log|info"
    "|future reference|your info)|fyi|btw|by the way|just so you know|so you know|heads[ -]up"
    "|context(?: for [^:]{2,40})?:|background:|update(?: for you)?:|note(?: to self)?:"
    r"|(?:please )?(?:note|remember|keep in mind) that)(?:\W|$)"
)
MEMO_END = r"\b(?:btw|by the way|fyi|for the record|just so you know)\W*(?:$|,)"
