"""Turn: one user message with what stands around it."""

from __future__ import annotations

from functools import cached_property

from wakebook.capture.transcript import Message
from wakebook.derive.rules.ledger import Known, Ledger
from wakebook.derive.rules.sentences import Sentence, sentences
from wakebook.log.entry import derived_id

LONG = 9  # sentences: from here on a message may well hold somebody else's words
READ = 4  # sentences at each end of a very long message that are still the user's own


class Turn:
    """`agent` is what the agent said since the user spoke last, `recent` the user's last
    messages, this one included."""

    def __init__(
        self,
        message: Message,
        agent: tuple[Message, ...],
        recent: tuple[Message, ...],
        ledger: Ledger,
    ) -> None:
        self.message = message
        self.agent = agent
        self.recent = recent
        self.ledger = ledger
        said = sentences(message.text)
        self.long = len(said) >= LONG
        self.sentences: tuple[Sentence, ...] = said
        if len(said) > LONG * 2:
            self.sentences = said[:READ] + said[-READ:]

    @cached_property
    def agent_text(self) -> str:
        return "\n".join(message.text for message in self.agent)

    @cached_property
    def agent_turns(self) -> tuple[int, ...]:
        return tuple(message.turn for message in self.agent[-1:])

    @cached_property
    def agent_asked(self) -> str:
        """The question that the agent's last message ends with, if it does."""
        text = self.agent[-1].text[-800:].rstrip() if self.agent else ""
        said = sentences(text) if text.endswith("?") else ()
        return said[-1].text if said and said[-1].asked else ""

    @cached_property
    def user_asked(self) -> str:
        """The last question in the user's message before this one."""
        before = sentences(self.recent[-2].text[-1500:]) if len(self.recent) > 1 else ()
        return next((one.text for one in reversed(before) if one.asked), "")

    def says(self, known: Known) -> bool:
        """Whether the user said this lately, in this window."""
        return any(
            derived_id(message.id, known.type, known.content) == known.id for message in self.recent
        )
