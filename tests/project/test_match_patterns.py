"""Messages that tests expect: alternatives of a pattern are in parentheses.

``match="no column 'z|'ww'"`` accepts every message that names 'ww'.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# An escaped character, a set of characters, or any other character.
TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.S)

# Expressions that give a name its values.
Bindings = dict[str, list[ast.expr]]


def has_bare_bar(pattern: str) -> bool:
    """Whether a pattern has alternatives outside of parentheses."""
    depth = 0
    for token in TOKEN.findall(pattern):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            return True
    return False


# --- Patterns of a test file ----------------------------------------------------------


def patterns(source: str) -> Iterator[str]:
    """The strings that may be a `match`, followed through variables and arguments."""
    nodes = [*ast.walk(ast.parse(source))]
    values, known = bindings(nodes), set()
    left = [
        keyword.value
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "match"
    ]
    while left:
        expression = left.pop()
        yield from strings(expression)
        used = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)} - known
        known |= used
        left += [value for name in used for value in values[name]]


def strings(node: ast.AST) -> list[str]:
    """The strings of an expression; escaped ones are not patterns."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr():
            parts = (strings(part) or ["x"] for part in node.values)
            return ["".join(part[0] for part in parts)]
        case ast.BinOp(op=ast.Add()):
            sides = strings(node.left) or ["x"], strings(node.right) or ["x"]
            return ["".join(pair) for pair in product(*sides)]
        case ast.Call(func=ast.Attribute(attr="escape")):
            return []
    return [text for child in ast.iter_child_nodes(node) for text in strings(child)]


def bindings(nodes: list[ast.AST]) -> Bindings:
    """What gives each name of a module a value, whatever function it is in."""
    found = defaultdict(list)
    functions = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef)}
    for node in nodes:
        match node:
            case ast.Assign(targets=[target]):
                bind(found, names_of(target), node.value)
            case ast.For() | ast.comprehension():
                for row in rows_of(node.iter):
                    bind(found, names_of(node.target), row)
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, rows]):
                for row in rows_of(rows):
                    bind(found, names_of(names), row)
            case ast.Call(func=ast.Name(id=name)) if name in functions:
                parameters = [a.arg for a in functions[name].args.args]
                for parameter, value in zip(parameters, node.args, strict=False):
                    found[parameter].append(value)
                for keyword in node.keywords:
                    found[keyword.arg].append(keyword.value)
    return found


def bind(found: Bindings, names: list[str], value: ast.expr) -> None:
    """Bind names to the items of a tuple, or each to all of another expression."""
    items = items_of(value)
    if len(names) == 1 or len(names) != len(items):
        items = [value] * len(names)
    for name, item in zip(names, items, strict=True):
        found[name].append(item)


def items_of(row: ast.expr) -> list[ast.expr]:
    """The items of a tuple, or of a `pytest.param`."""
    match row:
        case ast.Tuple(elts=items):
            return items
        case ast.Call(func=ast.Attribute(attr="param"), args=items):
            return items
    return []


def names_of(target: ast.expr) -> list[str]:
    """The names of a target, or of the first argument of `parametrize`."""
    match target:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [name for item in items for name in names_of(item)]
        case ast.Name(id=name):
            return [name]
        case ast.Constant(value=str(text)):
            return re.split(r",\s*", text)
    return []


def rows_of(values: ast.expr) -> list[ast.expr]:
    """The items of a list as it is written, or the expression that makes them."""
    match values:
        case ast.Starred(value=inner):
            return rows_of(inner)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            rows = (rows_of(i) if isinstance(i, ast.Starred) else [i] for i in items)
            return [*chain.from_iterable(rows)]
    return [values]


# --- Tests ----------------------------------------------------------------------------


def test_alternatives_are_in_parentheses():
    read = [
        (path.relative_to(TESTS).as_posix(), pattern)
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
        for pattern in patterns(path.read_text("utf-8"))
    ]
    assert len(read) > 2000
    assert [found for found in read if has_bare_bar(found[1])] == []


TEST = "def test(n, words):\n    raises(E, match=words)"


@pytest.mark.parametrize(
    "source",
    [
        "raises(E, match='a|b')",
        "raises(E, match=f'{path}: a|b')",
        "raises(E, match='a' + other + '|b')",
        "raises(E, match='(a)|b')",
        "raises(E, match=r'\\(a|b\\)')",
        "raises(E, match='[(]a|b[)]')",
        "raises(E, match='a|b' if old else 'c')",
        "words = 'a|b'\nraises(E, match=words)",
        "n, words = 1, 'a|b'\nraises(E, match=words)",
        "for n, words in [(1, 'c'), (2, 'a|b')]:\n    raises(E, match=words)",
        "CASES = {'x': 'a|b'}\nraises(E, match=CASES['x'])",
        "CASES = [(1, 'a|b')]\nfor n, words in CASES:\n    raises(E, match=words)",
        f"@mark.parametrize('n, words', [(1, 'a|b')])\n{TEST}",
        f"@mark.parametrize(('n', 'words'), [(1, 'c'), *((2, 'a|b'),)])\n{TEST}",
        f"@mark.parametrize('n, words', [pytest.param(1, 'a|b', id='x')])\n{TEST}",
        "def refused(words, n):\n    raises(E, match=words)\nrefused('a|b', 1)",
        "def refused(n, words):\n    raises(E, match=words)\nrefused(1, words='a|b')",
    ],
)
def test_alternatives_without_parentheses_are_found(source):
    assert any(map(has_bare_bar, patterns(source)))


@pytest.mark.parametrize(
    "source",
    [
        "raises(E, match='(a|b)')",
        "raises(E, match=r'a\\|b')",
        "raises(E, match='a[|]b')",
        "raises(E, match='[]|]')",
        "raises(E, match='(a' + '|b)')",
        "raises(E, match=re.escape('a|b'))",
        "for n, words in [('a|b', 'c')]:\n    raises(E, match=words)",
        "table = 'a|b'\nraises(E, match='c')",
    ],
)
def test_other_bars_are_allowed(source):
    assert not any(map(has_bare_bar, patterns(source)))
