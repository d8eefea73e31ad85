"""Results of test modules with each instruction set, which is chosen at import."""

import atexit
import os
import subprocess
import sys
from functools import cache

# It answers each line, the path of a module and an expression of it, `t`, by a line.
ANSWER = """
import contextlib, functools, importlib.util, sys
@functools.cache
def module_of(path):
    spec = importlib.util.spec_from_file_location("tests_again", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
for line in sys.stdin:
    path, expression = line.rstrip().split("\\t")
    with contextlib.redirect_stdout(sys.stderr):
        answer = eval(expression, {"t": module_of(path)})
    print(answer, flush=True)
"""


@cache
def interpreter(level: str) -> subprocess.Popen[str]:
    """A Python whose kernels have at most this level; it serves all tests."""
    python = subprocess.Popen(
        [sys.executable, "-c", ANSWER],
        env={
            **os.environ,
            "SKGOSS_SIMD": level,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(python.communicate)
    return python


def printed(level: str, path: str, expression: str) -> str:
    """What an interpreter with this level prints of `t`, the test module of a path."""
    python = interpreter(level)
    python.stdin.write(f"{path}\t{expression}\n")
    python.stdin.flush()
    return python.stdout.readline().strip()
