# `python tools/stubs.py` writes this file.

from skgoss._engine.training.arena import Arena

class GrowerMemory(Arena): ...
