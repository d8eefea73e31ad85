"""Private parts of scikit-learn, and what only some of its versions have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer_names
from sklearn.model_selection._validation import (
    _fit_and_score,
    _insert_error_scores,
    _warn_or_raise_about_fit_failures,
)
from sklearn.utils._metadata_requests import RequestMethod
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    _get_feature_names,
)

from skgoss.utils.public import SITE

if TYPE_CHECKING:
    from sklearn.model_selection import BaseSearchCV
else:
    BaseSearchCV = object

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from sklearn import callback as _callback
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9
    _callback = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn has no callbacks yet."""


def with_callbacks(method: Function) -> Function:
    """scikit-learn's decorator of methods that run callbacks, if it has callbacks.

    That decorator has no type annotations, and would hide those of the method.
    """
    return method if _callback is None else _callback.with_callbacks(method)


class _ShortRequestMethod(RequestMethod):
    """Metadata routing with a docstring of some lines, not some pages, for `help`."""

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        method = super().__get__(instance, owner)
        method.__doc__ = (
            f"Set which arguments of ``{self.name}`` pipelines and searches pass on.\n"
            "\nTrue passes an argument on, False does not, and a string passes on what"
            "\nhas this name: https://scikit-learn.org/stable/metadata_routing.html."
        )
        return method


