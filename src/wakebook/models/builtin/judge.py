"""The built-in judge: how likely a sentence changes what an older one says. Offline, in numpy.

Both sentences are read together, cut into the embedder's word pieces, by the lower layers of a
sentence encoder that were trained further on labelled pairs by tools/judge.py; NOTICE says from
what. A pair takes some milliseconds, so it is asked of few.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from wakebook.models.builtin import Builtin

HEADS = 12
LONGEST = 64  # word pieces of each sentence; of a longer one, those at both ends
TOGETHER = 16  # pairs at a time


def likely(older: Sequence[str], text: str) -> list[float]:
    """From 0 to 1 for each older sentence: how likely it no longer holds, if the text is said."""
    found: list[float] = []
    for start in range(0, len(older), TOGETHER):
        found += _chances([pair(one, text) for one in older[start : start + TOGETHER]])
    return found


def pair(older: str, text: str) -> tuple[list[int], list[int]]:
    """The word pieces of both."""
    return _short(_embedder().tokens(older)), _short(_embedder().tokens(text))


def _short(pieces: list[int]) -> list[int]:
    half = LONGEST // 2
    return pieces if len(pieces) <= LONGEST else pieces[:half] + pieces[-half:]


def _chances(pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    import numpy as np

    model = _model()
    first, last = len(model["pieces"]) - 2, len(model["pieces"]) - 1
    rows = [[first, *one, last, *two, last] for one, two in pairs]
    size = max(map(len, rows))
    ids = np.array([row + [last] * (size - len(row)) for row in rows])
    there = np.array([[1.0] * len(row) + [0.0] * (size - len(row)) for row in rows], np.float32)
    second = np.array([[0] * (len(one) + 2) + [1] * (size - len(one) - 2) for one, _ in pairs])
    x = model["pieces"][ids].astype(np.float32) * model["pieces scale"][ids][:, :, None]
    x = _even(x + model["places"][:size] + model["sides"][second], model, "start")
    hidden = (there - 1)[:, None, None, :] * 1e4
    for number in range(int(model["layers"])):
        x = _layer(x, hidden, model, f"{number} ")
    mean = (x * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)
    said = np.concatenate([x[:, 0], mean], axis=1) @ model["end"] + model["end bias"]
    chances: list[float] = (1 / (1 + np.exp(-said))).tolist()
    return chances


def _layer(x: Any, hidden: Any, model: dict[str, Any], name: str) -> Any:
    import numpy as np

    count, size, width = x.shape
    flat = x.reshape(-1, width)
    seen = flat @ model[name + "look"] + model[name + "look bias"]
    query, key, value = seen.reshape(count, size, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    weight = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS)) + hidden
    weight = np.exp(weight - weight.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    found = (weight @ value).transpose(0, 2, 1, 3).reshape(-1, width)
    flat = _even(
        flat + found @ model[name + "see"] + model[name + "see bias"], model, name + "seen"
    )
    wide = flat @ model[name + "wide"] + model[name + "wide bias"]
    wide *= 0.5 * (1 + np.tanh(0.7978845608 * (wide + 0.044715 * wide * wide * wide)))
    flat = flat + wide @ model[name + "narrow"] + model[name + "narrow bias"]
    return _even(flat, model, name + "done").reshape(x.shape)


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
def _model() -> dict[str, Any]:
    """The matrices, of which the file has bytes and a scale for each column."""
    import numpy as np

    found: dict[str, Any] = {}
    with np.load(Path(__file__).parent / "judge.npz") as file:
        for name in file.files:
            rows = file[name]
            if rows.dtype == np.float16:
                rows = rows.astype(np.float32)
            elif rows.dtype == np.int8 and name != "pieces":
                rows = rows.astype(np.float32) * file[f"{name} scale"].astype(np.float32)
            found[name] = rows
    return found
