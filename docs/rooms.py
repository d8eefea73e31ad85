"""Write the tables of modules in docs/design.md, from what the modules begin with."""

import ast
import re
from pathlib import Path

DESIGN = Path(__file__).with_name("design.md")
ROOT = DESIGN.parents[1]
HEAD = "| module | job |\n|---|---|\n"
# A heading names a folder. What it says of the folder stands between it and the table.
ROOM = re.compile(
    r"(^### `(skgoss[\w/]*)/`\n(?:(?!#|\|).*\n)*)" + re.escape(HEAD) + r"(?:\|.*\n)*",
    re.MULTILINE,
)
# What tells the job of a module that has several files: the first that there is.
SUFFIXES = (".py", ".pyx", ".pxd", ".h")


def sources(folder: Path) -> dict[str, Path]:
    """The source file of each module of a folder, by the module's name."""
    found: dict[str, Path] = {}
    for suffix in reversed(SUFFIXES):
        found |= {path.stem: path for path in folder.glob(f"*{suffix}")}
    return {stem: found[stem] for stem in sorted(found) if stem != "__init__"}


def job(path: Path) -> str:
    """The first sentence of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        described = ast.get_docstring(ast.parse(text)) or ""
    else:
        comment = re.search(r'"""(.*?)"""|/\*(.*?)\*/', text, re.DOTALL)
        described = "".join(comment.groups("")) if comment else ""
    paragraph = re.split(r"\n\s*\*?\s*\n", described.strip())[0]
    sentence = re.split(r"\.(?:\s|$)", re.sub(r"\s+(\* )?", " ", paragraph))[0]
    if not sentence:
        raise ValueError(f"{path} does not begin with what the module is for")
    return sentence


def table(folder: Path) -> str:
    """The modules of a folder, with their jobs."""
    rows = (f"| `{stem}` | {job(path)} |\n" for stem, path in sources(folder).items())
    return HEAD + "".join(rows)


def markdown() -> str:
    """The page, with new tables."""
    page = DESIGN.read_text(encoding="utf-8")
    return ROOM.sub(lambda room: room[1] + table(ROOT / room[2]), page)


if __name__ == "__main__":
    DESIGN.write_text(markdown(), encoding="utf-8")
