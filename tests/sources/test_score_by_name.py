"""`score`, with the target in a column of a file."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["a", "b", "c"])
Y = X["a"] + RNG.normal(size=200)
LABELS = pd.Series(np.where(Y > 0, "high", "low"))
OPTIONS = {"n_estimators": 5, "n_jobs": 1}


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LGBMRegressor(**OPTIONS), Y),
        (LGBMClassifier(**OPTIONS), LABELS),
    ],
)
def test_parquet_files(model, y, tmp_path):
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    table = X.assign(y=y, other="x")
    table[:120].to_parquet(paths[0])
    table[120:].to_parquet(paths[1])
    expected = model.fit(X, y).score(X, y)
    assert model.score(tmp_path, "y") == expected
    assert model.score(paths, "y") == expected
    assert model.score(tmp_path, y.tolist()) == expected  # labels, not names
    with pytest.raises(ValueError, match="no column 'z'"):
        model.score(tmp_path, "z")


def test_several_columns(tmp_path):
    X.assign(y=Y, z=-Y).to_parquet(tmp_path / "rows.parquet")
    targets = np.column_stack([Y, -Y])
    model = LGBMRegressor(**OPTIONS).fit(X, targets)
    expected = model.score(X, targets)
    assert model.score(tmp_path / "rows.parquet", ["y", "z"]) == expected


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_text_files(tmp_path):
    X.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    model = LGBMRegressor(**OPTIONS).fit(X, Y)
    assert model.score(tmp_path / "rows.csv", "y") == pytest.approx(model.score(X, Y))


def test_queries(tmp_path):
    grades, qid = (Y > 0).astype(int), np.arange(200) // 10
    X.assign(y=grades, qid=qid).to_parquet(tmp_path / "rows.parquet")
    model = LGBMRanker(**OPTIONS).fit(X, grades, qid=qid)
    expected = model.score(X, grades, qid=qid)
    assert model.score(tmp_path / "rows.parquet", "y", qid="qid") == expected
