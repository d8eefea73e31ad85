"""Warnings, hints and errors. Imports nothing of skgoss: every module may use it."""

from __future__ import annotations

import difflib
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import getattr_static, signature
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# Frames of these packages are skipped: a warning points at a line of the user.
_NOT_THE_USER = frozenset({"skgoss", "sklearn", "joblib"})
# Packages whose loops call joblib in its threads and processes.
_WORKERS = frozenset({"concurrent", "multiprocessing", "threading"})
# The texts and categories of the warnings that one call of the user has given.
GivenWarnings = set[tuple[str, type[Warning]]]
# Those of the call that a thread works for. None: the thread has the frames of the call
# itself, and they are a local variable of its first frame, with the name below.
GIVEN_WARNINGS: ContextVar[GivenWarnings | None] = ContextVar(
    "GIVEN_WARNINGS", default=None
)
_LOCAL_VARIABLE = "__skgoss_given_warnings__"

# Receives the messages of a fit whose user is in another process: f(text, category).
# The category of a message that is not a warning is None.
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
    """The names that are most like a word, at most ``n``, the closest first.

    Neither case nor the separators within a name count. Among the close names, those
    with the same letters come first: two letters are often swapped. ``likeness`` is the
    lowest ratio of `difflib.SequenceMatcher` that counts as close.
    """
    names_of: dict[str, str] = {}
    for name in names:
        names_of.setdefault(_plain(name), name)
    plain = _plain(word)
    near = difflib.get_close_matches(plain, names_of, max(n, 5), likeness)
    near.sort(key=lambda name: sorted(name) != sorted(plain))
    return [names_of[name] for name in near[:n]]


def _plain(name: str) -> str:
    """A name without what `closest` ignores."""
    return name.casefold().replace("-", "_").replace(" ", "_")


def did_you_mean(names: Sequence[str]) -> str:
    """The sentence " Did you mean ...?" with the first name, or "" without a name."""
    return f" Did you mean {names[0]!r}?" if names else ""


def hint(word: str, names: Iterable[str]) -> str:
    """The sentence " Did you mean ...?" with the closest name; "" if none is close."""
    return did_you_mean(closest(word, names))


def by_name(names: Mapping[str, str]) -> dict[str, str]:
    """``{"use": "a b"}`` inverted: ``{"a": "use", "b": "use"}``."""
    return {name: use for use, listed in names.items() for name in listed.split()}


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

    Python's filter "default" does not suffice for that: it forgets the warnings that
    were given whenever filters change, which scikit-learn does in each fit of a search.
    """
    listener = LISTENER.get()
    if listener is not None:
        return listener(message, category)
    called, level = _call_of_user()
    given = _warnings_given_in(called)
    if (message, category) not in given:
        given.add((message, category))
        warnings.warn(message, category, stacklevel=level)


def warnings_of_call() -> GivenWarnings:
    """The warnings that the user's call that led here has given so far."""
    return _warnings_given_in(_call_of_user()[0])


def _call_of_user() -> tuple[FrameType, int]:
    """The first frame of the user's call, and the ``stacklevel`` of the line above it.

    The user's call is the outermost frame of skgoss, scikit-learn or joblib below the
    code that called `warn`; the line above is the user's own.
    A job of joblib that runs in a thread or process of its own counts as a call.
    """
    frame = called = sys._getframe(2)
    level = 2
    while frame.f_back is not None and _package(frame.f_globals) in _NOT_THE_USER:
        frame, called, level = frame.f_back, frame, level + 1
    is_job = _package(called.f_globals) == "joblib"
    if is_job and _package(frame.f_globals) in _WORKERS:
        called = frame
    return called, level


def _warnings_given_in(called: FrameType) -> GivenWarnings:
    """The warnings that have been given in the call whose first frame is ``called``.

    They are a local variable of this frame, so they are forgotten with the call.
    """
    given = GIVEN_WARNINGS.get()
    return (
        called.f_locals.setdefault(_LOCAL_VARIABLE, set()) if given is None else given
    )


def warn_unused(message: str) -> None:
    """Warn that something has no effect: the one way to give this warning.

    `unused_options.warn_of` does so for options that the fit does not need.
    """
    warn(message, UnusedParameterWarning)


