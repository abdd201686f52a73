"""Renew the table of prices: `python tools/prices.py --help` says how and from what."""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook.models.prices import Price, load

HELP = """\
Compare the shipped table (src/wakebook/models/prices.toml) with what two packages know, or print
its sections anew. The packages are read, never imported or installed:

  pip download --no-deps genai-prices litellm -d wheels
  python -m zipfile -e wheels/genai_prices-*.whl wheels/genai
  python -m zipfile -e wheels/litellm-*.whl wheels/litellm
  python tools/prices.py [--print] wheels/genai wheels/litellm

Of a price that depends on the length of the prompt, the lowest is taken. The first folder that
knows a model gives its price; one that none knows keeps the price that it had. To add a model,
write its line with any numbers, and print. The head of the file is written by hand. Prices are
those of today, or of --day YYYY-MM-DD; the lines with a # say what is known to change later.
"""
PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "google": "gemini", "gemini": "gemini"}
CHAT = re.compile(r"anthropic/claude-[a-z3-9]|openai/(gpt-[4-9]|o[3-9])|gemini/gemini-[2-9]")
OTHER = re.compile(r"audio|chat|codex|cyber|image|live|real|robotics|search|transcri|tts|[:@]")
FORM = argparse.RawDescriptionHelpFormatter
MTOK = "input_mtok output_mtok cache_read_mtok cache_write_mtok".split()
COST = "input_cost_per_token output_cost_per_token cache_read_input_token_cost".split()
COST += ["cache_creation_input_token_cost"]


def plain(node: Any) -> Any:
    """Python's text as data: of a call, what it is given by name, or else the rest."""
    if isinstance(node, ast.Call) and node.keywords:
        return {item.arg: plain(item.value) for item in node.keywords}
    items = getattr(node, "elts", None) or getattr(node, "args", None)
    return [plain(item) for item in items] if items else getattr(node, "value", [])


def genai(path: Path, day: datetime.date) -> Iterator[Any]:
    """Provider, model and the four numbers of a price, as they are on a day."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for provider in next(plain(item.value) for item in body if isinstance(item, ast.AnnAssign)):
        for model in provider["models"] if provider["id"] in PROVIDERS else ():
            price = model["prices"]
            for case in price if isinstance(price, list) else ():
                first = datetime.date(*(case.get("constraint") or {}).get("start_date", [1, 1, 1]))
                if first <= day:
                    price = case["prices"]
                elif not OTHER.search(model["id"]):
                    print(f"# {model['id']} changes on {first}")
            values = [dict(price).get(field, [0]) for field in MTOK]
            numbers = [float((v["base"] if isinstance(v, dict) else v)[0]) for v in values]
            yield provider["id"], model["id"].removesuffix("-latest"), numbers


def litellm(path: Path, day: datetime.date) -> Iterator[Any]:
    for name, model in json.loads(path.read_text(encoding="utf-8")).items():
        numbers = [round((model.get(field) or 0) * 1e6, 6) for field in COST]
        yield model.get("litellm_provider", ""), name.removeprefix("gemini/"), numbers


def known(folder: Path, day: datetime.date) -> dict[tuple[str, str], Price]:
    read, path = genai, folder / "genai_prices/data.py"
    if not path.is_file():
        read, path = litellm, folder / "litellm/model_prices_and_context_window_backup.json"
    if not path.is_file():
        raise SystemExit(f"prices: {folder} is neither package, unpacked; --help says how")
    rows = {}
    for at, model, (paid, made, cached, written) in read(path, day):
        provider = PROVIDERS.get(at, "")
        if CHAT.match(f"{provider}/{model}") and paid and made:
            rows[provider, model] = Price(paid, made, cached or paid, written or paid)
    return rows


def line(model: str, price: Price, width: int = 0) -> str:
    text = f"{json.dumps(model):<{width}} = {{ "
    for field, value in price._asdict().items():
        if field in ("input", "output") or value != price.input:
            number = f"{value:6.3f}".removesuffix("0") + ","
            text += f"{field} = {number:<7} "
    return text.rstrip(" ,") + " }"


def main() -> None:
    parser = argparse.ArgumentParser(description=HELP, formatter_class=FORM)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--print", action="store_true", help="the sections, with new prices")
    parser.add_argument("--day", type=datetime.date.fromisoformat, default=datetime.date.today())
    options = parser.parse_args()
    ours, theirs = load(), {folder: known(folder, options.day) for folder in options.folders}
    for at in sorted({at for at, _ in ours.rows}) if options.print else ():
        print(f"\n[{at}]")
        for model in (models := sorted(model for each, model in ours.rows if each == at)):
            rows = [each.get((at, model)) for each in (*theirs.values(), ours.rows)]
            print(line(model, next(filter(None, rows)), max(map(len, models)) + 2))
    for folder, found in () if options.print else theirs.items():
        print(f"\n{folder}")
        for name, row in ours.rows.items():
            if found.get(name, row) != row:
                print(f"  {line('/'.join(name), found[name])}, ours{line('', row)[2:]}")
        new = [name for name in found if not OTHER.search(name[1]) and not ours.find(*name)]
        print("  not there:", *map("/".join, sorted(ours.rows.keys() - found.keys())))
        print("  only there:", *map("/".join, sorted(new)))


if __name__ == "__main__":
    main()
