"""What notebooks show of estimators."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from skgoss import LGBMClassifier, LGBMRegressor, plot_importance
from skgoss.model_selection import GridSearchCV

pd = pytest.importorskip("pandas")

NAME = "<script>alert(1)</script>"


class Tables(HTMLParser):
    """The texts of cells, row by row, and all tags."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.rows[-1][-1] += data


def fitted(model, n_columns=3, **given):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, n_columns)))
    X.columns = [NAME, *(f"c{j}" for j in range(1, n_columns))]
    y = 3 * X[NAME] + X.to_numpy().sum(axis=1)
    if isinstance(model, LGBMClassifier):
        y = pd.qcut(y, 3, labels=False)
    if given.pop("evaluate", False):
        noise = rng.normal(size=200)
        given |= {"eval_set": [(X[:200], y[:200] + noise)], "eval_names": ["<set>"]}
    return model.fit(X, y, **given)


def summary(model):
    html = model._repr_html_()
    start = html.index('<div class="skgoss-model"')
    tables = Tables(html[start:])
    assert tables.tags <= {"div", "table", "tr", "td", "th", "b", "span"}
    facts = {row[0]: row[1] for row in tables.rows if len(row) == 2}
    return facts, [row for row in tables.rows if len(row) == 3]


def test_rounds_leaves_and_columns():
    options = {"n_estimators": 4, "num_leaves": 7, "importance_type": "gain"}
    model = fitted(LGBMRegressor(**options), n_columns=8)
    facts, (head, *columns) = summary(model)
    assert facts == {"Rounds": "4", "Leaves": "28, 7.0 a tree"}
    assert head == ["Columns by gain", "Splits", "Gain"]
    assert len(columns) == 5
    gains = model._model.trees.importances("gain")
    shares = [float(share.removesuffix(" %")) for _, _, share in columns]
    expected = np.sort(100 * gains / gains.sum())[::-1][:5]
    assert shares == pytest.approx(expected, abs=0.051)
    importances = model._model.trees.importances("split").tolist()
    splits = dict(zip(model.feature_name_, importances, strict=True))
    assert columns[0][0] == NAME
    assert {name: int(count) for name, count, _ in columns}.items() <= splits.items()


@pytest.mark.parametrize("kind", ["split", "gain", "cover"])
def test_columns_are_in_the_order_of_the_plot(kind):
    plt = pytest.importorskip("matplotlib.pyplot")
    options = {"n_estimators": 2, "num_leaves": 8, "importance_type": kind}
    model = fitted(LGBMRegressor(**options), n_columns=8)
    ax = plot_importance(model)
    head, *columns = summary(model)[1]
    assert head[0] == f"Columns by {kind}"
    assert ax.get_xlabel() == f"Feature importance by {kind}"
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    plt.close(ax.get_figure())
    assert [name for name, _, _ in columns] == names[:-6:-1]


def test_the_question_mark_leads_to_the_page_of_the_class():
    pages = "https://skgoss.github.io/skgoss/api/skgoss."
    model = LGBMRegressor()
    link = f'href="{pages}LGBMRegressor.html"'
    assert link in model._repr_html_()
    assert link in fitted(LGBMRegressor(n_estimators=1))._repr_html_()
    assert link in estimator_html_repr(make_pipeline(model))
    search = GridSearchCV(model, {"num_leaves": [7]})
    assert f'href="{pages}model_selection.GridSearchCV.html"' in search._repr_html_()

    class Mine(LGBMRegressor):
        """It has no page."""

    assert "github.io" not in Mine()._repr_html_()


def test_best_scores():
    options = {"n_estimators": 50, "metric": ["l2", "l1"]}
    model = fitted(LGBMRegressor(**options), evaluate=True)
    scores = ", ".join(f"{k} {v:.6g}" for k, v in model.best_score_["<set>"].items())
    assert summary(model)[0]["Last score"] == f"<set>: {scores}"
    model = fitted(LGBMRegressor(**options, early_stopping_round=3), evaluate=True)
    facts, _ = summary(model)
    best = model.best_iteration_
    assert 0 < best < 50
    assert facts["Rounds"] == f"{best}, chosen by early stopping"
    assert facts["Best score"].startswith("<set>: l2 ")


def test_trees_of_classes_are_told():
    facts, _ = summary(fitted(LGBMClassifier(n_estimators=2, num_leaves=4)))
    assert facts == {"Rounds": "2, 6 trees", "Leaves": "24, 4.0 a tree"}


def test_a_model_without_splits():
    model = LGBMRegressor(n_estimators=1, min_child_samples=10000)
    facts, columns = summary(fitted(model))
    assert facts == {"Rounds": "1", "Leaves": "1, 1.0 a tree"}
    assert len(columns) == 1


def test_the_diagram_of_scikit_learn_stays():
    model = LGBMRegressor(n_estimators=2)
    assert "skgoss-model" not in model._repr_html_()
    fitted(model)
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        diagram, _, rest = html.partition('<div class="skgoss-model"')
        assert "n_estimators" in diagram
        assert diagram.endswith("</body>") or diagram.endswith("</div></div>")
        assert "skgoss-model" not in rest
    assert NAME not in html.replace("<script>/*", "")
    plain = BaseEstimator._repr_mimebundle_(model)["text/html"]
    assert len(plain) == pytest.approx(len(diagram), abs=20)  # ids are counted
    assert "skgoss-model" not in estimator_html_repr(make_pipeline(model))


def test_text_stays_text():
    model = fitted(LGBMRegressor(n_estimators=2))
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}


def test_what_a_preset_has_chosen_and_scores_of_folds():
    options = {"n_estimators": 5, "preset": "accurate", "folds": 2}
    facts, _ = summary(fitted(LGBMClassifier(**options)))
    assert "learning_rate=" in facts["Chosen by preset"]
    assert facts["Out of fold"].startswith("multi_logloss ")
