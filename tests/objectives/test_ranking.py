"""The kernels of ranking against NumPy, scikit-learn and LightGBM."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score, ndcg_score

from skgoss._engine.objectives import ranking_kernels

SIZES = [1, 2, 0, 3, 7, 8, 9, 16, 17, 60, 1, 131]


def queries(sizes=SIZES, seed=0, spread=1.0, ties=False):
    """Scores, grades and the boundaries of queries of such sizes."""
    rng = np.random.default_rng(seed)
    boundaries = np.concatenate([[0], np.cumsum(sizes)])
    scores = rng.normal(scale=spread, size=boundaries[-1])
    if ties:
        scores = np.round(scores)
    return scores, rng.integers(0, 5, boundaries[-1]), boundaries


def gains(grades):
    return 2.0**grades - 1


def parts(boundaries):
    return [slice(*pair) for pair in itertools.pairwise(boundaries)]


def dcg(scores, gain, boundaries, at, n_threads=1, averages=True):
    out = np.full((len(at), len(boundaries) - 1), np.nan)
    discount = ranking_kernels.discounts(boundaries)
    ranking_kernels.dcg(
        scores, gain, boundaries, discount, np.array(at), averages, n_threads, out
    )
    return out


def lambdarank(
    scores, grades, boundaries, truncation=30, norm=True, sigmoid=1.0, n_threads=1
):
    gain = gains(grades)
    best = dcg(gain, gain, boundaries, [truncation])[0]
    gradient, hessian = np.full((2, len(scores)), np.nan, dtype=np.float32)
    ranking_kernels.lambdarank(
        scores, gain, boundaries, best, ranking_kernels.discounts(boundaries), sigmoid,
        truncation, norm, n_threads, gradient, hessian,
    )  # fmt: skip
    return gradient, hessian


def rank_xendcg(scores, grades, boundaries, seed=1, round=2, n_threads=1):
    gradient, hessian = np.full((2, len(scores)), np.nan, dtype=np.float32)
    ranking_kernels.rank_xendcg(
        scores, gains(grades), boundaries, boundaries[:-1], seed, round, n_threads,
        gradient, hessian,
    )  # fmt: skip
    return gradient, hessian


def reference_lambdarank(scores, grades, truncation, norm, sigmoid):
    """The slopes of one query, pair by pair."""
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    s, g = scores[order], gains(grades[order])
    discount = 1 / np.log2(np.arange(n) + 2)
    best = (np.sort(g)[::-1] * discount)[:truncation].sum()
    gradient, hessian, total = np.zeros(n), np.zeros(n), 0.0
    for i in range(min(n - 1, truncation)):
        for j in range(i + 1, n):
            if g[i] == g[j]:
                continue
            high, low = (i, j) if g[i] > g[j] else (j, i)
            apart = s[high] - s[low]
            weight = (g[high] - g[low]) * (discount[i] - discount[j]) / best
            if norm and s[0] != s[-1]:
                weight /= 0.01 + abs(apart)
            p, rest = expit(-sigmoid * apart), expit(sigmoid * apart)
            gradient[high] -= sigmoid * weight * p
            gradient[low] += sigmoid * weight * p
            hessian[[high, low]] += sigmoid**2 * weight * p * rest
            total += 2 * sigmoid * weight * p
    factor = np.log2(1 + total) / total if norm and total > 0 else 1.0
    back = np.argsort(order)
    return factor * gradient[back], factor * hessian[back]


def reference_xendcg(scores, gain, uniform):
    """The slopes of one query of two documents or more."""
    p = np.exp(scores - scores.max())
    p /= p.sum()
    target = gain + 1 - uniform
    first = p - target / target.sum()
    q = first / (1 - p)
    second = p * (q.sum() - q)
    r = second / (1 - p)
    return first + second + p * (r.sum() - r), p * (1 - p)


def uniform_draws(seed, round, n):
    """What _engine/random.pxd draws for rows 0..n-1 of purpose 6, in [0, 1)."""
    bits, golden = 2**64 - 1, 0x9E3779B97F4A7C15

    def mix(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & bits
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & bits
        return x ^ (x >> 31)

    key = mix((mix((mix((seed + golden) & bits) + 6) & bits) + round) & bits)
    draws = [mix((key + row * golden) & bits) >> 11 for row in range(n)]
    return np.array(draws) * 2.0**-53


@pytest.mark.parametrize(
    ("spread", "ties"), [(1.0, False), (1.0, True), (300.0, False)]
)
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize(
    ("truncation", "sigmoid"), [(1, 1.0), (5, 2.0), (30, 0.5), (500, 1.0)]
)
def test_lambdarank_agrees_with_the_reference(
    spread, ties, norm, truncation, sigmoid
) -> None:
    scores, grades, boundaries = queries(spread=spread, ties=ties)
    found = lambdarank(scores, grades, boundaries, truncation, norm, sigmoid)
    for query in parts(boundaries):
        expected = reference_lambdarank(
            scores[query], grades[query], truncation, norm, sigmoid
        )
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours[query], theirs, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", [lambdarank, rank_xendcg])
@pytest.mark.parametrize("spread", [0.0, 1e4])
def test_equal_and_far_scores_have_finite_slopes(kernel, spread) -> None:
    _, grades, boundaries = queries()
    scores = np.linspace(-spread, spread, len(grades))
    for slopes in kernel(scores, grades, boundaries):
        assert np.isfinite(slopes).all()


def test_xendcg_agrees_with_the_reference() -> None:
    scores, grades, boundaries = queries()
    gradient, hessian = rank_xendcg(scores, grades, boundaries, seed=5, round=9)
    uniform = uniform_draws(5, 9, len(scores))
    for query in parts(boundaries):
        if query.stop - query.start < 2:
            assert (gradient[query] == 0).all()
            assert (hessian[query] == 0).all()
            continue
        expected = reference_xendcg(scores[query], gains(grades[query]), uniform[query])
        np.testing.assert_allclose(gradient[query], expected[0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(hessian[query], expected[1], rtol=1e-5)


@pytest.mark.parametrize(("seed", "round"), [(2, 2), (1, 3)])
def test_xendcg_draws_for_every_seed_and_round(seed, round) -> None:
    data = queries()
    assert (rank_xendcg(*data)[0] != rank_xendcg(*data, seed, round)[0]).any()


@pytest.mark.parametrize("at", [[5, 1, 1000], [1], [3, 16]])
@pytest.mark.parametrize(("ties", "averages"), [(0, 0), (0, 1), (1, 0)])
def test_dcg_agrees_with_the_reference(ties, averages, at) -> None:
    scores, grades, boundaries = queries([*SIZES, 63, 64, 65, 200], ties=ties)
    gain = gains(grades)
    found = dcg(scores, gain, boundaries, at, averages=averages)
    for q, query in enumerate(parts(boundaries)):
        best = gain[query][np.argsort(-scores[query], kind="stable")]
        terms = best / np.log2(np.arange(len(best)) + 2)
        expected = [terms[:k].sum() for k in at]
        np.testing.assert_allclose(found[:, q], expected, rtol=1e-13)


@pytest.mark.parametrize("size", [15, 64, 130])
@pytest.mark.parametrize("at", [3, 200])
def test_scores_of_nan_rank_no_document_twice(size, at) -> None:
    scores, _, boundaries = queries([size])
    scores[::3] = np.nan
    scores[size // 2 :] = np.nan
    gain = np.arange(1.0, size + 1)
    value, ideal = (dcg(s, gain, boundaries, [at]) for s in (scores, gain))
    assert (value > 0).all()
    assert (value < ideal).all()


@pytest.mark.parametrize("ties", [False, True])
def test_ndcg_is_that_of_scikit_learn(ties) -> None:
    scores, grades, boundaries = queries([40, 25], ties=ties)
    gain = gains(grades)
    found = dcg(scores, gain, boundaries, [10]) / dcg(gain, gain, boundaries, [10])
    for q, query in enumerate(parts(boundaries)):
        expected = ndcg_score(gain[None, query], scores[None, query], k=10)
        assert found[0, q] == pytest.approx(expected)


def average_precision(scores, relevant, boundaries, at, n_threads=1, averages=True):
    out = np.full((len(at), len(boundaries) - 1), np.nan)
    relevant, at = relevant.astype(np.uint8), np.array(at)
    ranking_kernels.average_precision(
        scores, relevant, boundaries, at, averages, n_threads, out
    )
    return out


@pytest.mark.parametrize("at", [[5, 1, 1000], [4]])
@pytest.mark.parametrize(("ties", "averages"), [(0, 0), (0, 1), (1, 0)])
def test_average_precision_agrees_with_the_reference(ties, averages, at) -> None:
    scores, grades, boundaries = queries(ties=ties)
    relevant = grades > 2
    found = average_precision(scores, relevant, boundaries, at, averages=averages)
    for q, query in enumerate(parts(boundaries)):
        hits = relevant[query][np.argsort(-scores[query], kind="stable")]
        precision = np.cumsum(hits) / (np.arange(len(hits)) + 1) * hits
        for k, value in zip(at, found[:, q], strict=True):
            wanted = min(k, hits.sum())
            expected = precision[:k].sum() / wanted if wanted else np.nan
            assert value == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("at", [[1], [2, 3], [4, 20]])
@pytest.mark.parametrize("n_scores", [1, 2, 3])
@pytest.mark.parametrize("kernel", [dcg, average_precision])
def test_ties_are_the_mean_over_their_orders(kernel, n_scores, at) -> None:
    sizes = [1, 2, 4, 6]
    _, grades, boundaries = queries(sizes, seed=n_scores)
    scores = np.arange(len(grades)) % n_scores / 2.0
    values = gains(grades) if kernel is dcg else grades > 2
    found = kernel(scores, values, boundaries, at)
    for q, query in enumerate(parts(boundaries)):
        orders = itertools.permutations(range(query.start, query.stop))
        places = np.array(list(orders))
        alone = np.arange(0, places.size + 1, sizes[q])
        expected = kernel(
            scores[places].ravel(), values[places].ravel(), alone, at, averages=False
        )
        np.testing.assert_allclose(found[:, q], expected.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("at", [[3, 10], [16, 60]])
def test_ties_are_identical_in_any_order(at) -> None:
    scores, grades, boundaries = queries([60, 33], ties=True)
    shuffled = np.random.default_rng(1).permutation(33) + 60
    order = np.append(np.arange(60)[::-1], shuffled)
    for kernel, of in ((dcg, gains(grades)), (average_precision, grades > 2)):
        np.testing.assert_array_equal(
            kernel(scores, of, boundaries, at),
            kernel(scores[order], of[order], boundaries, at),
        )


def test_average_precision_is_that_of_scikit_learn() -> None:
    scores, grades, boundaries = queries([50])
    found = average_precision(scores, grades > 2, boundaries, [50])[0, 0]
    assert found == pytest.approx(average_precision_score(grades > 2, scores))


def test_any_number_of_threads_gives_identical_results() -> None:
    scores, grades, boundaries = queries([100] * 300 + SIZES, ties=True)
    at = [1, 10]
    for kernel in (
        lambda n: lambdarank(scores, grades, boundaries, n_threads=n),
        lambda n: rank_xendcg(scores, grades, boundaries, n_threads=n),
        lambda n: dcg(scores, gains(grades), boundaries, at, n_threads=n),
        lambda n: average_precision(scores, grades > 2, boundaries, at, n_threads=n),
    ):
        one = np.array(kernel(1))
        for n_threads in (2, 3):
            np.testing.assert_array_equal(np.array(kernel(n_threads)), one)


def digest() -> str:
    scores, grades, boundaries = queries([100] * 10 + SIZES)
    results = [
        *lambdarank(scores, grades, boundaries),
        *rank_xendcg(scores, grades, boundaries),
    ]
    return hashlib.sha256(np.concatenate(results).tobytes()).hexdigest()


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("truncation", [5, 30])
def test_lambdarank_is_that_of_lightgbm(norm, truncation) -> None:
    """The sums of the slopes in LightGBM's leaves are ours; it looks sigmoids up."""
    lightgbm = pytest.importorskip("lightgbm")
    sizes = [40, 60, 20]
    scores, grades, boundaries = queries(sizes)
    row = np.arange(len(scores), dtype=float)[:, None]
    data = lightgbm.Dataset(
        row, grades, group=sizes, init_score=scores,
        params={"max_bin": 200, "min_data_in_bin": 1, "verbosity": -1},
    )  # fmt: skip
    options = {
        "objective": "lambdarank",
        "lambdarank_norm": norm,
        "lambdarank_truncation_level": truncation,
        "num_leaves": 64,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "learning_rate": 1.0,
        "num_threads": 1,
        "verbosity": -1,
    }
    booster = lightgbm.train(options, data, num_boost_round=1)
    leaf = booster.predict(row, pred_leaf=True)[:, 0].astype(int)
    tree = booster.trees_to_dataframe()
    tree = tree[tree["left_child"].isna()]
    tree = tree.set_index(tree["node_index"].str.extract(r"L(\d+)")[0].astype(int))
    gradient, hessian = lambdarank(scores, grades, boundaries, truncation, norm)
    ours = np.array([np.bincount(leaf, g) for g in (gradient, hessian)])
    assert len(tree) == ours.shape[1] > 20
    theirs = tree.loc[np.arange(len(tree))]
    np.testing.assert_allclose(ours[1], theirs["weight"], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        -ours[0], theirs["value"] * theirs["weight"], rtol=1e-3, atol=1e-4
    )
