"""The names of objectives, and what a model needs to know of each besides its loss.

The losses themselves are in `skgoss.objectives.objective`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skgoss.objectives.link import Link
from skgoss.utils.messages import hint


@dataclass(frozen=True)
class NamedObjective:
    """A built-in objective.

    Attributes
    ----------
    task : str
        'regression', 'classification' or 'ranking'.
    aliases : tuple of str
        LightGBM's other names of it.
    link : str
        The kind of its ``Link``.
    has_slope : bool
        Whether the option ``sigmoid`` is the slope of the link.
    learns_roots : bool
        Whether ``reg_sqrt`` makes it learn the square root of the target.
    """

    task: str = "regression"
    aliases: tuple[str, ...] = ()
    link: str = "identity"
    has_slope: bool = False
    learns_roots: bool = False


OBJECTIVES: dict[str, NamedObjective] = {
    "regression": NamedObjective(
        aliases=(
            "regression_l2",
            "l2",
            "mean_squared_error",
            "mse",
            "l2_root",
            "root_mean_squared_error",
            "rmse",
        ),
        learns_roots=True,
    ),
    "regression_l1": NamedObjective(
        aliases=("l1", "mean_absolute_error", "mae"), learns_roots=True
    ),
    "huber": NamedObjective(),
    "fair": NamedObjective(learns_roots=True),
    "quantile": NamedObjective(learns_roots=True),
    "mape": NamedObjective(
        aliases=("mean_absolute_percentage_error",), learns_roots=True
    ),
    "poisson": NamedObjective(link="exp"),
    "gamma": NamedObjective(link="exp"),
    "tweedie": NamedObjective(link="exp"),
    "cross_entropy": NamedObjective(aliases=("xentropy",), link="logistic"),
    "cross_entropy_lambda": NamedObjective(aliases=("xentlambda",), link="log1p_exp"),
    "binary": NamedObjective("classification", link="logistic", has_slope=True),
    "multiclass": NamedObjective(
        "classification", aliases=("softmax",), link="softmax"
    ),
    "multiclassova": NamedObjective(
        "classification",
        aliases=("multiclass_ova", "ova", "ovr"),
        link="logistic",
        has_slope=True,
    ),
    "lambdarank": NamedObjective("ranking"),
    "rank_xendcg": NamedObjective(
        "ranking", aliases=("xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
    ),
}

ALIASES: dict[str, str] = {
    alias: name
    for name, objective in OBJECTIVES.items()
    for alias in (name, *objective.aliases)
}

# LightGBM's words for an objective that is not built in, and for no metric.
NOT_BUILT_IN = ("none", "null", "custom", "na")


def canonical_name(objective: str) -> str:
    """The name in ``OBJECTIVES`` of an objective, given by name or alias in any case.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if isinstance(objective, str) and objective.lower() in NOT_BUILT_IN:
        raise ValueError(
            f"objective={objective!r} means a custom objective: pass a function that "
            "returns the gradient and the hessian."
        )
    if not isinstance(objective, str) or objective.lower() not in ALIASES:
        raise ValueError(
            f"objective={objective!r} is not known.{hint(str(objective), ALIASES)} Use"
            f" a function or one of {', '.join(OBJECTIVES)}."
        )
    return ALIASES[objective.lower()]


def make_link(
    objective: str | Callable[..., Any], sigmoid: float = 1.0, reg_sqrt: bool = False
) -> Link:
    """Make the link of an objective.

    Parameters
    ----------
    objective : str or callable
        For a callable, predictions are raw scores.
    sigmoid, reg_sqrt
        The options of these names.

    Returns
    -------
    Link
        It gives means, quantiles, or the probabilities of the K classes (for 'binary',
        of the second class).
    """
    if callable(objective):
        return Link()
    known = OBJECTIVES[canonical_name(objective)]
    if reg_sqrt and known.learns_roots:
        return Link("signed_square")
    return Link(known.link, sigmoid if known.has_slope else 1.0)


def text(name: str, sigmoid: float, reg_sqrt: bool, n_scores: int) -> str:
    """The objective and its constants, as in LightGBM's model files.

    Parameters
    ----------
    name : str
        The canonical name.
    sigmoid, reg_sqrt
        The options of these names.
    n_scores : int
        The number of trees of a round.
    """
    objective, parts = OBJECTIVES[name], [name]
    if name in ("multiclass", "multiclassova"):
        parts.append(f"num_class:{n_scores}")
    if objective.has_slope:
        parts.append(f"sigmoid:{sigmoid:g}")
    if reg_sqrt and objective.learns_roots:
        parts.append("sqrt")
    return " ".join(parts)


def readable_for_lightgbm(objective: Any, link: Link) -> str | None:
    """The objective of a file by which LightGBM predicts the scores of several outputs.

    LightGBM applies the links of most objectives to the first score alone. So it needs
    one that has no link, or one that has the same link for each score. None if there is
    no such objective: then LightGBM predicts raw scores.

    Parameters
    ----------
    objective : str, callable or tuple
        That of all outputs, or one for each.
    link : Link
        The link of all outputs.
    """
    if link.kind == "logistic" and objective == "binary":
        return "multiclassova"
    return objective if link.kind == "identity" and isinstance(objective, str) else None
