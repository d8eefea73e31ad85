"""Names of other libraries' methods, for which there are others here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar


class Elsewhere:
    """Says what to use instead of a method or attribute that is not there."""

    # What to use, by the name that is not there.
    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # else every name would be an attribute of the class

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError: the attribute is not there."""
            instead = type(self)._elsewhere.get(name)
            if instead is None:
                # Raises what a property has raised, if the name is that of one.
                return self.__getattribute__(name)
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}: use {instead}."
            )
