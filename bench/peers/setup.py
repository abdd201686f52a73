"""An environment for each peer: `python bench/peers/setup.py DIR [NAME ...]`.

Needs a package index; nothing that comes after does. All of them take 3 GB, most of it torch
for txtai. Where torch would come with CUDA, install its CPU build into DIR/txtai beforehand.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(folder: Path, names: list[str]) -> int:
    known = sorted(path.stem for path in HERE.glob("*.txt"))
    failed = 0
    for name in names or known:
        if name not in known:
            print(f"{name}: one of {', '.join(known)}", file=sys.stderr)
            return 2
        python = folder.absolute() / name / "bin" / "python"
        if not python.exists():
            venv.create(folder / name, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(HERE / f"{name}.txt")]
        code = subprocess.run(install, check=False).returncode
        print(f"{name}: {'ready' if code == 0 else 'failed'}")
        failed += code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
