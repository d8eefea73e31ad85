"""The race of a preset: its unit of time, and who ends because there is none left."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.several_fits import preset_search
from skgoss.several_fits.preset_race import PresetRace

X, Y = make_regression(90, 5, noise=10.0, random_state=0)


class Stage(NamedTuple):
    """What is known of a candidate after a stage."""

    candidate: Any
    rounds: float  # the mean of its best ones
    leaves: list[int] | None  # of each round of all folds, if there are trees
    so_far: float
    last: float
    # The time of all candidates so far, and whether there is none left.
    spent: float
    is_over: bool
    most: float  # the time of the search


def leaves_of_rounds(candidate):
    """The leaves of each round of each fold, counted in the trees."""
    counts = []
    for run in candidate.runs:
        trees = run.rounds.ensemble()
        n_leaves = np.diff(trees.leaf_start).reshape(-1, trees.n_scores)
        counts.extend(n_leaves.sum(axis=1).tolist())
    return counts


@pytest.fixture
def stages(monkeypatch):
    seen = []
    end_late = PresetRace._end_late

    def spy(race):
        end_late(race)
        search, n_rows = race.terms.search, race.terms.n_rows
        begun = [*race.references, *race.racers]
        spent = sum(c.n_fits(search, n_rows) for c in begun)
        for candidate in race.racers:
            rounds = [run.best_round for run in candidate.runs]
            is_open = hasattr(candidate.runs[0], "rounds")
            seen.append(
                Stage(
                    candidate,
                    np.exp(np.log(rounds).mean()),
                    leaves_of_rounds(candidate) if is_open else None,
                    candidate.n_fits(search, n_rows),
                    candidate.n_fits_of_last(search, n_rows),
                    spent,
                    candidate.max_rounds == candidate.rounds[-1],
                    race.terms.max_fits,
                )
            )

    monkeypatch.setattr(PresetRace, "_end_late", spy)
    return seen


@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (0, {}),
        (3, {}),
        (0, {"learning_rate": 0.01}),
        (0, {"learning_rate": 0.3}),
        (0, {"num_leaves": 7}),
    ],
)
def test_time_is_counted_in_rounds_and_leaves(stages, n_classes, options, monkeypatch):
    monkeypatch.setattr(preset_search, "_MAX_SECONDS", 0.0)
    model, data = LGBMRegressor, (X, Y)
    if n_classes:
        model = LGBMClassifier
        data = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
    model(preset="accurate", **options).fit(*data)
    assert len({stage.candidate for stage in stages}) == 5
    rate = options.get("learning_rate", 0.05)
    usual = options.get("num_leaves", 31) * max(1, n_classes)
    n_columns = data[0].shape[1]
    n_seen = 0
    for candidate, rounds, leaves, so_far, last, *_ in stages:
        if leaves is None:
            continue
        cost = 0.4 + 0.6 * np.mean(leaves) / usual
        if candidate.prepared.data.settings.linear_tree:
            cost *= 1.4
        if candidate.params.get("pair_features"):
            # A sum and a difference, or a product and a ratio, of each pair.
            n_pairs = len(candidate.columns.pairs)
            assert n_pairs >= 6
            cost *= (1 + n_pairs / n_columns) ** 0.7
            n_seen += 1
        # A fit of the user has 100 rounds of 90 rows, and folds learn from 60.
        assert so_far == pytest.approx(cost * len(leaves) / 100 * 60 / 90)
        n_last = round(rounds * max(rate, 0.15) / rate * 1.5**0.35)
        # Those of small steps may take as many times longer as these are smaller.
        assert last == pytest.approx(cost * n_last * min(1, rate / 0.05) / 100)
    assert n_seen > 1


# Of 90 rows of five columns: the seconds of a round by the formula.
SECONDS = 31 * 3e-6 + 90 * 5 * 1.5e-9


@pytest.mark.parametrize(
    ("limits", "options", "expected"),
    [
        ({"_MAX_COST": 2.0, "_MAX_SECONDS": 0.0}, {}, 2.0),
        ({"_MAX_COST": 0.0, "_MAX_SECONDS": 0.02}, {}, 0.02 / (100 * SECONDS)),
        ({"_MAX_COST": 9.0, "_MAX_SECONDS": 0.02}, {}, 9.0),
        ({"_MAX_COST_PER_FOLD": 2.0}, {"folds": 2}, 4.0),
    ],
)
def test_candidates_end_where_there_is_no_time_left(
    monkeypatch, stages, limits, options, expected
):
    for name, limit in limits.items():
        monkeypatch.setattr(preset_search, name, limit)
    LGBMRegressor(preset="accurate", **options).fit(X, Y)
    ended = set()
    for stage in stages:
        assert stage.most == pytest.approx(expected)
        if stage.spent + (0.0 if options else stage.last) > stage.most:
            ended.add(stage.candidate)
        assert stage.is_over == (stage.candidate in ended)
    assert ended


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "options"),
    [
        (90, 5, 0, {}),
        (90, 5, 0, {"num_leaves": 4}),
        (120, 5, 3, {}),
        (5_000, 40, 0, {"num_leaves": 1000}),
    ],
)
def test_small_data_have_ten_seconds(stages, n_rows, n_columns, n_classes, options):
    """By a formula, so that the model is the same on all machines."""
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 7 % 3
    model = LGBMClassifier if n_classes else LGBMRegressor
    params = {"preset": "accurate", "learning_rate": 1.0, **options}
    model(**params).fit(features, y)
    of_round = options.get("num_leaves", 31) * 3e-6
    of_round += n_rows * n_columns * 1.5e-9
    expected = max(38.0, 10.0 / (100 * max(1, n_classes) * of_round))
    assert (expected == 38.0) == (n_rows == 5_000)
    assert [stage.most for stage in stages] == pytest.approx([expected] * len(stages))
