"""Hit list by hit list: tenants in PostgreSQL beside plain homes on SQLite, on LoCoMo.

    python bench/team_equal.py --locomo locomo10.json

Starts a PostgreSQL of its own. Every conversation is a plain home and a tenant; every question goes
to both, for turns and for whole sessions. The same: references, scores, snippets and reasons are
equal. recall@10: of the evidence turns, categories 1-4, as in bench/retrieval.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.retrieval import Home, Question, locomo
from tests.team.postgres import database, postgres

from wakebook import Memory
from wakebook.service.team_work import fill, opened
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.working import Depth


def compared(url: str, folder: Path, path: Path) -> dict[str, Any]:
    """Hit list by hit list, and recall@10, of tenants beside plain homes."""
    db = Database(url)
    copies = Copies(db, folder / "copies", opened)
    lists = same = asked = 0
    recalls: tuple[list[float], list[float]] = ([], [])

    def found(memory: Memory, question: Question, sessions: bool) -> list[Any]:
        os.environ["WAKEBOOK_NOW"] = question.at.isoformat()
        done = memory.search(question.text, limit=10, min_score=0.0, sessions=sessions)
        return [(hit.ref, hit.score, hit.snippet, hit.why) for hit in done.hits]

    for number, store in enumerate(locomo(path, every=True)):
        plain = Home(folder / f"plain-{number}", "")
        plain.add(store.sessions)
        tenant = fill(db, copies, f"talk-{number}", plain.memory.home.root)
        for question in store.questions:
            for sessions in (False, True):
                one = found(plain.memory, question, sessions)
                other = copies(tenant).read(
                    lambda memory, q=question, s=sessions: found(memory, q, s),  # type: ignore[misc]
                    Depth.INDEX,
                )
                lists, same = lists + 1, same + (one == other)
                if sessions or question.kind not in "1234" or not question.turns:
                    continue
                asked += 1
                for kept, hits in zip(recalls, (one, other), strict=True):
                    turns = {plain._turns.get(hit[0]) for hit in hits}
                    kept.append(len(question.turns & turns) / len(question.turns))
        plain.memory.close()
    copies.close()
    db.close()
    shares = [round(100 * sum(one) / max(1, asked), 1) for one in recalls]
    return {
        "hit lists": lists,
        "the same": same,
        "questions": asked,
        "recall@10, SQLite": shares[0],
        "recall@10, PostgreSQL": shares[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, required=True)
    given = parser.parse_args()
    os.environ["WAKEBOOK_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as folder, postgres() as server, database(server) as url:
        print(json.dumps(compared(url, Path(folder), given.locomo), indent=1))


if __name__ == "__main__":
    main()
