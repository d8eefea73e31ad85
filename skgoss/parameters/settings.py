"""The settings of a fit: all options, checked one by one and together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, NoReturn

import numpy as np

from skgoss.parameters.name_resolution import OPTION, canonical, same, suggestion
from skgoss.parameters.table import DEFAULTS, OPTIONS
from skgoss.utils.plain_values import INT32_MAX

# A step of twice a Newton step does not reduce a quadratic loss.
DIVERGES = 2.0

# Options of single trees, which may change from round to round.
CHANGEABLE = frozenset(option.name for option in OPTIONS if option.may_vary)

# The seeds of single random choices if there is no ``random_state``.
DEFAULT_SEEDS: Mapping[str, int] = {
    option.name: option.seed for option in OPTIONS if option.seed is not None
}


class Settings:
    """The checked values of all options for one fit, as attributes. Seeds are ints.

    Three further attributes tell where the values come from. In this example, a preset
    has chosen ``reg_lambda``:

        model = LGBMRegressor(num_leaves=15, preset="accurate")
        model.subsample = 0.5

    - ``set_by_call`` are the names in a call of the constructor, `set_params` or
      `train`: num_leaves and preset. If one has no effect, the fit warns.
    - ``explicit`` has these, and attributes that were assigned: subsample, too. They
      are the user's, with the values as they were passed. A preset does not change
      them.
    - ``active`` has all names whose values may differ from the defaults, whoever has
      set them: reg_lambda and the seeds, too.
    """

    __slots__ = ("__dict__", "active", "explicit", "set_by_call")

    explicit: Mapping[str, Any]
    set_by_call: Collection[str]
    active: Set[str]

    # Not a dataclass: one of a hundred fields would take long to make and to change.
    def __init__(
        self,
        options: Mapping[str, Any],
        explicit: Mapping[str, Any] | None = None,
        set_by_call: Collection[str] = (),
        active: Set[str] | None = None,
    ) -> None:
        vars(self).update(options)
        object.__setattr__(self, "active", options.keys() if active is None else active)
        object.__setattr__(self, "explicit", explicit or {})
        object.__setattr__(self, "set_by_call", set_by_call)

    def __reduce__(self) -> tuple[Any, ...]:
        state = vars(self), self.explicit, self.set_by_call, set(self.active)
        return Settings, state

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Settings never change: use replaced({name}=...).")

    def __getattr__(self, name: str) -> Any:  # type checkers: any option
        raise AttributeError(f"There is no option {name!r}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings):
            return NotImplemented
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"Settings({values})"

    def replaced(self, **options: Any) -> Settings:
        """Return settings with checked values of some options in another form.

        Such as the number of a column in place of its name: they are not checked again.
        """
        active = self.active | options.keys()
        return Settings(vars(self) | options, self.explicit, self.set_by_call, active)

    def checked(self, options: Mapping[str, Any], owner: str) -> Settings:
        """Return settings with other values of some options, which are checked.

        ValueError if a value is outside its domain, or options contradict each other.
        """
        checked = vars(self) | {
            name: OPTION[name].checked(value, owner) for name, value in options.items()
        }
        _check_together(checked, owner)
        active = self.active | options.keys()
        return Settings(checked, self.explicit, self.set_by_call, active)

    def may_have(self, **options: Any) -> bool:
        """Whether these values are allowed with those of the other options."""
        try:
            self.checked(options, "")
        except ValueError:
            return False
        return True

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return settings with other values of options in ``CHANGEABLE``.

        ValueError if an option is not among them, or a value is outside its domain.
        """
        fixed = values.keys() - CHANGEABLE
        if fixed:
            raise ValueError(
                f"reset_parameter cannot change {min(fixed)!r} during a fit."
                f"{'' if min(fixed) in OPTION else suggestion(min(fixed))} It can"
                f" change {', '.join(sorted(CHANGEABLE))}."
            )
        return self.checked(values, "reset_parameter")


