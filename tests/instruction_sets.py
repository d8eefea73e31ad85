"""Results of test modules with each instruction set, which is chosen at import."""

import atexit
import os
import subprocess
import sys
from functools import cache

# It answers each line, a module and an expression of it, `t`, by a line.
ANSWER = """
import contextlib, importlib, sys
for line in sys.stdin:
    module, expression = line.split(maxsplit=1)
    with contextlib.redirect_stdout(sys.stderr):
        answer = eval(expression, {"t": importlib.import_module(module)})
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


def printed(level: str, module: str, expression: str) -> str:
    """What an interpreter with this level prints of a test module `t`."""
    python = interpreter(level)
    python.stdin.write(f"{module} {expression}\n")
    python.stdin.flush()
    return python.stdout.readline().strip()
