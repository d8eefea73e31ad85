"""The code of the pages, as a reader would run it: in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

from instrumented import ROOT

_BLOCK = re.compile(
    r"^```python(.*)\n((?:.*\n)*?)^```\n(?:\n```text\n((?:.*\n)*?)^```)?", re.M
)


class Block(NamedTuple):
    """Code on a page, the packages that it names, and the output below it, or ""."""

    packages: list[str]
    code: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page. What follows the word python is packages to install."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(names.split(), code, shown) for names, code, shown in found]


def outputs_differ(page: list[Block], printed: str) -> bool:
    """Whether what a page shows is not what it has printed, in this order."""
    for block in page:
        if block.shown not in printed:
            return True
        printed = printed[printed.index(block.shown) + len(block.shown) :]
    return False


def pages() -> int:
    """Run the code of each page in a fresh environment, with all that it names."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {path: blocks(path) for path in files}
    extra = {
        name for page in found.values() for block in page for name in block.packages
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        command = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            f"{ROOT}[tests]",
            *sorted(extra),
        ]
        if subprocess.run(command, check=False).returncode:
            return 1
        failed = [
            path.name
            for path, page in found.items()
            if page and fails(path, page, python)
        ]
    print(f"{sum(map(bool, found.values()))} pages, {len(failed)} failed:", *failed)
    return bool(failed)


def fails(path: Path, page: list[Block], python: Path) -> bool:
    """Whether the code of a page fails, or prints something else than shown."""
    # Outside of the sources: the package is the installed one.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-c", "\n".join(block.code for block in page)],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            check=False,
        )
    is_wrong = bool(done.returncode) or outputs_differ(page, done.stdout)
    print(path.name, "failed" if is_wrong else "runs", flush=True)
    if is_wrong:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    return is_wrong
