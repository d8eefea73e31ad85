"""Tasks: how targets become numbers, and which objectives belong to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import queries, row_weights, targets
from skgoss.distributed.row_partition import Parts, RowPartition
from skgoss.fit.arguments import InputSet
from skgoss.model.fitted import FittedModel
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import OBJECTIVES, canonical_name, make_link
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import refuse, warn

# The objectives of classification, for two and for more classes.
_TWO_CLASSES = ("binary", "cross_entropy")
_MANY_CLASSES = ("multiclass", "multiclassova")


Objective = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Task:
    """Learning numbers by any objective without classes."""

    owner: str  # the name of the estimator or function, for messages
    # The task of each target, if there are several.
    tasks: tuple[Task, ...] = field(default=(), kw_only=True)
    # What messages call the column of each target, if there are several.
    columns: Sequence[str] = field(default=(), kw_only=True)

    # 'classification', 'regression', 'ranking', or 'any'.
    name: ClassVar[str] = "any"
    # The tasks of models that an estimator for this task may be created from.
    serves: ClassVar[tuple[str, ...]] = ("any", "regression", "ranking")
    # The objective if the user passes none; None if the user must pass one.
    default_objective: ClassVar[str | None] = None
    # The labels, if the target holds classes.
    classes: ClassVar[NDArray[Any] | None] = None
    # Whether functions of the user are f(predictions, dataset), as those of `train`. No
    # estimator could call these, so models forget them.
    functions_take_dataset: ClassVar[bool] = False
    may_rank: ClassVar[bool] = False  # whether rows may have to have queries
    # Whether ``y`` may have several columns, with a fit for each of them.
    takes_several: ClassVar[bool] = False
    # Whether the columns of ``y`` are probabilities of classes: see `SoftLabels`.
    is_soft: ClassVar[bool] = False

    # The number of classes; None if the target holds numbers.
    n_classes: ClassVar[int | None] = None
    n_scores: ClassVar[int] = 1  # the number of trees of a round

    def learned(self, y: NDArray[Any], parts: Parts | None = None) -> Self:
        """The task with the classes of a training set's target."""
        return self

    def continuing_from(self, model: FittedModel) -> Self:
        """The task with the classes of the model that training continues from.

        TypeError if the model is for another task.
        """
        return self

    def encode(
        self, y: NDArray[Any], name: str, source: str = "y"
    ) -> NDArray[np.float64]:
        """The target of a set as numbers.

        Messages call it ``name``, and what labels were learned from ``source``.
        """
        return targets.numbers(y, self.owner, name)

    def check_learnable(
        self, target: NDArray[np.float64], weight: NDArray[np.float64] | None
    ) -> None:
        """Check that each of several targets has a value; else ValueError."""

    def weights(
        self,
        rows: InputSet,
        target: NDArray[np.float64],
        partition: RowPartition | None,
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """The weight of each row times that of its class, and those for each target.

        None if all are 1, or if those of all targets are those of the rows.
        """
        class_weight, prefix = rows.class_weight, rows.prefix
        if class_weight is not None and self.classes is None:
            raise ValueError(
                f"The '{prefix}class_weight' parameter of {self.owner} must be"
                " None: there are no classes. Use the argument"
                f" {prefix}sample_weight of fit."
            )
        weight = row_weights.checked(
            rows.sample_weight, class_weight, target, self.classes, prefix, partition
        )
        return weight, None

    def queries(self, rows: InputSet, n_rows: int) -> queries.Queries | None:
        """The queries of the rows; None if rows are not ranked."""
        return rows.queries(n_rows) if rows.has_queries else None

    def resolved(self, settings: Settings) -> tuple[Objective, Objective, Link]:
        """The objective as the user passed it, by its canonical name, and its link.

        ValueError if there is none, or it is unknown or does not belong to the task.
        """
        passed = settings.objective or self.default_objective
        if passed is None:
            raise ValueError(
                f"The 'objective' parameter of {self.owner} must be set."
                " LGBMClassifier and LGBMRegressor choose one."
            )
        objective = passed
        if not callable(passed):
            objective = passed if passed in OBJECTIVES else canonical_name(passed)
            self.check_objective(objective)
        link = make_link(objective, settings.sigmoid, settings.reg_sqrt)
        return passed, objective, link

    def check_objective(self, name: str) -> None:
        """Check that an objective belongs to the task; else ValueError."""
        if name in _MANY_CLASSES:
            raise ValueError(
                f"objective={name!r} is for classification, but {self.owner} predicts"
                " numbers. Use LGBMClassifier."
            )


@dataclass(frozen=True, eq=False)
class Regression(Task):
    """Learning numbers."""

    name = "regression"
    serves = ("regression",)
    default_objective = "regression"
    takes_several = True


@dataclass(frozen=True, eq=False)
class Ranking(Task):
    """Ranking documents of queries by their grades."""

    name = "ranking"
    serves = ("ranking",)
    default_objective = "lambdarank"
    may_rank = True

    def queries(self, rows: InputSet, n_rows: int) -> queries.Queries:
        """The queries of the rows; without any, all rows are one query."""
        return rows.queries(n_rows)

    def check_objective(self, name: str) -> None:
        """Check that an objective is for ranking."""
        if OBJECTIVES[name].task != "ranking":
            raise ValueError(
                f"objective={name!r} is not for ranking. Use 'lambdarank' or"
                " 'rank_xendcg', or LGBMRegressor."
            )


@dataclass(frozen=True, eq=False)
class Classification(Task):
    """Learning classes, which are numbered in the order of their labels.

    ``classes`` are the sorted labels; None until they are learned.
    """

    name = "classification"
    serves = ("classification",)
    takes_several = True
    classes: NDArray[Any] | None = None  # type: ignore[misc]

    # What follows from the classes; there are as many scores if there are several.
    n_classes: int = 0  # type: ignore[misc]
    n_scores: int = 1  # type: ignore[misc]
    default_objective: str = "binary"  # type: ignore[misc]

    def with_classes(self, classes: NDArray[Any] | None) -> Self:
        """The task with these classes."""
        n = 0 if classes is None else len(classes)
        return replace(
            self,
            classes=classes,
            n_classes=n,
            n_scores=n if n > 2 else 1,
            default_objective="multiclass" if n > 2 else "binary",
        )

    def learned(self, y: NDArray[Any], parts: Parts | None = None) -> Self:
        """The task with the classes that occur in a target."""
        if isinstance(self.classes, list):
            raise ValueError(
                f"y has one column, but init_model has learned {len(self.classes)}"
                " targets."
            )
        if self.classes is not None:
            return self
        return self.with_classes(targets.classes(y, parts))

    def continuing_from(self, model: FittedModel) -> Self:
        """The task with the classes of the model that training continues from."""
        tasks, source = tasks_of(model)
        if not set(tasks) & set(self.serves):
            raise TypeError(
                f"init_model must be a classification model for {self.owner}, got"
                f" {source}."
            )
        return self.with_classes(model.classes)

    def encode(
        self, y: NDArray[Any], name: str, source: str = "y"
    ) -> NDArray[np.float64]:
        """The label encoding: the number of each label."""
        return targets.encode_labels(y, np.asarray(self.classes), name, source)

    def check_objective(self, name: str) -> None:
        """Check that an objective is for the number of classes."""
        spec = OBJECTIVES[name]
        if spec.distribution is not None or spec.task == "survival":
            what = "event times" if spec.task == "survival" else "distributions"
            raise ValueError(
                f"objective={name!r} learns {what}: use LGBMRegressor, or another"
                " objective for classes."
            )
        two = self.n_classes <= 2
        if (name in _MANY_CLASSES) == two:
            allowed = _TWO_CLASSES if two else _MANY_CLASSES
            raise ValueError(
                f"objective={name!r} cannot be used for {self.n_classes} classes. Use"
                f" one of {', '.join(map(repr, allowed))}, or None, which chooses one"
                " by the number of classes."
            )
        if two and name not in _TWO_CLASSES:
            warn(
                f"objective={name!r} treats the classes as the numbers 0 and 1, so"
                " predict_proba does not return probabilities. Use one of"
                f" {', '.join(map(repr, _TWO_CLASSES))}."
            )


@dataclass(frozen=True, eq=False)
class TrainTask(Task):
    """What `train` and `cv` learn: numbers, which may be those of classes."""

    # The number of classes, for objectives of more than two classes and functions.
    num_class: int = 1
    objective: str | Callable[..., Any] | None = None  # as the user passed it

    functions_take_dataset: ClassVar[bool] = True
    may_rank: ClassVar[bool] = True

    @property
    def default_objective(self) -> str | None:  # type: ignore[override]
        """The objective if the user passes none."""
        return None if callable(self.objective) else "regression"

    @property
    def n_classes(self) -> int | None:  # type: ignore[override]
        """The number of classes; None for numbers and for two classes."""
        return self.num_class if self.num_class > 1 else None

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """The number of trees of a round."""
        return self.num_class

    @property
    def objective_name(self) -> str | None:
        """The canonical name of the objective; None for a function."""
        objective = self.objective or self.default_objective
        if objective is None or callable(objective):
            return None
        return canonical_name(objective)

    def encode(
        self, y: NDArray[Any], name: str, source: str = "y"
    ) -> NDArray[np.float64]:
        """The target, which must hold the numbers that the objective needs."""
        target = super().encode(y, name, source)
        objective = self.objective_name
        if objective is not None:
            self.check_objective(objective)
        if objective in _MANY_CLASSES:
            by = f"num_class={self.num_class}"
            error = _other_codes(target, range(self.num_class), by)
            if error is not None:
                raise error
        elif objective == "binary":
            other = -1 if (target < 0).any() else 0
            error = _other_codes(target, (other, 1), "objective='binary'")
            if error is not None:
                refuse(error, "Labels above 0 are the second class, as in LightGBM.")
                return (target > 0).astype(np.float64)
        return target

    def queries(self, rows: InputSet, n_rows: int) -> queries.Queries | None:
        """The queries of the rows, which objectives of ranking need."""
        name = self.objective_name
        is_ranking = name is not None and OBJECTIVES[name].task == "ranking"
        if is_ranking and rows.group is None:
            raise ValueError(
                f"objective={name!r} is for ranking and needs queries: pass their sizes"
                " to the Dataset, Dataset(X, label=y, group=sizes)."
            )
        return super().queries(rows, n_rows)

    def check_objective(self, name: str) -> None:
        """Check that an objective fits the number of classes."""
        is_many = name in _MANY_CLASSES
        if is_many and self.num_class == 1:
            raise ValueError(
                f"objective={name!r} needs num_class, the number of classes."
            )
        if self.num_class > 1 and not is_many:
            raise ValueError(f"objective={name!r} needs num_class=1.")


def _other_codes(
    target: NDArray[np.float64], codes: Sequence[int], needed_by: str
) -> ValueError | None:
    """The error of a target whose numbers are not those of classes; None: they are.

    ``codes`` are the numbers of classes, ascending, and ``needed_by`` says in the
    message who needs them.
    """
    is_code = np.isin(target, codes)
    if is_code.all():
        return None
    to = "and" if len(codes) == 2 else "to"
    return ValueError(
        f"The label must hold the numbers {codes[0]} {to} {codes[-1]} for"
        f" {needed_by}, got {target[~is_code][0]:g}. For codes of other labels, use"
        " numpy.unique(y, return_inverse=True)[1]."
    )


# --- The tasks of models --------------------------------------------------------------

_ALL_TASKS = ("classification", "regression", "ranking", "any")


def tasks_of(model: FittedModel) -> tuple[tuple[str, ...], str]:
    """The tasks that a model serves, and what it is, for messages.

    A model of another library whose objective is unknown may serve any task.
    """
    record, name = model.record, model.objective
    if record is not None and record.task != "any":
        return (record.task,), f"an {record.estimator}"
    if isinstance(name, str):
        tasks: tuple[str, ...] = (OBJECTIVES[name].task,)
        if name == "cross_entropy":
            tasks = ("classification", "regression")
        if tasks == ("survival",):
            tasks = ("regression",)
        if record is not None:
            tasks = (*tasks, "any")
        return tasks, f"a model with objective={name!r}"
    return _ALL_TASKS, "a model without a known objective"
