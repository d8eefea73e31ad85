"""Warnings, hints and errors. Imports nothing of skgoss: every module may use it."""

from __future__ import annotations

import difflib
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import getattr_static
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

# Frames of these packages are skipped: a warning points at a line of the user.
_NOT_THE_USER = frozenset({"skgoss", "sklearn", "joblib"})
# Packages whose loops call joblib in its threads and processes.
_WORKERS = frozenset({"concurrent", "multiprocessing", "threading"})
# Warnings that were given: their texts and categories.
Said = set[tuple[str, type[Warning]]]
# What the call of the user has warned of that a thread works for. None: the frames of
# this thread lead to this call, whose first frame has a local variable of the name.
SAID: ContextVar[Said | None] = ContextVar("SAID", default=None)
_SAID = "__skgoss_said__"

# Hears what a fit says, if its user is in another process: f(text, category), where
# messages that are no warnings have no category.
LISTENER: ContextVar[Callable[[str, type[Warning] | None], None] | None] = ContextVar(
    "LISTENER", default=None
)

# Whether skgoss stands for LightGBM in this process: see `skgoss.as_lightgbm`.
STANDS_FOR_LIGHTGBM = threading.Event()


class UnusedParameterWarning(UserWarning):
    """Warns that a parameter or a metric has no effect.

    The name is unknown, or another name of the same parameter is used instead. To find
    misspelled names, turn this warning into an error:
    ``warnings.filterwarnings("error", category=skgoss.UnusedParameterWarning)``.

    See Also
    --------
    LGBMModel : The parameters and their other names.

    Examples
    --------
    >>> import warnings
    >>> import skgoss
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", skgoss.UnusedParameterWarning)
    ...     model = skgoss.LGBMRegressor(num_leafs=7)
    >>> [warning.category.__name__ for warning in caught]
    ['UnusedParameterWarning']
    """

    __module__ = "skgoss"


def closest(
    word: str, names: Iterable[str], n: int = 1, likeness: float = 0.6
) -> list[str]:
    """The names that are most like a word, the closest first.

    Case does not count, nor what separates the parts of a name. Among the close names,
    those with the same letters come first: two letters are often swapped. ``likeness``
    is the least ratio of `difflib.SequenceMatcher`.
    """
    names_of: dict[str, str] = {}
    for name in names:
        names_of.setdefault(_plain(name), name)
    plain = _plain(word)
    near = difflib.get_close_matches(plain, names_of, max(n, 5), likeness)
    near.sort(key=lambda name: sorted(name) != sorted(plain))
    return [names_of[name] for name in near[:n]]


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def did_you_mean(names: Sequence[str]) -> str:
    """The words " Did you mean ...?" with the first name, or "" without a name."""
    return f" Did you mean {names[0]!r}?" if names else ""


def hint(word: str, names: Iterable[str]) -> str:
    """The words " Did you mean ...?" with the closest name, or "" if none is close."""
    return did_you_mean(closest(word, names))


def by_name(names: Mapping[str, str]) -> dict[str, str]:
    """What to use, by each of the names that are listed for it."""
    return {n: instead for instead, others in names.items() for n in others.split()}


