"""Lines: what a generated block of a file would say now, each line with the entries behind it."""

from __future__ import annotations

from pathlib import Path

from wakebook import markdown
from wakebook.derive.briefing import sources
from wakebook.derive.notes.book import Block, Book
from wakebook.derive.notes.item import Line
from wakebook.derive.prose import Prose
from wakebook.lifecycle.desk import Desk
from wakebook.log.chains import Chains


class Behind(Desk, frozen=True):
    """A desk from which one can look behind every generated line, the briefing's too."""

    chains: Chains
    prose: Prose

    def lines(self, book: Book, path: Path, name: str) -> list[Line]:
        """The lines of a block of a file; none if Wakebook knows of no such block."""
        if name == markdown.BRIEFING:
            settings = self.config.briefing
            return sources(self.chains, book.registry, self.now, settings, self.prose)
        block = self.block(book, path, name)
        return list(block.lines) if block else []

    def block(self, book: Book, path: Path, name: str) -> Block | None:
        page = self.page(path)
        try:
            blocks = book.blocks(page) if page else []
        except ValueError:  # a journal of no day
            return None
        for block in blocks:
            if block.name == name and (page == "memory" or Path(block.path).name == path.name):
                return block
        return None
