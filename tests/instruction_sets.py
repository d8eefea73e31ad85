"""Results of test modules with each instruction set, which is chosen at import."""

import os
import subprocess
import sys


def printed(level: str, module: str, expressions: str) -> str:
    """What a new interpreter prints of a test module that has at most this level."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {module} as t; print({expressions})"],
        env={
            **os.environ,
            "SKGOSS_SIMD": level,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
