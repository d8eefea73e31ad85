"""Gradient-based one-side sampling: its rows and its fits."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from helpers.fits import Fit, fit, smooth_target, table
from helpers.reference import grower_of, rounds_of
from helpers.same_trees import assert_same_tree, replay
from skgoss import LGBMClassifier, LGBMRegressor, UnusedParameterWarning
from skgoss._engine.training.sampling_kernels import one_side_sample
from skgoss.objectives.percentiles import percentile

GOSS: dict[str, Any] = {"data_sample_strategy": "goss"}
# Without rounds that see all rows.
AT_ONCE = GOSS | {"learning_rate": 1.5}
GOLDEN = 0x9E3779B97F4A7C15
ONE_SIDE = 5

# --- The rows, against a reference that sorts -----------------------------------------


def mix(x: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def hashes(seed: int, round_index: int, n: int) -> np.ndarray:
    """64 random bits for each row."""
    with np.errstate(over="ignore"):
        key = np.array(seed + GOLDEN & 2**64 - 1, dtype=np.uint64)
        key = mix(mix(mix(key) + np.uint64(ONE_SIDE)) + np.uint64(round_index))
        return mix(key + np.arange(n, dtype=np.uint64) * np.uint64(GOLDEN))


def reference_sample(
    gradient: np.ndarray,
    weight: np.ndarray | None,
    n_top: int,
    n_other: int,
    seed: int,
    round_index: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The rows, ascending, and how often each row of all counts."""
    n = gradient.shape[1]
    share = np.abs(gradient).astype(np.float64) * (1.0 if weight is None else weight)
    score = np.zeros(n, dtype=np.float32)
    for one in share.astype(np.float32):
        score += one
    order = np.argsort(-score, kind="stable")
    top, rest = order[:n_top], np.sort(order[n_top:])
    drawn = hashes(seed, round_index, n)[rest] >> np.uint64(33)
    other = rest[np.argsort(drawn, kind="stable")[:n_other]]
    counts = np.ones(n, dtype=np.float32)
    counts[other] = np.float32((n - n_top) / n_other)
    return np.sort(np.concatenate([top, other])), counts


def slopes(kind: str, n: int, n_scores: int = 1) -> np.ndarray:
    rng = np.random.default_rng(n)
    normal = rng.standard_normal((n_scores, n))
    return {
        "normal": normal,
        "ties": rng.integers(-3, 4, (n_scores, n)),
        "zeros": normal * (rng.random((n_scores, n)) < 0.1),
        "all zero": np.zeros((n_scores, n)),
        "equal": np.full((n_scores, n), -0.5),
        "sixty decades": normal * 10.0 ** rng.uniform(-30, 30, (n_scores, n)),
        "denormal": normal * 1e-42,
        "falling": np.linspace(1, 0, n_scores * n).reshape(n_scores, n),
        # So that the rows that are tried first are not like the others.
        "periodic": normal * (np.arange(n) % 32 > 0),
    }[kind].astype(np.float32)


def check_sample(
    gradient: np.ndarray,
    n_top: int,
    n_other: int,
    weight: np.ndarray | None = None,
    seed: int = 3,
    round_index: int = 0,
    n_threads: int = 1,
) -> np.ndarray:
    """Rows and what the arrays hold afterwards are those of the reference."""
    options = (weight, n_top, n_other, seed, round_index)
    expected, counts = reference_sample(gradient, *options)
    hessian = np.abs(gradient) + np.float32(0.25)
    for constant in (False, True):
        g, h = gradient.copy(), hessian.copy()
        rows = one_side_sample(g, h, *options, n_threads, constant)
        assert rows.dtype == np.uint32
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_array_equal(g, gradient * counts)
        if constant:
            every = np.broadcast_to(counts[rows], (len(h), len(rows)))
            np.testing.assert_array_equal(h[:, rows], every)
        else:
            np.testing.assert_array_equal(h, hessian * counts)
    return rows


KINDS = ["normal", "ties", "zeros", "all zero", "equal", "sixty decades", "denormal"]


