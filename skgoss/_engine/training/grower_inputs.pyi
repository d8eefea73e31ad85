# `python tools/stubs.py` writes this file.

MAX_RELATIVE_WORK: float