def changes(
    values: Mapping[str, Any], kept: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """The options that a callback or `Booster.reset_parameter` changes during a fit.

    They have canonical names. ``kept`` are the values that the fit has so far. Options
    that cannot change (not in ``CHANGEABLE``) are left out if the value is the same,
    and stay otherwise, for the error of `Settings.changed`. An option whose value is
    None counts as not passed.
    """
    passed = {name: value for name, value in values.items() if value is not None}
    options = canonical(passed, owner, ["num_class"])
    return {
        name: value
        for name, value in options.items()
        if name in CHANGEABLE
        or name not in kept
        or not _is_same(name, value, kept[name])
    }


def _is_same(name: str, value: Any, kept: Any) -> bool:
    """Whether two values of an option are the same after their conversion."""
    if same(value, kept) or name not in OPTION:
        return same(value, kept)
    domain = OPTION[name].domain
    first, second = (domain.convert(domain.parse(v)) for v in (value, kept))
    return first is not NotImplemented and same(first, second)


def make_settings(
    values: Mapping[str, Any],
    owner: str,
    explicit: Mapping[str, Any] | None = None,
    set_by_call: Collection[str] = (),
) -> Settings:
    """Check all options and resolve the seeds.

    Options that are absent have their defaults, and unknown names are not read. A
    generator in ``random_state`` draws a number. ``explicit`` and ``set_by_call`` are
    attributes of `Settings`. ValueError if an option is outside its domain, or options
    contradict each other.
    """
    options = dict(DEFAULTS)
    changed = set()
    for name, default in DEFAULTS.items():
        value = values.get(name, default)
        kind = type(default)
        # Most values are defaults: checking them all would slow down small fits.
        is_default = value is default or (
            type(value) is kind in (float, int, tuple) and value == default
        )
        if not is_default:
            options[name] = OPTION[name].checked(value, owner)
            changed.add(name)
    if options["boosting_type"] == "goss":
        options |= {"boosting_type": "gbdt", "data_sample_strategy": "goss"}
        changed.add("data_sample_strategy")
    # With a preset, the options of a forest are not final yet: it may choose samples of
    # rows, which forests need. All options are checked again then.
    is_open = options["boosting_type"] == "rf" and options["preset"] is not None
    if not (is_open or changed.isdisjoint(_COMBINED_OPTIONS)):
        _check_together(options, owner)
    # Seeds that are None follow from the seed of the fit.
    seed, seeds = options["random_state"], DEFAULT_SEEDS
    if seed is not None:
        seed = draw_seed(seed)
        seeds = derived_seeds(seed)
    options["random_state"] = seed or 0
    for name, derived in seeds.items():
        if options[name] is None:
            options[name] = derived
    return Settings(options, explicit, set_by_call, changed | seeds.keys())


def draw_seed(random_state: Any) -> int | None:
    """Return the seed; a RandomState or Generator draws it."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(INT32_MAX))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(INT32_MAX))
    return random_state


def derived_seeds(seed: int | None) -> Mapping[str, int]:
    """Return the seeds that are derived from one; LightGBM's if it is None."""
    if seed is None:
        return DEFAULT_SEEDS
    state = np.random.SeedSequence(seed).generate_state(len(DEFAULT_SEEDS)) >> 1
    return dict(zip(DEFAULT_SEEDS, state.tolist(), strict=True))


# The options on which the checks below depend: they pass if these have their defaults.
_COMBINED_OPTIONS = frozenset(
    {"boosting_type", "data_sample_strategy", "linear_tree", "multi_strategy"}
)


def _check_together(options: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if options contradict each other."""
    if options["data_sample_strategy"] == "goss":
        _check_goss(options, owner)
    if options["boosting_type"] == "rf":
        _check_random_forest(options, owner)
    if options["linear_tree"] and options["zero_as_missing"]:
        raise ValueError(
            f"The 'linear_tree' parameter of {owner} must be False where"
            " zero_as_missing=True, because linear models need the value 0."
        )
    if options["linear_tree"] and _is_monotone(options["monotone_constraints"]):
        raise ValueError(
            f"The 'monotone_constraints' parameter of {owner} cannot be used with"
            " linear_tree=True: linear models of neighboring leaves may cross. Set"
            " linear_tree=False, or leave the constraints out."
        )
    if options["multi_strategy"] == "multi_output_tree":
        _check_shared_trees(options, owner)
    if options["memory_limit"] is not None and options["preset"] is not None:
        raise ValueError(
            f"The 'memory_limit' parameter of {owner} cannot be used with"
            f" preset={options['preset']!r}, which chooses its options while it runs."
            " Set memory_limit=None, or leave preset out and pass options."
        )


def _check_shared_trees(options: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if an option needs the outputs of nodes as they are split."""
    constrained = _is_monotone(options["monotone_constraints"])
    name = "monotone_constraints" if constrained else "path_smooth"
    if constrained or options["path_smooth"] > 0:
        raise ValueError(
            f"The {name!r} parameter of {owner} cannot be used with"
            " multi_strategy='multi_output_tree', whose trees are grown for all outputs"
            f" at once. Set multi_strategy='one_output_per_tree', or leave {name} out."
        )


def _is_monotone(constraints: Mapping[str, int] | Sequence[int] | None) -> bool:
    """Whether any column has a constraint: its value is not 0."""
    if isinstance(constraints, Mapping):
        constraints = list(constraints.values())
    return any(constraints or ())


def _uses_bagging(options: Mapping[str, Any]) -> bool:
    """Whether trees are trained on samples of rows, drawn every few rounds."""
    names = ("subsample", "pos_bagging_fraction", "neg_bagging_fraction")
    return options["subsample_freq"] > 0 and min(options[name] for name in names) < 1


def _check_random_forest(options: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if all trees of a random forest would be equal."""
    samples = _uses_bagging(options) or options["data_sample_strategy"] == "goss"
    if not samples and options["colsample_bytree"] == 1:
        raise ValueError(
            f"boosting_type='rf' of {owner} needs trees that differ: set subsample < 1"
            " and subsample_freq > 0, or colsample_bytree < 1, or"
            " data_sample_strategy='goss'."
        )


def _check_goss(options: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if one-side sampling is not possible with these options."""
    for name in ("top_rate", "other_rate"):
        if options[name] == 0:
            raise ValueError(
                f"The {name!r} parameter of {owner} must be above 0 for"
                " data_sample_strategy='goss'. Got 0 instead."
            )
    top, other = options["top_rate"], options["other_rate"]
    if top + other > 1 + 1e-9:
        raise ValueError(
            f"The sum of the 'top_rate' and 'other_rate' parameters of {owner} must be"
            f" at most 1. Got {top!r} and {other!r}."
        )
    if _uses_bagging(options):
        raise ValueError(
            f"{owner} cannot use data_sample_strategy='goss' together with subsample"
            " and subsample_freq. Set subsample=1 or subsample_freq=0, or"
            " data_sample_strategy='bagging'."
        )
