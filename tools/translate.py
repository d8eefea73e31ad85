"""Translate modules from Cython to C: ``translate.py [options] -o folder files``.

The options are those of the command ``cython``. That one needs most of a second to
start, for each module; here each processor does it once. Files that are newer than all
that they are made of, by the same options, stay as they are.
"""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from Cython import __version__
from Cython.Build.Dependencies import create_dependency_tree
from Cython.Compiler.CmdLine import parse_command_line
from Cython.Compiler.Main import Context, compile_single
from Cython.Compiler.Options import CompilationOptions


def stale(options: CompilationOptions, sources: list[str]) -> list[str]:
    """Those of the sources that are newer than their files in C, or have none."""
    tree = create_dependency_tree(Context.from_options(options), quiet=True)

    def is_stale(source: str) -> bool:
        made = Path(options.output_file, Path(source).stem + ".c")
        newest, _ = tree.newest_dependency(source)
        return not made.exists() or made.stat().st_mtime < newest

    return list(filter(is_stale, sources))


def errors(options: CompilationOptions, source: str) -> int:
    """Translate a module; how many errors it has."""
    n_errors: int = compile_single(source, options, None).num_errors
    return n_errors


def main() -> int:
    """Translate the modules that are named and out of date; whether one has errors."""
    options, sources = parse_command_line(sys.argv[1:])
    now = "\n".join([__version__, *(word for word in sys.argv if word not in sources)])
    before = Path(options.output_file, "translate.txt")
    if before.exists() and before.read_text(encoding="utf-8") == now:
        sources = stale(options, sources)
    before.unlink(missing_ok=True)
    # Looking for unused objects takes a quarter of Cython's time, and finds few.
    with ProcessPoolExecutor(initializer=gc.disable) as pool:
        failed = any(list(pool.map(partial(errors, options), sources)))
    if not failed:
        before.write_text(now, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
