"""The phrases that give away a decision or a fact, as data: one table for each type.

Patterns are anchored at the start of a clause wherever that is possible, and bounded. A
table is read from the top; the first that matches wins.
"""

from __future__ import annotations

from wakebook.learn.select.sentences import (
    CHOOSE,
    CHOOSING,
    DONE,
    MENTAL,
    MONTH,
    PAST_EVENT,
    ROLES,
    THIN,
    TIME,
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


# -----------------------------------------------------------------------------
# The phrases that give away a task, what blocks it, and a report that it is done, as data.

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
