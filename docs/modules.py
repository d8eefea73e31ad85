"""Write docs/modules.md: each module and the first sentence of its docstring."""

import ast
import re
from pathlib import Path

MODULES = Path(__file__).with_name("modules.md")
ROOT = MODULES.parents[1]
HEAD = """# Modules

What each module is for, by subpackage. [design.md](design.md) describes the subpackages
and the call path of a fit, and [algorithm.md](algorithm.md) the algorithm, with the
modules that implement each step. A name stands for a `.py` or `.pyx` file with its
`.pxd` and `.h`.

<!-- `python docs/modules.py` writes this page. -->
"""
# The file that describes a module with several files: the first of these that exists.
SUFFIXES = (".py", ".pyx", ".pxd", ".h")


def sources(folder: Path) -> dict[str, Path]:
    """The source file of each module of a folder, by the module's name."""
    found: dict[str, Path] = {}
    for suffix in reversed(SUFFIXES):
        found |= {path.stem: path for path in folder.glob(f"*{suffix}")}
    return {stem: found[stem] for stem in sorted(found) if stem != "__init__"}


def job(path: Path) -> str:
    """The first sentence that describes a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        described = ast.get_docstring(ast.parse(text)) or ""
    else:
        comment = re.search(r'"""(.*?)"""|/\*(.*?)\*/', text, re.DOTALL)
        described = "".join(comment.groups("")) if comment else ""
    paragraph = re.split(r"\n\s*\*?\s*\n", described.strip())[0]
    sentence = re.split(r"\.(?:\s|$)", re.sub(r"\s+(\* )?", " ", paragraph))[0]
    if not sentence:
        raise ValueError(f"{path} must begin with a sentence about its module")
    return sentence


def section(folder: Path) -> str:
    """The modules of a folder, with their jobs."""
    rows = (f"| `{stem}` | {job(path)} |\n" for stem, path in sources(folder).items())
    name = folder.relative_to(ROOT).as_posix()
    return f"\n## `{name}/`\n\n| module | job |\n|---|---|\n" + "".join(rows)


def markdown() -> str:
    """The page."""
    folders = sorted(path.parent for path in (ROOT / "skgoss").rglob("__init__.py"))
    return HEAD + "".join(map(section, folders))


if __name__ == "__main__":
    MODULES.write_text(markdown(), encoding="utf-8")
