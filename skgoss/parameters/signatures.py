"""The signature of the estimators' constructor, and errors for unknown arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import Any, TypeVar

from skgoss.parameters.descriptions import FIT
from skgoss.parameters.domains import Option
from skgoss.parameters.name_resolution import (
    CANONICAL_NAME,
    OPTION,
    check_available,
    group_by_option,
    preferred,
    same,
    suggestion,
    warn_no_effect,
)
from skgoss.parameters.other_libraries import ARGUMENTS, FIT_HINTS
from skgoss.parameters.table import FILE_OPTIONS
from skgoss.utils.messages import hint

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

# The names of the options of data files, which estimators do not have.
_FILE_NAMES = {name for option in FILE_OPTIONS for name in option.names}

# Options whose aliases take precedence over these names, as in LightGBM's estimators.
ALIASES_FIRST = ("n_estimators", "objective")

# --- The constructor of estimators ----------------------------------------------------


def set_keyword_arguments(
    estimator: Any, earlier: Mapping[str, Any], kwargs: Mapping[str, Any]
) -> None:
    """Set the ``**kwargs`` of the constructor of an estimator.

    These are options by aliases, and unknown names. Warns of unknown names, which are
    stored in the estimator. Also warns if several names of an option have different
    values: see `preferred`. A canonical name counts as passed if its value is not the
    default in the signature of the estimator's class.

    The constructor has already set all options. Attributes that a subclass has set
    ``earlier``, before it called the constructor, are kept if the argument has its
    default.
    """
    # If all are there, the constructor is called again, and these are old values.
    if earlier and not OPTION.keys() <= earlier.keys():
        for name in earlier.keys() & OPTION.keys():
            if same(getattr(estimator, name), OPTION[name].default):
                setattr(estimator, name, earlier[name])
    if kwargs:
        check_available(kwargs, estimator._owner)
    by_option, unknown = group_by_option(kwargs) if kwargs else ({}, {})
    if by_option:
        _set_aliases(estimator, by_option)
    if unknown or estimator._unused_params:
        warn_of_unknown(unknown, estimator._owner)
        estimator._unused_params = unknown


def remember_passed(estimator: Any, names: Iterable[str]) -> None:
    """Store in an estimator which options a call passes, even with default values.

    ``names`` are the keyword arguments of the call, also aliases and unknown names.

    A call with all options, as in ``model.set_params(**other.get_params())``, is a
    copy: nothing is stored, and earlier names are deleted. Then the options that are
    not at their defaults count as passed.
    """
    passed = {CANONICAL_NAME.get(name, name) for name in names} & OPTION.keys()
    if len(passed) == len(OPTION):
        vars(estimator).pop("_passed", None)
    elif not passed.issubset(estimator._passed):
        estimator._passed = tuple(sorted(passed.union(estimator._passed)))


def warn_of_unknown(names: Iterable[str], owner: str) -> None:
    """Warn of names that are not options of a constructor or of `train`."""
    for name in names:
        advice = " It is an argument of fit." if name in FIT else suggestion(name)
        if name == "eval_metric":
            advice += " Early stopping then also follows the default metric, which"
            advice += " the parameter metric replaces."
        warn_no_effect(f"{owner} has no parameter {name!r}", advice)


def _set_aliases(estimator: Any, by_option: Mapping[str, dict[str, Any]]) -> None:
    """Set the attributes of options that were passed by aliases.

    ``by_option`` has, by canonical names, the values by alias. The constructor has set
    the attributes to the values passed by canonical names, or to their defaults.
    """
    signature = inspect.signature(type(estimator).__init__).parameters
    for name, values in by_option.items():
        option, value = OPTION[name], getattr(estimator, name)
        values = {n: v for n, v in values.items() if not _is_absent(option, v)}
        default = signature[name].default if name in signature else option.default
        if not same(value, default):
            values = {name: value, **values}
        last = name if name in ALIASES_FIRST else None
        if values:
            setattr(estimator, name, preferred(option, values, estimator._owner, last))


def _is_absent(option: Option, value: Any) -> bool:
    """Whether a value is None, and stands for one that is not passed."""
    return value is None and option.domain.convert(None) is NotImplemented


def keywords_only(cls: Class) -> Class:
    """Make the arguments of a class's constructor keyword-only, with a helpful error.

    The constructor also calls `remember_passed`. The class is decorated, and not its
    constructor, so that editors show the constructor as it is written.
    """
    init: Any = vars(cls)["__init__"]

    @functools.wraps(init)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        if args:
            name = type(self).__name__
            raise TypeError(
                f"The parameters of {name} are keyword-only, got"
                f" {', '.join(map(repr, args))}. Write their names, as in"
                f" {name}(n_estimators=100, learning_rate=0.1)."
            )
        init(self, **kwargs)
        vars(self).pop("_passed", None)  # the constructor may be called again
        remember_passed(self, kwargs)

    # scikit-learn asks for it whenever it copies an estimator. `help` would print pages
    # of types, which editors read in the source.
    signature = inspect.signature(init)
    untyped = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
    ]
    named.__signature__ = inspect.Signature(untyped)  # type: ignore[attr-defined]
    cls.__init__ = _Constructor(named)  # type: ignore[misc]
    return cls


class _Constructor:
    """A constructor whose signature makes displays show what the user has passed.

    scikit-learn's text and HTML leave out parameters that are at their default in the
    signature of ``estimator.__init__``. With a preset, it matters whether an option was
    passed, even if its value is the default. Such options have no default in this
    signature, so that they are shown.
    """

    def __init__(self, init: Callable[..., None]) -> None:
        self._init = init

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., None]:
        if estimator is None:
            return self._init
        bound = MethodType(self._init, estimator)
        if vars(estimator).get("preset") is None:
            return bound
        shown, signature = functools.partial(bound), inspect.signature(bound)
        parameters = [
            parameter.replace(default=parameter.empty)
            if name in estimator._passed
            else parameter
            for name, parameter in signature.parameters.items()
        ]
        shown.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return shown


def show_inherited(cls: type) -> None:
    """Add the inherited parameters to the signature of a constructor with ``**kwargs``.

    scikit-learn reads the parameters of an estimator from this signature.
    """
    if "__init__" not in vars(cls):
        return
    init: Any = vars(cls)["__init__"]
    signature = inspect.signature(init)
    parameters = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    if len(parameters) == len(signature.parameters):
        return
    parent = next(base for base in cls.__mro__[1:] if "__init__" in vars(base))
    inherited = inspect.signature(parent.__init__).parameters  # type: ignore[misc]
    merged = parameters | {k: v for k, v in inherited.items() if k not in parameters}
    init.__signature__ = signature.replace(parameters=list(merged.values()))
    cls.__init__ = _Constructor(init)  # type: ignore[misc]


# --- Unknown arguments ----------------------------------------------------------------


def hint_arguments(names: str, options: str = "") -> Callable[[Function], Function]:
    """Add hints to the errors of a function for arguments that it does not have.

    ``names`` is the key of the function in `other_libraries.ARGUMENTS`, which has what
    to use in place of other libraries' arguments. ``options`` are the words for the
    place of options, such as "the constructor"; with "" the hints do not mention
    options. The decorator keeps the signature.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        arguments = signature.parameters.keys()
        file_names = _FILE_NAMES if options == "params" else ()
        owner = function.__qualname__.removesuffix(".__init__")
        instead = ARGUMENTS[names]

        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in arguments:
                    where = _of_users_class(owner, args[:1])
                    raise TypeError(f"{where} has no argument {name!r}.{_advice(name)}")
            return function(*args, **kwargs)

        def _advice(name: str) -> str:
            if name in instead:
                return f" Use {instead[name]}."
            if options and (name in CANONICAL_NAME or name in file_names):
                return f" It belongs to {options}."
            if options and name in FIT_HINTS:
                return FIT_HINTS[name]
            return hint(name, arguments)

        # For inspect.getfullargspec, which does not look behind decorators.
        named.__signature__ = signature  # type: ignore[attr-defined]
        return named  # type: ignore[return-value]

    return decorate


def _of_users_class(method: str, first: Sequence[Any]) -> str:
    """The name of a method, with the class of the object that it is called on.

    ``first`` are the arguments by position, at most one.
    """
    name = method.rpartition(".")[2]
    is_bound = name != method and first and hasattr(first[0], name)
    return f"{type(first[0]).__name__}.{name}" if is_bound else method


hint_fit_arguments = hint_arguments("fit", "the constructor")
