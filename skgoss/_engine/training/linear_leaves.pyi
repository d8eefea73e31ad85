# `python tools/stubs.py` writes this file.

class LineFit:
    def __init__(
        self, dataset: object, settings: object, raw: object, weight: object,
    ) -> None: ...
