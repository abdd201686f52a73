"""The built-in judge: how likely a sentence changes what older ones say. Offline, in numpy.

The sentence is read together with the older ones that it may mean, cut into the embedder's word
pieces, by the lower layers of a sentence encoder that were trained further on labelled talks by
tools/judge.py; NOTICE says from what. So each older one is judged beside the others: "we ripped
all that out" is about one of them. What an agent answered shows how the sentence was understood
("Noted: Tilda drives the round now"), so it can be read behind it. A reading takes some
milliseconds, so few are asked for.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from wakebook.models.builtin import Builtin

HEADS = 12
LONGEST = 64  # word pieces of a sentence; of a longer one, those at both ends
REPLY = 48  # word pieces of an agent's answer, from its beginning
PLACES = 384  # word pieces that are read together
MOST = 6  # older sentences


def likely(older: Sequence[str], text: str, reply: str = "") -> list[float]:
    """From 0 to 1 for each older sentence: how likely it no longer holds, if the text is said, and
    an agent gives that reply."""
    found: list[float] = []
    for start in range(0, len(older), MOST):
        found += _judged(tuple(older[start : start + MOST]), text, reply)
    return found


@lru_cache(maxsize=4096)  # what is read again (a rebuild, an open window) is asked again
def _judged(older: tuple[str, ...], text: str, reply: str) -> list[float]:
    return _chances([pieces(one) for one in older], pieces(text), answer(reply))


def pieces(text: str) -> list[int]:
    half, found = LONGEST // 2, _embedder().tokens(text)
    return found if len(found) <= LONGEST else found[:half] + found[-half:]


def answer(reply: str) -> list[int]:
    """The word pieces of an agent's answer that are read."""
    return _embedder().tokens(reply[: REPLY * 12])[:REPLY] if reply else []


def row(
    older: Sequence[list[int]], text: list[int], reply: list[int]
) -> tuple[list[int], list[tuple[int, int]], int]:
    """The word pieces of all, one behind the other, with 0 for the first and 1 for the ends; where
    each of the older ones begins and ends; and how many pieces stand before the text."""
    ours = [*(piece + 2 for piece in text), 1]
    ours += [*(piece + 2 for piece in reply), 1] if reply else []
    room = PLACES - LONGEST - 3 - (REPLY + 1 if reply else 0)
    found, spans, each = [0], list[tuple[int, int]](), room // len(older) - 1
    for one in older:
        spans.append((len(found), len(found) + len(one[:each])))
        found += [*(piece + 2 for piece in one[:each]), 1]
    return found + ours, spans, len(found)


def _chances(older: Sequence[list[int]], text: list[int], reply: list[int]) -> list[float]:
    import numpy as np

    parts = model()
    found, spans, before = row(older, text, reply)
    ids, size = np.array([found]) - 2, len(found)  # the first and the ends stand last in the file
    second = np.array([[0] * before + [1] * (size - before)])
    x = parts["pieces"][ids].astype(np.float32) * parts["pieces scale"][ids][:, :, None]
    x = _even((x + parts["places"][:size] + parts["sides"][second])[0], parts, "start")
    layers = int(parts["layers"])
    for number in range(layers):
        x = _layer(x, parts, f"{number} ", before if number == layers - 1 else size)
    means = np.array([x[start : max(end, start + 1)].mean(0) for start, end in spans])
    first = np.repeat(x[:1], len(spans), axis=0)
    said = np.concatenate([first, means], axis=1) @ parts["end"] + parts["end bias"]
    chances: list[float] = (1 / (1 + np.exp(-said))).tolist()
    return chances


def _layer(x: Any, model: dict[str, Any], name: str, told: int) -> Any:
    """What a layer makes of the first so many pieces (`told`) of all."""
    import numpy as np

    size, width = x.shape
    seen = (x @ model[name + "look"] + model[name + "look bias"]).reshape(size, 3, HEADS, -1)
    query, key, value = np.ascontiguousarray(seen.transpose(1, 2, 0, 3))
    weight = query[:, :told] @ key.transpose(0, 2, 1)
    weight /= np.float32(np.sqrt(width // HEADS))
    weight -= weight.max(-1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(-1, keepdims=True)
    found = (weight @ value).transpose(1, 0, 2).reshape(-1, width)
    x = _even(
        x[:told] + found @ model[name + "see"] + model[name + "see bias"], model, name + "seen"
    )
    wide = x @ model[name + "wide"]
    wide += model[name + "wide bias"]
    bent = 0.044715 * wide
    bent *= wide
    bent *= wide
    bent += wide
    bent *= 0.7978845608
    np.tanh(bent, out=bent)
    bent += 1
    bent *= 0.5
    wide *= bent
    x = x + wide @ model[name + "narrow"] + model[name + "narrow bias"]
    return _even(x, model, name + "done")


def _even(x: Any, model: dict[str, Any], name: str) -> Any:
    """With mean 0 and length 1 for each piece, then scaled as learned."""
    import numpy as np

    x = x - x.mean(-1, keepdims=True)
    x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return x * model[f"{name} gain"] + model[f"{name} bias"]


@cache
def _embedder() -> Builtin:
    return Builtin()


@cache
def model() -> dict[str, Any]:
    """The matrices, of which the file has bytes and a scale for each column."""
    import numpy as np

    found: dict[str, Any] = {}
    with np.load(Path(__file__).parent / "judge.npz") as file:
        for name in file.files:
            rows = file[name]
            if rows.dtype == np.float16:
                rows = rows.astype(np.float32)
            elif rows.dtype == np.int8 and name != "pieces":
                scale = file[f"{name} scale"].astype(np.float32)
                rows = np.ascontiguousarray(rows, np.float32) * scale
            found[name] = rows
    return found