@pytest.mark.parametrize("n", [2, 3, 10, 1000, 65_536, 150_001])
@pytest.mark.parametrize("kind", [*KINDS, "falling", "periodic"])
def test_rows_are_those_of_the_reference(kind, n):
    gradient = slopes(kind, n)
    for top, other in [(0.2, 0.1), (0.5, 0.4), (0.01, 0.02)]:
        n_top, n_other = max(1, int(top * n)), max(1, int(other * n))
        check_sample(gradient, n_top, n_other)


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_memory_may_hold_anything(kind):
    scratch = np.empty((3, 150_001), dtype=np.uint32)
    gradient = slopes(kind, scratch.shape[1])
    expected = check_sample(gradient, 30_000, 15_000)
    rows = one_side_sample(
        gradient, gradient.copy(), None, 30_000, 15_000, 3, 0, 2, scratch=scratch
    )
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize(("n_top", "n_other"), [(1, 1), (1, 98), (98, 1), (50, 49)])
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_at_the_ends(kind, n_top, n_other):
    for seed in range(20):
        check_sample(slopes(kind, 100), n_top, n_other, seed=seed, round_index=seed)


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("n_weights", [1, 3])
def test_gradients_count_with_their_weights_in_all_scores(n_scores, n_weights):
    n = 700
    weight = np.random.default_rng(1).gamma(0.5, size=(min(n_scores, n_weights), n))
    gradient = slopes("normal", n, n_scores)
    rows = check_sample(gradient, 100, 50, weight)
    assert (rows != check_sample(gradient, 100, 50)).any()


@pytest.mark.parametrize("kind", ["normal", "ties", "equal"])
@pytest.mark.parametrize("n", [10, 70_000, 200_000])
def test_same_rows_on_any_number_of_threads(kind, n):
    gradient = slopes(kind, n, 2)
    weight = np.random.default_rng(2).random((1, n))
    for n_threads in (2, 3):
        check_sample(gradient, n // 5, n // 10, weight, n_threads=n_threads)


def fingerprint() -> str:
    digest = hashlib.sha256()
    for kind in KINDS:
        weight = np.random.default_rng(2).random((1, 5001))
        digest.update(check_sample(slopes(kind, 5001, 3), 1000, 500, weight))
    return digest.hexdigest()


def test_every_other_row_is_drawn_as_often():
    n, n_top, n_other, rounds = 500, 100, 50, 2000
    gradient = slopes("falling", n)
    times = np.zeros(n)
    pairs = 0
    for i in range(rounds):
        rows = one_side_sample(
            gradient.copy(), np.ones_like(gradient), None, n_top, n_other, 0, i, 1
        )
        times[rows] += 1
        pairs += np.isin([200, 300], rows).all()
    assert (times[:n_top] == rounds).all()
    share = n_other / (n - n_top)
    noise = np.sqrt(rounds * share * (1 - share))
    np.testing.assert_allclose(times[n_top:], rounds * share, atol=5 * noise)
    assert abs(pairs - rounds * share**2) < 5 * np.sqrt(rounds * share**2)


# --- Fits -----------------------------------------------------------------------------

N = 1500
N_CLASSES = {"binary": 2, "multiclass": 3, "multiclassova": 3}


def data(objective: str = "regression", n: int = N) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, 6, seed=50)
    y = smooth_target(X)
    if objective in ("multiclass", "multiclassova"):
        return X, np.digitize(y, np.quantile(y, [0.2, 0.7])).astype(float)
    return X, {"binary": (y > 0.4) * 1.0, "poisson": np.exp(y)}.get(objective, y)


def goss(objective: str = "regression", **options: Any) -> Fit:
    X, y = data(objective)
    options = {"n_estimators": 4, "num_leaves": 12} | GOSS | options
    return fit(X, y, objective=objective, n_classes=N_CLASSES.get(objective), **options)


def assert_same_models(one: Fit, other: Fit) -> None:
    assert one.ensemble.n_trees == other.ensemble.n_trees
    for a, b in zip(one.ensemble.trees, other.ensemble.trees, strict=True):
        assert_same_tree(a, b, rtol=0)


def sizes(fitted: Fit) -> np.ndarray:
    return np.array([tree.leaf_count.sum() for tree in fitted.ensemble.trees])


