# `python tools/stubs.py` writes this file.

class LeafModelFit:
    def __init__(
        self, dataset: object, settings: object, raw: object, weight: object,
    ) -> None: ...