def refuse(error: ValueError, tolerated: str) -> None:
    """Raise the error of a mistake that LightGBM accepts silently.

    Where skgoss stands for LightGBM, warn instead: ``tolerated`` says what happens.
    """
    if not STANDS_FOR_LIGHTGBM.is_set():
        raise error
    warn(f"{error} {tolerated}")


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Show each warning and message of the `with` body once.

    Without it, a warning in a loop over batches or folds would be shown again for each.
    """
    outer, given = LISTENER.get(), set()

    def pass_on(text: str, category: type[Warning] | None) -> None:
        """Pass a warning on to the earlier listener, or show it, if it is new.

        ``category`` is None for messages, which only listeners get.
        """
        if (text, category) in given:
            return
        given.add((text, category))
        if outer is not None:
            outer(text, category)
        elif category is not None:
            inner = LISTENER.set(None)
            warn(text, category)
            LISTENER.reset(inner)

    token = LISTENER.set(pass_on)
    try:
        yield
    finally:
        LISTENER.reset(token)


def _package(names: dict[str, object]) -> str:
    """The top-level package whose module has these globals."""
    return str(names.get("__name__", "")).partition(".")[0]


def check_takes(
    function: Callable[..., Any], what: str, arguments: Sequence[str]
) -> None:
    """Raise TypeError if a function cannot be called with these arguments by position.

    ``what`` names the function in the message. Functions without a signature, as in
    some extension modules, are not checked.
    """
    if not callable(function):
        raise TypeError(f"{what} must be a function, got {type_name(function)}.")
    try:
        expected = signature(function)
    except (TypeError, ValueError):
        return
    try:
        expected.bind(*arguments)
    except TypeError as error:
        n, names = len(arguments), ", ".join(arguments)
        raise TypeError(
            f"{what} must take {n} argument{'s' if n > 1 else ''}, as in f({names}),"
            f" but its signature is {expected}."
        ) from error


def hint_arguments(instead: Mapping[str, str]) -> Callable[[Function], Function]:
    """Name in errors for unknown arguments of a function what to use ``instead``."""

    def decorate(function: Function) -> Function:
        arguments = signature(function).parameters

        @wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() - arguments.keys():
                use = f" Use {instead[name]}." if name in instead else ""
                raise TypeError(
                    f"{function.__name__} has no argument {name!r}."
                    f"{use or hint(name, arguments)}"
                )
            return function(*args, **kwargs)

        return cast(Function, named)

    return decorate


@contextmanager
def about(name: str) -> Iterator[None]:
    """Begin errors of the `with` body with a name, unless they contain it."""
    try:
        yield
    except ValueError as error:
        if not name or name in str(error):
            raise
        raise ValueError(f"{name[0].upper()}{name[1:]}: {error}") from error


@contextmanager
def errors_at(location: str | Callable[[], str]) -> Iterator[None]:
    """Begin errors of the `with` body with the location that is read."""
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
    """A constructor of other libraries: looking it up on the class raises the hint.

    `MissingNameHints.__getattr__` sees instances only.
    """

    def __set_name__(self, owner: type[MissingNameHints], name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, owner: type[MissingNameHints]) -> Any:
        # A class that follows in the method resolution order may have it.
        following = super(self.owner, owner if instance is None else instance)
        try:
            return getattr(following, self.name)
        except AttributeError as error:
            raise owner._missing_name_error(self.name) from error


class MissingNameHints:
    """Errors for missing attributes that other libraries have say what to use."""

    # What to use, by the name of the missing attribute.
    _alternatives: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # else every name would be an attribute of the class

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with the name of what to use."""
            if name not in self._alternatives:
                # If the name is that of a property, raise the property's own error.
                return self.__getattribute__(name)
            raise self._missing_name_error(name, self._instead_of(name))

        def __dir__(self) -> list[str]:
            return [
                name
                for name in super().__dir__()
                if not isinstance(getattr_static(self, name, None), ForeignConstructor)
            ]

    def _instead_of(self, name: str) -> str:
        """What to use in place of a missing attribute of this object."""
        return self._alternatives[name]

    @classmethod
    def _missing_name_error(cls, name: str, use: str | None = None) -> AttributeError:
        """The error for a name that is missing, with what to use."""
        use = use or cls._alternatives[name]
        return AttributeError(f"{cls.__name__} has no attribute {name!r}: use {use}.")