class DocumentedMixin:
    """Adds the question mark by which notebooks link to the page of a class.

    Methods of metadata routing get short docstrings.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in list(vars(cls).items()):
            if type(method) is RequestMethod:
                short = _ShortRequestMethod(
                    method.name, method.keys, method.validate_keys
                )
                setattr(cls, name, short)

    _doc_link_module = "skgoss"
    _doc_link_template = f"{SITE}api/{{home}}.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"home": type(self).__module__, "name": type(self).__name__}


class SummaryMixin(DocumentedMixin, BaseEstimator):
    """Adds a summary to scikit-learn's HTML of an estimator in notebooks.

    The summary is the HTML that the method ``_html_summary`` returns.
    """

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._html_summary()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # not if sklearn.config_context(display="text")
            bundle["text/html"] += self._html_summary()
        return bundle


class SearchHooks(DocumentedMixin, BaseSearchCV):
    """The private methods of scikit-learn's searches that ours override or call."""

    # The arguments of ``fit`` that scikit-learn passes to each object of the search.
    _routed: Any

    def _check_arguments(self) -> None:
        """Check the arguments of the constructor, as ``fit`` of scikit-learn does."""
        self._validate_params()

    def _check_scoring(self) -> None:
        """Check ``scoring`` before the search begins."""

    def _search(
        self, run: Callable[..., None], evaluate_candidates: Callable[..., Any]
    ) -> None:
        """Evaluate all candidates: ``run`` passes them to the function."""
        run(evaluate_candidates)

    def _results(
        self,
        candidate_params: Sequence[Mapping[str, Any]],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> Any:
        """``cv_results_``, from the results of the fits of all candidates and folds."""
        return super()._format_results(candidate_params, n_splits, out, more_results)

    def _rows_of_folds(self, X: Any, y: Any) -> list[Any]:
        """The training and the test rows of each fold."""
        return list(self.cv.split(X, y, **self._routed.splitter.split))

    @property
    def _routes_arguments(self) -> bool:
        """Whether the fits or the scorer of a candidate get arguments of ``fit``."""
        return bool(self._routed.estimator.fit or self._routed.scorer.score)

    def _evaluation(self) -> dict[str, Any]:
        """The options of `fit_and_score` that are the same for all candidates."""
        return {
            "scorer": self._get_scorers()[0],
            "fit_params": self._routed.estimator.fit,
            "score_params": self._routed.scorer.score,
            "return_train_score": self.return_train_score,
            "error_score": self.error_score,
        }

    # scikit-learn calls these.

    def _get_routed_params_for_fit(self, params: Any) -> Any:
        self._routed = super()._get_routed_params_for_fit(params)
        self._check_scoring()
        return self._routed

    def _run_search(
        self, evaluate_candidates: Callable[..., Any], callback_ctx: Any = None
    ) -> None:
        """Call `_search` with scikit-learn's loop over candidates, which calls this."""
        # scikit-learn < 1.9 has no callbacks.
        context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
        run = functools.partial(super()._run_search, **context)
        self._search(run, evaluate_candidates)

    def _format_results(self, *args: Any) -> Any:
        return self._results(*args)


# How scikit-learn evaluates a candidate on a fold, and what it does if fits failed.
fit_and_score = functools.partial(
    _fit_and_score, verbose=0, return_times=True, return_n_test_samples=True
)
safe_split = _safe_split
warn_of_failures = _warn_or_raise_about_fit_failures
insert_error_scores = _insert_error_scores


@functools.lru_cache(maxsize=64)
def _class_named(name: str) -> type:
    return type(name, (), {})


def _estimator_named(name: str, **attributes: Any) -> Any:
    """An object that scikit-learn's checks accept as a fitted estimator of a name."""
    estimator = _class_named(name)()
    vars(estimator).update(attributes)
    return estimator


def feature_names(X: Any) -> NDArray[Any] | None:
    """The names of the columns by scikit-learn's rules; None if there are none."""
    return _get_feature_names(X)


def check_feature_names(X: Any, fitted: NDArray[Any] | None, owner: str) -> None:
    """Check names of columns against those of the fit, with scikit-learn's messages."""
    names = {} if fitted is None else {"feature_names_in_": fitted}
    try:
        _check_feature_names(_estimator_named(owner, **names), X, reset=False)
    except ValueError as error:
        present = feature_names(X)
        if fitted is None or present is None or not set(fitted) <= set(present):
            raise
        names_in_fit = "feature_name()" if owner == "Booster" else "feature_names_in_"
        # Only tables of Arrow are not indexed by lists of names.
        select = "X.select({})" if hasattr(X, "to_pylist") else "X[{}]"
        code = select.format(f"model.{names_in_fit}")
        message = f"{error}Select and order the columns: {code}.\n"
        raise ValueError(message) from error


def check_n_features(X: Any, fitted: int, owner: str) -> None:
    """Check the number of columns against that of the fit, with the same messages."""
    _check_n_features(_estimator_named(owner, n_features_in_=fitted), X, reset=False)


def names_in(transformer: Any, input_features: Any) -> list[str]:
    """The names of the columns of ``X``, by the rules of ``get_feature_names_out``."""
    return _check_feature_names_in(transformer, input_features).tolist()


def output_container(transformer: Any) -> str:
    """What ``transform`` returns by ``set_output``: 'default', 'pandas' or 'polars'."""
    return _get_output_config("transform", transformer)["dense"]


# An estimator has one of these attributes if callbacks are registered, with itself or
# with a meta-estimator that fits it.
CALLBACK_ATTRIBUTES = frozenset(("_skl_callbacks", "_parent_callback_ctx"))


def instead_of(scorer: Any, name: str, labels: NDArray[Any]) -> str:
    """What to pass instead of a scorer that needs to know the positive label."""
    options = [scorer._score_func.__name__, f"pos_label={labels.tolist()[-1]!r}"]
    if scorer._response_method != "predict":
        options.append(f"response_method={scorer._response_method!r}")
    if scorer._sign < 0:
        options.append("greater_is_better=False")
    average = f"{name}_macro"
    other = f" or {average!r}" if average in get_scorer_names() else ""
    return f". Pass make_scorer({', '.join(options)}){other}."


class RoundHooks:
    """Calls scikit-learn's callbacks for the rounds of a fit.

    The estimator must be inside a method decorated by ``with_callbacks``. ``data`` are
    ``X``, ``y`` and ``metadata`` as the user passed them.
    """

    def __init__(
        self, estimator: Any, n_rounds: int | None, data: dict[str, Any]
    ) -> None:
        self._context = estimator._init_callback_context(max_subtasks=n_rounds)
        self._n_rounds = n_rounds
        self._data = {"estimator": estimator, **data}
        self._round: Any = None

    def begin(self) -> None:
        """Report that the fit begins, and its first round."""
        self._context.call_on_fit_task_begin(**self._data)
        self._begin_round()

    def _begin_round(self) -> None:
        self._round = self._context.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self._data)

    def after_round(self, index: int, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report that a round has ended; True if a callback asks to stop.

        ``attributes()`` returns the attributes of the fitted estimator.
        """
        stop = self._end_round(attributes)
        if not stop and (self._n_rounds is None or index + 1 < self._n_rounds):
            self._begin_round()
        return stop

    def _end_round(self, attributes: Any) -> bool:
        ended, self._round = self._round, None
        return ended.call_on_fit_task_end(
            **self._data, reconstruction_attributes=attributes
        )

    def end(self) -> None:
        """Report that the fit has ended; the estimator must be fitted by now."""
        if self._round is not None:  # it could not split, or stopped the fit early
            self._end_round({})
        self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})
