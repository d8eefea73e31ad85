"""Write the stubs of the engine, which type checkers read, from its sources.

``python tools/stubs.py`` writes a ``.pyi`` beside each ``.pyx`` that has something
for Python. It needs Cython, whose parser it uses. A test compares the files.

A C type becomes the type of what Python passes: ``const double[::1]`` an array of
numbers, ``int64_t`` an int, a fused type Any. ``or None`` and the default None add
None. Where this does not say enough, the source has an annotation, which the stub
repeats. Without either, an argument takes any object, and what a function returns is
of type Any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from Cython.Compiler import ExprNodes, Nodes
from Cython.Compiler.TreeFragment import parse_from_strings

ENGINE = Path(__file__).parents[1] / "skgoss" / "_engine"
HEAD = "# `python tools/stubs.py` writes this file.\n"
WIDTH = 88

INTEGERS = ("int", "long", "size_t", "Py_ssize_t", "uintptr_t")
SIZED = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
# What Python passes for a C type, and the elements of an array of that type.
SCALARS = {
    **dict.fromkeys(INTEGERS, "int"),
    **{f"{name}_t": "int" for name in SIZED},
    **{"bint": "bool", "float": "float", "double": "float", "void": "None"},
    **{"object": "object", "bytes": "bytes", "str": "str"},
    **{"list": "list[Any]", "dict": "dict[Any, Any]", "tuple": "tuple[Any, ...]"},
}
ELEMENTS = {
    **{f"{name}_t": f"np.{name}" for name in SIZED},
    **{"float": "np.float32", "double": "np.float64", "object": "np.object_"},
}
# Where the names of annotations come from, but for classes of the engine.
IMPORTS = {
    **dict.fromkeys(("Callable", "Sequence"), "collections.abc"),
    **dict.fromkeys(("Any", "NamedTuple"), "typing"),
    **dict.fromkeys(("ArrayLike", "NDArray"), "numpy.typing"),
}
# Methods that Python calls by a sign or a statement.
SPECIAL = ("__call__", "__enter__", "__exit__")


def parsed(path: Path) -> list[Any]:
    """The statements of a source file."""
    # The parser takes a file as ASCII if it has no other encoding.
    tree = parse_from_strings(path.stem, path.read_text(encoding="utf-8"))
    return statements(tree.body)


def statements(body: Any) -> list[Any]:
    """The statements of a block, in which those of ``cdef`` blocks stand alone."""
    if isinstance(body, Nodes.StatListNode):
        return [each for stat in body.stats for each in statements(stat)]
    return [] if body is None else [body]


# --- Types ----------------------------------------------------------------------------


def unqualified(node: Any) -> Any:
    """A C type without const."""
    # The name of the class of such nodes differs between versions of Cython.
    return node if hasattr(node, "name") else unqualified(node.base_type)


def c_type(node: Any, classes: dict[str, str]) -> str:
    """What Python passes for a C type."""
    node = unqualified(node)
    if isinstance(node, Nodes.MemoryViewSliceTypeNode):
        element = unqualified(node.base_type_node).name
        return f"NDArray[{ELEMENTS.get(element, 'Any')}]"
    return node.name if node.name in classes else SCALARS.get(node.name, "Any")


def annotated(node: Any) -> str:
    """An annotation, as it is written."""
    return str(node.string.value)


def argument(node: Any, classes: dict[str, str]) -> str:
    """An argument of a function, with its type."""
    if node.annotation is not None:
        described = annotated(node.annotation)
    elif getattr(node.base_type, "name", "") is None:
        described = "object"
    else:
        described = c_type(node.base_type, classes)
        if node.or_none or isinstance(node.default, ExprNodes.NoneNode):
            described += " | None"
    default = " = ..." if node.default is not None else ""
    return f"{node.declarator.name}: {described}{default}"


def returns_something(node: Any) -> bool:
    """Whether a block returns a value."""
    if isinstance(node, list):
        return any(map(returns_something, node))
    if isinstance(node, Nodes.ReturnStatNode):
        return node.value is not None
    if not isinstance(node, Nodes.Node) or isinstance(node, Nodes.FuncDefNode):
        return False
    return any(returns_something(getattr(node, name)) for name in node.child_attrs)


def result(node: Any) -> str:
    """The type of what a function returns."""
    if node.return_type_annotation is not None:
        return annotated(node.return_type_annotation)
    return "Any" if returns_something(node.body) else "None"


# --- Functions, classes and constants -------------------------------------------------


def signature(head: str, arguments: list[str], end: str, indent: str) -> str:
    """A function, in one line, or with its arguments in lines of their own."""
    line = f"{indent}{head}({', '.join(arguments)}){end}"
    if len(line) <= WIDTH:
        return line + "\n"
    lines = [indent + "   "]
    for each in arguments:
        if len(lines[-1]) + len(each) + 2 > WIDTH:
            lines.append(indent + "   ")
        lines[-1] += f" {each},"
    last = f"{indent}){end}"
    if len(last) > WIDTH:
        before, _, inner = last.partition("[")
        inner, _, after = inner.rpartition("]")
        last = f"{before}[\n{indent}    {inner}\n{indent}]{after}"
    return "\n".join([f"{indent}{head}(", *lines, last]) + "\n"


def function(node: Any, classes: dict[str, str], indent: str) -> str:
    """A function or a method."""
    is_c = isinstance(node, Nodes.CFuncDefNode)
    declared = node.declarator if is_c else node
    name = declared.base.name if is_c else node.name
    if is_c:
        returned = c_type(node.base_type, classes)
        returned = "None" if node.base_type.name is None else returned
    elif name == "__cinit__":
        name, returned = "__init__", "None"
    else:
        returned = result(node)
    arguments = [argument(each, classes) for each in declared.args]
    if indent:
        arguments[0] = "self"
    if getattr(node, "star_arg", None) is not None:
        arguments.append(f"*{node.star_arg.name}: object")
    # Directives of Cython have dots in their names.
    names = [getattr(each.decorator, "name", "") for each in node.decorators or ()]
    head = "".join(f"{indent}@{each}\n" for each in names if each)
    return head + signature(f"def {name}", arguments, f" -> {returned}: ...", indent)


def is_public_method(node: Any) -> bool:
    if isinstance(node, Nodes.CFuncDefNode):
        return bool(node.overridable)
    if not isinstance(node, Nodes.DefNode):
        return False
    name = node.name
    return name in (*SPECIAL, "__init__", "__cinit__") or not name.startswith("_")


def attributes(body: list[Any], classes: dict[str, str]) -> Iterator[str]:
    """The attributes of a class that Python may read."""
    for node in body:
        if isinstance(node, Nodes.CVarDefNode) and node.visibility != "private":
            described = c_type(node.base_type, classes)
            described = "Any" if described == "object" else described
            for each in node.declarators:
                yield f"    {each.name}: {described}\n"


def class_stub(node: Any, header: list[Any], classes: dict[str, str]) -> str:
    """A class: its attributes, of the header too, and its methods."""
    body = statements(node.body)
    if isinstance(node, Nodes.CClassDefNode):
        name, bases = node.class_name, node.bases.args if node.bases else []
    else:
        name, bases = node.name, node.bases.args
    in_header = [
        stat
        for other in header
        if isinstance(other, Nodes.CClassDefNode) and other.class_name == name
        for stat in statements(other.body)
    ]
    lines = [*attributes(in_header, classes), *attributes(body, classes)]
    for stat in body:
        if isinstance(stat, Nodes.SingleAssignmentNode | Nodes.ExprStatNode):
            target = getattr(stat, "lhs", getattr(stat, "expr", None))
            if getattr(target, "annotation", None) is not None:
                lines.append(f"    {target.name}: {annotated(target.annotation)}\n")
        elif is_public_method(stat):
            lines.append(function(stat, classes, "    "))
    head = f"class {name}" + (f"({bases[0].name})" if bases else "") + ":"
    return head + ("\n" + "".join(lines) if lines else " ...\n")


def constant(node: Any) -> str:
    """A constant of a module."""
    given = node.lhs.annotation
    return f"{node.lhs.name}: {annotated(given) if given is not None else 'Any'}\n"


def is_constant(node: Any) -> bool:
    return (
        isinstance(node, Nodes.SingleAssignmentNode)
        and not isinstance(node.rhs, ExprNodes.ImportNode)
        and isinstance(node.lhs, ExprNodes.NameNode)
        and not node.lhs.name.startswith("_")
    )


def class_name(node: Any) -> str:
    """The name of a class that is defined here; empty: it is something else."""
    if isinstance(node, Nodes.CClassDefNode):
        return str(node.class_name)
    return str(node.name) if isinstance(node, Nodes.PyClassDefNode) else ""


# --- Modules --------------------------------------------------------------------------


def imports(text: str, module: str, classes: dict[str, str]) -> str:
    """The imports of the names in a stub, in the order of ruff."""
    used = {*re.findall(r"(?<![\w.])[A-Za-z]\w*", text)}
    lines: dict[str, list[str]] = {}
    for name in sorted(used):
        source = IMPORTS.get(name, classes.get(name, module))
        if source != module:
            lines.setdefault(source, []).append(name)
    groups: list[list[str]] = [[], [], []]
    if "np" in used:
        groups[1].append("import numpy as np")
    for source in sorted(lines):
        group = {"numpy": 1, "skgoss": 2}.get(source.partition(".")[0], 0)
        groups[group].append(f"from {source} import {', '.join(lines[source])}")
    return "".join("\n" + "\n".join(group) + "\n" for group in groups if group)


def stub(path: Path, classes: dict[str, str]) -> str:
    """The stub of a module; empty: it has nothing for Python."""
    module = module_name(path)
    header = path.with_suffix(".pxd")
    declared = parsed(header) if header.exists() else []
    constants, rest = "", ""
    for node in parsed(path):
        if is_constant(node):
            constants += constant(node)
        elif class_name(node):
            rest += "\n" + class_stub(node, declared, classes)
        elif isinstance(node, Nodes.DefNode) and not node.name.startswith("_"):
            rest += "\n" + function(node, classes, "")
    if not constants and not rest:
        return ""
    body = ("\n" + constants if constants else "") + rest
    return HEAD + imports(body, module, classes) + body


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ENGINE.parents[1]).with_suffix("").parts)


def stubs() -> dict[Path, str]:
    """The stubs of the modules that have something for Python."""
    sources = sorted(ENGINE.rglob("*.pyx"))
    classes = {
        class_name(node): module_name(path)
        for path in sources
        for node in parsed(path)
        if class_name(node)
    }
    made = {path.with_suffix(".pyi"): stub(path, classes) for path in sources}
    return {path: text for path, text in made.items() if text}


if __name__ == "__main__":
    written = stubs()
    for old in {*ENGINE.rglob("*.pyi")} - {*written}:
        old.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
