"""What users write, with types: a type checker reads this file, nothing runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import skgoss
from skgoss import (
    Booster,
    CVBooster,
    Dataset,
    EvalResult,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    PairFeatures,
    cv,
    early_stopping,
    log_evaluation,
    ndcg_scorer,
    plot_importance,
    record_evaluation,
    to_onnx,
    train,
)
from skgoss.callback import CallbackEnv
from skgoss.dask import DaskLGBMRegressor
from skgoss.model_selection import GridSearchCV


def estimators(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Fits and predictions."""
    model: LGBMRegressor = LGBMRegressor(n_estimators=10, objective="huber").fit(X, y)
    model.fit(X, y, sample_weight=y, eval_set=[(X, y)], callbacks=[early_stopping(5)])
    values: NDArray[np.float64] = model.predict(X)
    leaves = model.predict(X, pred_leaf=True)
    n_bytes: int = model.estimate_memory(X, y)
    for staged in model.staged_predict(X):
        values = staged
    classifier = LGBMClassifier(class_weight="balanced").fit(X, y > 0)
    shares: NDArray[np.float64] = classifier.predict_proba(X, raw_score=True)
    ranker: LGBMRanker = LGBMRanker().fit(X, y, group=[len(y)])
    booster: Booster = ranker.booster_
    ends: NDArray[np.float64] = model.predict_interval(X, coverage=[0.5, 0.9])
    sets: NDArray[np.bool_] = classifier.predict_set(X, coverage=0.9)
    print(
        values, leaves, n_bytes, shares, ends, sets, booster.feature_importance().sum()
    )
    pairs: PairFeatures = PairFeatures("sums", columns=["a", 1]).fit(X, y)
    made: NDArray[np.float64] = np.asarray(pairs.transform(X))
    print(made, pairs.get_feature_names_out())


def scripts(X: NDArray[np.float64], y: NDArray[np.float64], folder: Path) -> None:
    """Data sets, training, cross-validation and files."""
    data: Dataset = Dataset(X, label=y, categorical_feature=[1])
    booster: Booster = train({"objective": "binary"}, data, num_boost_round=10)
    booster.save_model(folder / "model.txt")
    again = Booster(model_file=folder / "model.txt")
    text: str = again.model_to_string()
    results = cv({}, data, return_cvbooster=True)
    folds = results["cvbooster"]
    assert isinstance(folds, CVBooster)
    number: str = skgoss.__version__
    print(text, number)


def callbacks(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Callbacks, those of the package and one of the user."""
    history: dict[str, dict[str, list[float]]] = {}

    def watch(env: CallbackEnv) -> None:
        results: list[EvalResult] = env.evaluation_result_list
        value: float = results[0].metric_value
        print(env.iteration, value)

    train(
        {"metric": "l2"},
        Dataset(X, y),
        callbacks=[watch, log_evaluation(10), record_evaluation(history)],
    )


def others(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Rows on a cluster, plots, files of ONNX, scorers."""
    model: DaskLGBMRegressor = DaskLGBMRegressor(n_estimators=10).fit(X, y)
    plot_importance(model, figsize=(4.0, 3.0)).set_title("Importances")
    to_onnx(model.booster_, X[:1], raw_score=True)
    score: float = ndcg_scorer(k=5)(model, X, y)
    print(score)


def mistakes(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """What a checker must refuse: a signature of `Any` would accept it."""
    LGBMRegressor(n_estimators="many")  # type: ignore[arg-type]
    LGBMRegressor().fit(X, y, eval_names=1)  # type: ignore[arg-type]
    text: str = LGBMRegressor().predict(X)  # type: ignore[assignment]
    print(text)
    Dataset(X, target=y)  # type: ignore[call-arg]
    train({}, Dataset(X, y), num_boost_round="many")  # type: ignore[arg-type]
    early_stopping()  # type: ignore[call-arg]
    log_evaluation(period="each")  # type: ignore[arg-type]
    PairFeatures("differences")  # type: ignore[arg-type]
    DaskLGBMRegressor().fit(X, y, eval_names=1)  # type: ignore[arg-type]
    plot_importance(X)  # type: ignore[arg-type]
    GridSearchCV(LGBMRegressor(), {}, strategy="races")  # type: ignore[arg-type]
