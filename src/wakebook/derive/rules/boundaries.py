"""What stands around and between statements, as data.

Lead-ins and tails without content, how a clause of its own starts, and the lines that are
not the speaker's own words.
"""

from __future__ import annotations

from wakebook.derive.rules.vocabulary import VERB

EDGES = " \t.,;:!?…-–—*_~|>()[]{}=+#"
LEAD = (
    "(?:(?:ok(?:ay)?|k|so+|well|no no|yeah|yep|yes|yup|right|also|and|but|oh|ah|aha|ugh|hm+|btw|fyi"
    "|anyway|anyways|honestly|basically|actually|just|important|by the way|update(?: for you)?"
    "|note|good news first|first|before i forget"
    "|one more(?: thing)?(?: about [\\w ]{2,20})?(?=:)|good news|bad news|great|good|cool|nice"
    "|perfect|super|fine|alright|sure|thanks"
    "|thank you|thx|hi|hey|hello|morning|good (?:morning|afternoon|evening)|quick (?:note"
    "|update|thing)|for (?:the record|your notes|context|reference|the log|info"
    "|future reference)|(?:one|another) (?:more )?thing|side note|indeed"
    "|haha|lol|plus|then|just so you know|heads[ -]up|(?:some )?(?:context"
    "|background|status)(?: for [^:,.]{1,40})?|before we start|two things|first of all"
    "|first off|meanwhile|mostly|as (?:i|we) said|for what it's worth|fwiw"
    r"|i (?:think|guess|mean|suppose)(?: that)?(?= (?:we'll|we're|i'll|i'm)))(?:\s*[,:.!–-]+\s*"
    r"|\s+))"
)
TAIL = (
    r"[\s,]+(?:btw|by the way|fyi|thanks|thank you|thx|please|pls|lol|haha|ok|okay|right|i think"
    r"|i guess|honestly|as you know)\s*$"
)
OWN_SUBJECT = (
    "(?:i|i'm|im|i'll|i've|i'd|we|we're|we'll|we've|my|our|he|she|he's|she's|shes|hes|they|it"
    "|it's|its|it'll|they're|let's|lets|remind me|don't let me|no|follow[- ]?up|next step"
    "|agreed|settled|decided|confirmed|need to|needs to|have to|gotta|still have to|also need"
    "|must|todo|thats|that's|nobody|everyone|everybody|(?:the|his|her"
    r"|their) (?:[\w'-]+ ){1,3}(?:is|are|has|was))\b"
)
STATEMENT = rf"(?:[\w'/-]+ ){{1,5}}?{VERB}\s"
PASTE = (  # asks for work on a text: what follows is pasted
    r"\b(?:summari[sz]e|translate|proof-?read|(?:fix|check|correct) (?:the |my )?(?:spelling"
    "|grammar)|rephrase|reword|rewrite|tl;?dr|paraphrase|shorten|bullet points|key points"
    r"|polish|edit)\b"
)
MACHINE = (  # a line that a machine wrote
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[\s*\d+\.\d+\]|\d\d:\d\d:\d\d\b|at \S+\(|File \""
    r"|Traceback\b|\[(?:warn|info|error|debug)\]|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL)\b"
    r"|[$%]\s|\||[+-]{3}\s|@@|</?\w"
    r"|[{}\[\]\"\'][\w ]*[\"\']?\s*[:,{\[]|[\w ]*[\"\']\s*:|\S+Error:|https?://\S+\s*$|(?:diff"
    "|index|import|from|def|class|const|let|var|function|return|if|for|export"
    r"|#include)\b[^.?!]*[;{(\[:=]\s*$)"
)
SO_CHOICE = (  # behind "so": a choice that follows
    "(?:drop|skip|cut|scrap|leave out|cancel|postpone) (?!it$|that$|this$).+"
)
