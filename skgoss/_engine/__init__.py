"""The compiled modules."""

from importlib.util import find_spec

if find_spec(f"{__name__}.runtime") is None:
    raise ImportError(
        f"{__path__[0]} has no compiled modules. Python has found the source of skgoss"
        " in place of the installed package: run it in another folder, or install"
        " skgoss in editable mode."
    )
