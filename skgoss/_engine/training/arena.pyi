# `python tools/stubs.py` writes this file.

class Arena:
    def __init__(self) -> None: ...
