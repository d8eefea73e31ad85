"""What belongs to a task: classes, objectives, numbers of trees."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor, train
from skgoss.dataset.dataset import Dataset
from skgoss.fit.task import (
    Classification,
    Ranking,
    Regression,
    Task,
    TrainTask,
    tasks_of,
)
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.parameters import make_settings


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


def test_a_class_without_weight_stays_a_class(iris):
    X, y = iris
    model = small(LGBMClassifier).fit(X, y, sample_weight=y != 1)
    assert model.classes_.tolist() == [0, 1, 2]
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    assert proba[:, 1].max() < 1e-6
    model = small(LGBMClassifier).fit(X[y > 0], y[y > 0], sample_weight=y[y > 0] == 2)
    assert (model.predict(X) == 2).all()


# --- Objectives -----------------------------------------------------------------------


def classifying(n_classes):
    return Classification("it").learned(np.arange(n_classes))


FOR_TWO, FOR_MANY = {"binary", "cross_entropy"}, {"multiclass", "multiclassova"}
OF_NUMBERS = {name for name, spec in OBJECTIVES.items() if spec.task == "survival"} | {
    name for name, spec in OBJECTIVES.items() if spec.distribution is not None
}
RANKS = {"lambdarank", "rank_xendcg"}
# Of each task: what it is learned from, and the objectives that it refuses.
TASKS = {
    "any": (Task("it"), FOR_MANY),
    "numbers": (Regression("it"), FOR_MANY),
    "ranks": (Ranking("it"), set(OBJECTIVES) - RANKS),
    "one class": (classifying(1), OF_NUMBERS | FOR_MANY),
    "two classes": (classifying(2), OF_NUMBERS | FOR_MANY),
    "three classes": (classifying(3), set(OBJECTIVES) - FOR_MANY),
    "train": (TrainTask("train"), FOR_MANY),
    "train, classes": (TrainTask("train", num_class=3), set(OBJECTIVES) - FOR_MANY),
}


@pytest.mark.filterwarnings("ignore:objective=")
@pytest.mark.parametrize("task", TASKS)
def test_objectives_that_a_task_refuses(task):
    task, refused = TASKS[task]
    for name in OBJECTIVES:
        settings = make_settings({"objective": name}, "it")
        if name in refused:
            with pytest.raises(ValueError, match=f"objective='{name}'"):
                task.resolved(settings)
        else:
            assert task.resolved(settings)[:2] == (name, name)


def test_objectives_of_two_classes_are_told_if_they_have_no_probabilities():
    two = classifying(2)
    with pytest.warns(UserWarning, match="classes as the numbers 0 and 1"):
        two.check_objective("regression")
    with pytest.warns(UserWarning, match="predict_proba does not return prob"):
        classifying(1).check_objective("lambdarank")
    for name in FOR_TWO:
        two.check_objective(name)


@pytest.mark.parametrize(
    ("task", "usual", "n_classes", "n_scores"),
    [
        (Task("it"), None, None, 1),
        (Regression("it"), "regression", None, 1),
        (Ranking("it"), "lambdarank", None, 1),
        (Classification("it"), "binary", 0, 1),
        (classifying(1), "binary", 1, 1),
        (classifying(2), "binary", 2, 1),
        (classifying(3), "multiclass", 3, 3),
        (TrainTask("train"), "regression", None, 1),
        (TrainTask("train", num_class=2), "regression", 2, 2),
        (TrainTask("train", objective=print), None, None, 1),
    ],
)
def test_the_usual_objective_and_the_trees_of_a_round(task, usual, n_classes, n_scores):
    assert task.default_objective == usual
    assert (task.n_classes, task.n_scores) == (n_classes, n_scores)
    if usual is None:
        with pytest.raises(ValueError, match=r"'objective' parameter .* must be set"):
            task.resolved(make_settings({}, "it"))


@pytest.mark.parametrize(
    ("options", "target", "message"),
    [
        ({}, [0.5, -3.0], None),
        ({"objective": "binary"}, [0, 1, 1], None),
        ({"objective": "binary"}, [-1, 1, 1], None),
        ({"objective": "binary"}, [-1, 0, 1], "numbers -1 and 1 .*'binary', got 0"),
        ({"objective": "binary"}, [0, 1, 2], "numbers 0 and 1 .*'binary', got 2"),
        ({"objective": "softmax", "num_class": 3}, [0, 2, 1], None),
        ({"objective": "ova", "num_class": 3}, [0, 3], "0 to 2 for num_class=3, got 3"),
        (
            {"objective": "ova", "num_class": 3},
            [-1, 1],
            "0 to 2 for num_class=3, got -1",
        ),
        ({"objective": "multiclass"}, [0, 1], "'multiclass' needs num_class, the"),
        ({"objective": "l2", "num_class": 3}, [0, 1], "'regression' needs num_class=1"),
        ({"num_class": 3}, [0, 1], "'regression' needs num_class=1"),
    ],
)
def test_labels_of_train(options, target, message):
    task, target = TrainTask("train", **options), np.array(target) * 1.0
    if message is None:
        np.testing.assert_array_equal(task.encode(target, "label"), target)
        return
    with pytest.raises(ValueError, match=message):
        task.encode(target, "label")


@pytest.mark.parametrize(
    ("estimator", "objective", "served"),
    [
        (LGBMRegressor, "poisson", {"regression"}),
        (LGBMClassifier, None, {"classification"}),
        (LGBMRanker, None, {"ranking"}),
        (LGBMModel, "binary", {"classification", "any"}),
        (LGBMModel, "cross_entropy", {"classification", "regression", "any"}),
        (LGBMModel, "lambdarank", {"ranking", "any"}),
        (
            LGBMModel,
            lambda y, p: (p - y, y * 0 + 1.0),
            {"classification", "regression", "ranking", "any"},
        ),
        (None, "l2", {"regression", "any"}),
        (None, "cross_entropy", {"classification", "regression", "any"}),
    ],
)
def test_the_tasks_that_a_model_serves(estimator, objective, served):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    if estimator is None:
        model = train(
            {"objective": objective, "verbosity": -1}, Dataset(X, y), 1
        )._model
    else:
        model = estimator(objective=objective, n_estimators=1)
        ranks = "ranking" in served and "regression" not in served
        model = model.fit(X, y, **({"group": [60]} if ranks else {}))._model
    assert set(tasks_of(model)[0]) == served