def type_name(value: object) -> str:
    """The name of a value's type, with its module: other packages have a Booster."""
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def one_line(value: object, length: int | None = None) -> str:
    """A name in one line, its middle left out if it is longer than ``length``.

    Characters that cannot be seen, such as line breaks, become escape sequences.
    """
    text = "".join(
        c if c.isprintable() else " " if c == "\xa0" else ascii(c)[1:-1]
        for c in str(value)
    )
    if length is None or len(text) <= length:
        return text
    tail = length // 2
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that led here, once in each call of theirs.

    The filter "default" of Python does not suffice for that: it forgets what was said
    whenever filters change, as scikit-learn changes them for each fit of a search.
    """
    listener = LISTENER.get()
    if listener is not None:
        return listener(message, category)
    called, level = _call_of_user()
    said = _said_in(called)
    if (message, category) not in said:
        said.add((message, category))
        warnings.warn(message, category, stacklevel=level)


def said_in_call() -> Said:
    """What the call of the user that led here has warned of."""
    return _said_in(_call_of_user()[0])


def _call_of_user() -> tuple[FrameType, int]:
    """The first frame of the user's call, and how far from here the line above it is.

    Jobs of joblib are parts of a call: that of their thread or process.
    """
    frame = called = sys._getframe(2)
    level = 2
    while frame.f_back is not None and _package(frame.f_globals) in _NOT_THE_USER:
        frame, called, level = frame.f_back, frame, level + 1
    is_job = _package(called.f_globals) == "joblib"
    if is_job and _package(frame.f_globals) in _WORKERS:
        called = frame
    return called, level


def _said_in(called: FrameType) -> Said:
    said = SAID.get()
    return called.f_locals.setdefault(_SAID, set()) if said is None else said


def warn_unused(message: str) -> None:
    """Warn that something has no effect: the one way to give this warning.

    Options without what they need are told by `unused_options.warn_of`.
    """
    warn(message, UnusedParameterWarning)


def refuse(error: ValueError, tolerated: str) -> None:
    """Raise the error of a mistake that LightGBM accepts in silence.

    Where skgoss stands for LightGBM, warn instead: ``tolerated`` says what happens.
    """
    if not STANDS_FOR_LIGHTGBM.is_set():
        raise error
    warn(f"{error} {tolerated}")


@contextmanager
def said_once() -> Iterator[None]:
    """Show each warning of the `with` body once."""
    outer, said = LISTENER.get(), set()

    def say(text: str, category: type[Warning] | None) -> None:
        if (text, category) in said:
            return
        said.add((text, category))
        if outer is not None:
            outer(text, category)
        elif category is not None:
            inner = LISTENER.set(None)
            warn(text, category)
            LISTENER.reset(inner)

    token = LISTENER.set(say)
    try:
        yield
    finally:
        LISTENER.reset(token)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


@contextmanager
def about(name: str) -> Iterator[None]:
    """Say in errors what they are about, unless they say it themselves."""
    try:
        yield
    except ValueError as error:
        if not name or name in str(error):
            raise
        raise ValueError(f"{name[0].upper()}{name[1:]}: {error}") from error


@contextmanager
def errors_at(location: str | Callable[[], str]) -> Iterator[None]:
    """Let errors of the `with` body begin with the location that is read."""
    try:
        yield
    except (ValueError, OSError) as error:
        where = location if isinstance(location, str) else location()
        if str(error).startswith(where):
            raise
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"{where}: {error}") from error
    except Exception as error:
        error.add_note(
            f"while reading {location if isinstance(location, str) else location()}"
        )
        raise


class ForeignConstructor:
    """A constructor that other libraries have: a class asked for it has the hint."""

    def __set_name__(self, owner: type[Elsewhere], name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, owner: type[Elsewhere]) -> Any:
        # A class that follows in the order of inheritance may have it.
        following = super(self.owner, owner if instance is None else instance)
        try:
            return getattr(following, self.name)
        except AttributeError as error:
            raise owner._error_of(self.name) from error


class Elsewhere:
    """Names what to use in place of attributes that other libraries have."""

    # What to use, by the name of the missing attribute.
    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # else every name would be an attribute of the class

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with the name of what to use."""
            if name not in self._elsewhere:
                # Raises what a property has raised, if the name is that of one.
                return self.__getattribute__(name)
            raise self._error_of(name)

        def __dir__(self) -> list[str]:
            return [
                name
                for name in super().__dir__()
                if not isinstance(getattr_static(self, name, None), ForeignConstructor)
            ]

    @classmethod
    def _error_of(cls, name: str) -> AttributeError:
        """The error for a name that is missing, with what to use."""
        return AttributeError(
            f"{cls.__name__} has no attribute {name!r}: use {cls._elsewhere[name]}."
        )
