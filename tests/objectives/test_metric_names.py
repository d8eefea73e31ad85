"""Names of metrics: aliases, levels, those of other libraries and unknown ones."""

from __future__ import annotations

import pytest

import skgoss
from skgoss import parameters
from skgoss.objectives import metric_names


def settings(**options):
    return parameters.make_settings(options, "LGBMRegressor")


def made(words, n_classes=None, ranks=False, **options):
    words, functions = metric_names.names_and_functions(words)
    found = metric_names.make(
        words,
        settings(**options),
        n_classes if n_classes is not None and n_classes > 2 else 1,
        classifies=n_classes is not None,
        ranks=ranks,
    )
    return [metric.name for metric in found], functions


def test_every_alias_of_lightgbm():
    for word, name in (
        *(("mse", "l2"), ("regression", "l2"), ("mean_squared_error", "l2")),
        *(("l2_root", "rmse"), ("mae", "l1"), ("xentropy", "cross_entropy")),
        *(("kldiv", "kullback_leibler"), ("xentlambda", "cross_entropy_lambda")),
        ("mean_absolute_percentage_error", "mape"),
    ):
        assert made([word])[0] == [name]
    assert made(["ovr"], 3)[0] == ["multi_logloss"]
    assert made(["mean_average_precision"], ranks=True)[0] == ["map"]


def test_words_come_once_in_their_order_and_the_list_is_kept():
    given = ["auc", "binary_logloss,l2", None, len, "auc"]
    before = list(given)
    assert made([given, "l2"]) == (["auc", "binary_logloss", "l2"], [len])
    assert given == before
    assert made(["None"])[0] == made([""])[0] == made([None])[0] == []


def test_capitals_as_lightgbm_allows_them():
    assert made(["AUC", "Binary_Logloss"], 2)[0] == ["auc", "binary_logloss"]
    assert metric_names.chosen(None, None, "RMSE") == (["rmse"], [])


def test_a_level_comes_once():
    made_ = metric_names.make(["ndcg@3", "ndcg", "ndcg@1,3"], settings(), ranks=True)
    assert [metric.settings.eval_at for metric in made_] == [(3,), (1, 2, 4, 5)]


def test_levels():
    (metric,) = metric_names.make(["ndcg@3,1"], settings(), ranks=True)
    assert metric.settings.eval_at == (3, 1)
    assert made(["ndcg@3,1,map@2"], ranks=True)[0] == ["ndcg", "map"]
    for bad in ("ndcg@x", "auc@3", "ndcg@0", "ndcg@"):
        with pytest.raises(ValueError, match="ndcg"):
            made([bad], ranks=True)


def test_words_of_classifiers():
    assert made(["logloss", "error"], 2)[0] == ["binary_logloss", "binary_error"]
    assert made(["logloss", "error"], 3)[0] == ["multi_logloss", "multi_error"]
    assert made(["binary_logloss"], 3)[0] == ["multi_logloss"]
    assert made(["multi_logloss"], 2)[0] == ["binary_logloss"]


@pytest.mark.parametrize(
    ("words", "n_classes", "message"),
    [
        (["multi_logloss"], None, "metric 'multi_logloss' cannot be computed"),
        (["auc"], 3, "metric 'auc' cannot be computed .* use one of multi_logloss"),
        (["ndcg"], None, "metric 'ndcg' cannot be computed"),
    ],
)
def test_bad_names(words, n_classes, message):
    with pytest.raises(ValueError, match=message):
        made(words, n_classes)
    with pytest.raises(TypeError, match="eval_metric must be a str"):
        metric_names.names_and_functions([3])


@pytest.mark.parametrize(
    ("words", "n_classes", "message"),
    [
        (["mea", "auc"], None, r"Did you mean 'mae'\?"),
        (["rsme", "auc"], None, r"'rsme' is not known .* Did you mean 'rmse'\?"),
        (["accuracy", "auc"], 2, "metric 'accuracy' is not known .* or a function"),
        (["auc", "logloss"], None, "Did you mean 'binary_logloss'"),
        (["multi_logless", "auc_mu"], 3, "Did you mean 'multi_logloss'"),
        (["auc", "neg_mean_poisson_deviance"], None, "Did you mean 'poisson'"),
        (["roc_auc", "auc_mu"], 3, "metric 'roc_auc' is not known"),
        (["auc,,2"], 2, "metric ',2' is not known"),
    ],
)
def test_unknown_names_have_no_effect(words, n_classes, message):
    with pytest.warns(skgoss.UnusedParameterWarning, match=message):
        names, _ = made(words, n_classes)
    assert names == [words[-1] if n_classes == 3 else "auc"]


def test_names_of_other_libraries():
    words = ["roc_auc", "log_loss", "ERROR"]
    assert made(words, 2)[0] == ["auc", "binary_logloss", "binary_error"]
    assert made(["mlogloss", "merror"], 3)[0] == ["multi_logloss", "multi_error"]
    assert made(["r2_score", "RMSE"])[0] == ["r2", "rmse"]
