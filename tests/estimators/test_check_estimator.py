"""scikit-learn's own checks: none may fail, none is expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

from skgoss import (
    DateFeatures,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    PairFeatures,
)


class _Subclass(LGBMRegressor):
    """What users write."""

    def __init__(self, *, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


ESTIMATORS = [
    # Nothing limits counts of rows.
    LGBMClassifier(n_estimators=30, min_child_samples=1, min_data_in_bin=1),
    LGBMRegressor(n_estimators=30, min_child_samples=1, min_data_in_bin=1),
    LGBMRanker(),
    LGBMRanker(n_estimators=10, objective="rank_xendcg"),
    LGBMClassifier(n_estimators=10),
    LGBMRegressor(n_estimators=20),
    _Subclass(n_estimators=20, offset=1.0),
    PairFeatures("sums", n_columns=2),
    PairFeatures(columns=[0, 1]),
    DateFeatures(),
]


# What the checks do: fits of a few rows, and parameters that no estimator has.
WARNINGS = (
    "default",
    "ignore:No tree of the fit has a split",
    "ignore:.* has no parameter 'kwargs'",
    "ignore:PairFeatures appends nothing",
    "ignore:DateFeatures found no columns of dates",
    # They set alpha, as for linear models.
    "error:Options without effect",
)
PRESETS = [
    # Large steps find their rounds soon.
    LGBMClassifier(preset="accurate", learning_rate=0.8),
    LGBMRegressor(preset="accurate", learning_rate=0.8, folds=2),
]
# A preset samples rows: a row of weight 2 is drawn once, two copies of it maybe twice.
_SAMPLES_ROWS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are sampled"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings(*WARNINGS)
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings(*WARNINGS)
@pytest.mark.parametrize("estimator", PRESETS, ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "check_parameters_default_constructible",
        "check_fit_idempotent",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_estimators_pickle",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_dict_unchanged",
        "check_n_features_in_after_fitting",
        "check_estimator_sparse_array",
    ],
)
def test_some_checks_of_presets(estimator, name):
    checks = [
        check
        for _, check in estimator_checks_generator(estimator)
        if check.func.__name__ == name
    ]
    assert checks
    for check in checks:
        check(estimator)


@pytest.mark.nightly
@pytest.mark.filterwarnings(*WARNINGS)
@parametrize_with_checks(
    PRESETS, expected_failed_checks=lambda estimator: _SAMPLES_ROWS
)
def test_scikit_learn_check_of_presets(estimator, check):
    check(estimator)