OBJECTIVES = ["regression", "regression_l1", "quantile", "poisson", "binary"]
OBJECTIVES += ["multiclass", "multiclassova"]
RATES = [(0.2, 0.1), (0.05, 0.3), (0.6, 0.3)]


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("weights", ["none", "rows", "classes"])
@pytest.mark.parametrize("objective", ["regression", "poisson", *N_CLASSES])
def test_trees_are_grown_on_the_rows(objective, rates, weights):
    """With the gradients of all predictions so far, amplified where rows are drawn."""
    top, other = rates
    X, y = data(objective)
    fitted = fit(
        X,
        y,
        np.random.default_rng(4).gamma(2.0, size=N) if weights == "rows" else None,
        objective=objective,
        n_classes=N_CLASSES.get(objective),
        is_unbalance=weights == "classes" and objective in ("binary", "multiclassova"),
        n_estimators=3,
        num_leaves=8,
        top_rate=top,
        other_rate=other,
        bagging_seed=9,
        learning_rate=0.6,
        **GOSS,
    )
    n_scores = fitted.objective.n_scores
    rounds = list(rounds_of(fitted, fitted.objective.weight))
    samples = [(np.arange(N), np.ones(N))]
    for i in range(1, 3):
        now = rounds[i * n_scores : (i + 1) * n_scores]
        weighted = np.stack([gradient for _, gradient, _ in now])
        sizes = int(top * N), int(other * N)
        samples.append(reference_sample(weighted, None, *sizes, 9, i))
    for i, (tree, gradient, hessian) in enumerate(rounds):
        rows, counts = samples[i // n_scores]
        gradient, hessian = gradient * counts, hessian * counts
        weight = fitted.objective.weight
        weight = None if weight is None else np.atleast_2d(weight)[0]
        grower = grower_of(fitted, gradient, hessian, rows, weight=weight)
        leaves = replay(grower, tree, slack=2e-3)
        for leaf, value in zip(leaves, tree.leaf_value, strict=True):
            np.testing.assert_allclose(
                value, grower.step(leaf.output), rtol=1e-5, atol=1e-6
            )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", ["regression_l1", "quantile"])
def test_renewed_leaves_count_drawn_rows_as_often(objective, weighted):
    X, y = data()
    weight = np.random.default_rng(4).gamma(2.0, size=N) if weighted else np.ones(N)
    fitted = fit(
        X, y, weight, objective=objective, alpha=0.3, n_estimators=4, num_leaves=6,
        **AT_ONCE,
    )  # fmt: skip
    level = 0.5 if objective == "regression_l1" else 0.3
    start = float(fitted.objective.start[0])
    score = np.full(N, start)
    gradient = np.empty((1, N), dtype=np.float32)
    for i, leaf_of in enumerate(fitted.leaves().T):
        fitted.objective.gradients(score[None], gradient, None, 1)
        rows, counts = reference_sample(
            gradient, weight[None], N // 5, N // 10, fitted.settings.bagging_seed, i
        )
        sampled = np.isin(np.arange(N), rows)
        values = fitted.ensemble.tree(i).leaf_value - (start if i == 0 else 0.0)
        for leaf, value in enumerate(values):
            kept = sampled & (leaf_of == leaf)
            assert fitted.ensemble.tree(i).leaf_count[leaf] == kept.sum()
            expected = 1.5 * percentile(
                (y - score)[kept], level, (weight * counts)[kept].astype(np.float64)
            )
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-9)
        score += values[leaf_of]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rates_that_sum_to_one_mean_no_sampling(objective):
    all_rows = goss(objective, data_sample_strategy="bagging", learning_rate=1.5)
    for top in (0.1, 0.3, 0.7, 0.9, 1 / 3, 1e-5, 1 - 1e-5):
        options = AT_ONCE | {"top_rate": top, "other_rate": 1 - top}
        assert_same_models(goss(objective, **options), all_rows)


@pytest.mark.parametrize(
    ("rate", "first"), [(1.5, 0), (1.0, 1), (0.6, 1), (0.5, 2), (0.1, 10), (0.09, 11)]
)
def test_first_rounds_see_all_rows(rate, first):
    fitted = goss(learning_rate=rate, n_estimators=13)
    np.testing.assert_array_equal(sizes(fitted)[:first], N)
    np.testing.assert_array_equal(sizes(fitted)[first:], N * 3 // 10)


@pytest.mark.parametrize("rate", [1e-8, 5e-324])
def test_low_learning_rates_never_sample(rate):
    assert (sizes(goss(learning_rate=rate)) == N).all()


@pytest.mark.parametrize("objective", ["regression", "multiclass"])
@pytest.mark.parametrize(("top", "other"), RATES)
def test_samples_have_their_sizes(top, other, objective):
    fitted = goss(objective, top_rate=top, other_rate=other, learning_rate=1.5)
    assert (sizes(fitted) == int(top * N) + int(other * N)).all()


@pytest.mark.parametrize("n", [1, 2, 4, 9])
def test_too_few_rows_to_draw_from_are_all_taken(n):
    """As 0.1 of them are none."""
    X = np.arange(float(n))[:, None]
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "learning_rate": 1.5}
    assert_same_models(fit(X, X[:, 0], **options, **GOSS), fit(X, X[:, 0], **options))


def test_ten_rows_are_sampled():
    X = np.arange(10.0)[:, None]
    fitted = fit(X, X[:, 0], min_child_samples=1, min_data_in_bin=1, **AT_ONCE)
    assert (sizes(fitted) == 3).all()


