"""Write the code that docs/algorithm.md includes from other files of the project.

A comment names a file and its functions: `<!-- tests/helpers/reference.py: shrunk -->`.
The block of code below the comment is replaced by them.
"""

import ast
import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).with_name("algorithm.md")
ROOT = PAGE.parents[1]
INCLUDED = re.compile(
    r"(?P<comment><!-- (?P<path>[\w/.]+): (?P<names>[\w., ]+) -->\n)"
    r"```py\n(?:.*\n)*?```\n"
)


def definition(path: str, name: str) -> str:
    """The source of a function, class or method, such as `Class.method`, of a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found: ast.AST = ast.parse(text)
    for part in name.split("."):
        members = (node for node in ast.iter_child_nodes(found) if is_named(node, part))
        found = next(members, found)
        if not is_named(found, part):
            raise ValueError(f"{path} has no {name}")
    return textwrap.dedent(ast.get_source_segment(text, found, padded=True) or "")


def is_named(node: ast.AST, name: str) -> bool:
    """Whether a node defines a function or class of this name."""
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name


def included(match: re.Match[str]) -> str:
    """A comment, followed by the code that it names."""
    names = match["names"].split(", ")
    code = "\n\n\n".join(definition(match["path"], name) for name in names)
    return f"{match['comment']}```py\n{code}\n```\n"


def markdown() -> str:
    """The page with the code of today."""
    return INCLUDED.sub(included, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(markdown(), encoding="utf-8")
