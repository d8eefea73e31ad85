"""``warm_start``: a fit that adds rounds to those of the estimator's last fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from skgoss import parameters
from skgoss.fit.arguments import FitArguments, InputSet
from skgoss.model.fitted import FittedModel
from skgoss.parameters.name_resolution import OPTION
from skgoss.parameters.settings import DEFAULT_SEEDS, Settings
from skgoss.utils.messages import warn

# The options that may change between the fits: they do not change the rounds.
_FREE = {"n_estimators", "warm_start", "n_jobs", "time_limit", "importance_type"}
_FREE |= {"memory_limit", "verbosity", "deterministic", "force_col_wise"}
_FREE |= {"force_row_wise"}


def check(
    settings: Settings, arguments: FitArguments, sets: Sequence[InputSet]
) -> None:
    """Check that later fits can continue from a fit; else ValueError.

    The first of the ``sets`` is the training set.
    """
    boosting, starts = settings.boosting_type, [rows.init_score for rows in sets]
    reasons = {
        f"preset={settings.preset!r}": (
            settings.preset is not None,
            "which chooses the number of rounds itself",
        ),
        f"folds={settings.folds!r}": (
            settings.folds is not None,
            "whose model is a mean of the models of several fits",
        ),
        "refit=True": (
            settings.refit,
            "which learns from the rows that early stopping holds out",
        ),
        "boosting_type='dart'": (
            boosting == "dart",
            "because later rounds change earlier trees",
        ),
        "boosting_type='rf'": (
            boosting == "rf",
            "because the trees of a forest are averaged, not added",
        ),
        "init_model": (
            arguments.init_model is not None,
            "because the fit continues from the last one",
        ),
        "init_score": (
            any(start is not None for start in starts),
            "because the model does not keep start scores",
        ),
        "positions of documents": (
            sets[0].position is not None,
            "because the model does not keep their biases",
        ),
    }
    for name, (is_used, why) in reasons.items():
        if is_used:
            raise ValueError(
                f"warm_start=True cannot be used with {name}, {why}. Leave one of them"
                " out."
            )


def continued(
    model: FittedModel, arguments: FitArguments, settings: Settings
) -> FitArguments | None:
    """The arguments of a fit that continues from the model of the last one.

    None, with a warning, if there is nothing to add. ValueError if the model has more
    rounds than ``n_estimators``, or if options have changed.
    """
    before = {} if model.record is None else model.record.parameters
    now = settings.explicit
    for name in sorted({*before, *now} - _FREE):
        default = parameters.DEFAULTS.get(name)
        values = before.get(name, default), now.get(name, default)
        if not parameters.same(*values):
            raise ValueError(
                f"warm_start=True continues from the last fit, so {name} must still be"
                f" {values[0]!r}, got {values[1]!r}. Set warm_start=False to fit again."
                " Or pass init_model to fit, which allows other options."
            )
    n_planned, n_rounds = settings.n_estimators, model.n_rounds
    if n_planned < n_rounds:
        raise ValueError(
            f"n_estimators={n_planned} must be at least {n_rounds}, the number of"
            " rounds of the last fit, because warm_start=True. Set warm_start=False to"
            " fit again."
        )
    if n_planned == n_rounds:
        warn(
            f"The last fit already has n_estimators={n_planned} rounds, so this fit"
            " adds none. Increase n_estimators, or set warm_start=False to fit again."
        )
        return None
    return replace(arguments, init_model=model, continues=True)


def with_seeds(settings: Settings, model: FittedModel) -> Settings:
    """The options with the seeds of the last fit, which a generator may have drawn."""
    written = model.options()
    seeds = {
        name: written.get(OPTION[name].lightgbm, getattr(settings, name))
        for name in ("random_state", *DEFAULT_SEEDS)
    }
    return settings.replaced(**seeds)


@contextmanager
def errors_of_continued_fit() -> Iterator[None]:
    """Say in errors of the `with` body that the fit continues from the last one."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # Errors of other types are not made from a message.
        if type(error) not in (TypeError, ValueError):
            raise
        text = str(error).rstrip().replace("init_model", "the last fit")
        if text.startswith("the"):
            text = f"T{text[1:]}"
        raise type(error)(
            f"{text} (With warm_start=True, this fit continues from the last one.)"
        ) from error


def of_new_rounds(settings: Settings, arguments: FitArguments) -> Settings:
    """The options of the rounds to grow, without those of the last fit."""
    n_rounds = arguments.init_model.n_rounds if arguments.continues else 0
    return settings.replaced(n_estimators=settings.n_estimators - n_rounds)