@pytest.mark.parametrize("least", [1, 20, 150])
def test_leaves_hold_enough_rows_of_the_sample(least):
    for tree in goss("binary", min_child_samples=least, **AT_ONCE).ensemble.trees:
        assert tree.leaf_count.min() >= least


def test_seed_draws_the_rows():
    one, same, other = (goss(**AT_ONCE, bagging_seed=seed) for seed in (1, 1, 2))
    assert_same_models(one, same)
    assert (one.raw() != other.raw()).mean() > 0.5


def test_rounds_draw_other_rows():
    """Gradients stay as they are, and so would the trees."""

    def objective(y, score):
        return y, np.ones_like(y)

    X, y = data()
    trees = fit(X, y, objective=objective, n_estimators=2, **AT_ONCE).ensemble.trees
    assert trees[0].leaf_value[0] != trees[1].leaf_value[0]


def test_kind_of_boosting_is_another_word_for_it():
    by_rows = {"data_sample_strategy": "bagging", "learning_rate": 1.5}
    model = goss(boosting_type="goss", **by_rows)
    assert_same_models(model, goss(**AT_ONCE))
    for kind in ("gbdt", "gbrt"):
        assert_same_models(goss(boosting_type=kind, **AT_ONCE), model)
    assert (model.raw() != goss(**by_rows).raw()).mean() > 0.5


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_rows_of_weight_zero_are_absent(objective):
    X, y = data(objective)
    cls = LGBMRegressor if objective == "regression" else LGBMClassifier
    weight = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 2.0], N)
    kept = weight > 0
    model = cls(n_estimators=4, **AT_ONCE).fit(X, y, sample_weight=weight)
    other = cls(n_estimators=4, **AT_ONCE).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(
        model.predict(X, raw_score=True), other.predict(X, raw_score=True)
    )


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"top_rate": 0.0}, r"'top_rate' .* must be above 0"),
    ({"other_rate": 0.0}, r"'other_rate' .* must be above 0"),
    ({"top_rate": 0.6, "other_rate": 0.5}, r"'top_rate' and 'other_rate' .* at most 1"),
    ({"top_rate": 1.0, "other_rate": 0.1}, r"at most 1\. Got 1\.0 and 0\.1"),
    ({"top_rate": 1.2}, r"'top_rate' .* range \[0.*, 1.*\]"),
    ({"other_rate": -0.1}, r"'other_rate' .* range \[0.*, 1.*\]"),
    ({"top_rate": np.nan}, "'top_rate'"),
    ({"subsample": 0.5, "subsample_freq": 1}, "subsample=1 or subsample_freq=0"),
]


@pytest.mark.parametrize(
    "asked", [GOSS, {"boosting_type": "goss"}], ids=["strategy", "boosting"]
)
@pytest.mark.parametrize(("options", "message"), ERRORS)
@pytest.mark.parametrize("cls", [LGBMRegressor, LGBMClassifier])
def test_errors_come_before_any_work(cls, options, message, asked):
    """The rows are not even looked at."""
    with pytest.raises(ValueError, match=message):
        cls(**asked, **options).fit(None, None)


@pytest.mark.parametrize("options", [o for o, m in ERRORS if "range" not in m][:4])
def test_rates_do_not_matter_to_others(options):
    X, y = data(n=100)
    # At this learning rate the first round would be sampled already.
    usual = {"n_estimators": 3, "learning_rate": 1.5}
    plain = LGBMRegressor(**usual).fit(X, y).predict(X)
    with pytest.warns(
        UnusedParameterWarning, match="needs data_sample_strategy='goss'"
    ):
        rates = LGBMRegressor(**usual, **options).fit(X, y).predict(X)
    assert np.ptp(plain) > 0
    np.testing.assert_array_equal(rates, plain)


@pytest.mark.parametrize("options", [{"subsample": 0.5}, {"subsample_freq": 1}])
def test_bagging_options_that_draw_nothing_are_allowed(options):
    assert_same_models(goss(**AT_ONCE, **options), goss(**AT_ONCE))


def test_arguments_are_not_changed():
    """Gradients of the caller's own objective are his."""
    X, y = data()
    # Of the type that the engine scales in place, where it is given the arrays.
    slope, curvature = y.astype(np.float32), np.full(N, 0.5, dtype=np.float32)
    fit(X, y, objective=lambda y, s: (slope, curvature), n_estimators=2, **AT_ONCE)
    np.testing.assert_array_equal(slope, y.astype(np.float32))
    assert (curvature == 0.5).all()
