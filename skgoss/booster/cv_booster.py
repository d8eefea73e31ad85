"""The class `CVBooster`: the models of a cross-validation."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, Self

from skgoss.booster.booster import Booster
from skgoss.booster.booster_model import BoosterModel
from skgoss.parameters import docstrings
from skgoss.utils import disk
from skgoss.utils.public import set_module


@set_module("skgoss")
@docstrings.describe_chain("The models.")
class CVBooster:
    """The models of the folds of a cross-validation.

    It has all methods of `Booster`, such as ``predict``. They are called for each model
    and return a list with one item per fold.

    Parameters
    ----------
    model_file : str or path, default=None
        A file that `CVBooster.save_model` of skgoss or LightGBM has written.

    Attributes
    ----------
    boosters : list of Booster
        The models.
    best_iteration : int
        Number of rounds that early stopping has kept; -1 without early stopping.

    See Also
    --------
    cv : Cross-validation, which returns it.
    Booster : The model of a fold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgoss import Dataset, cv
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> results = cv({"objective": "binary"}, Dataset(X, y), 5, return_cvbooster=True)
    >>> models = results["cvbooster"]
    >>> [booster.num_trees() for booster in models.boosters]
    [5, 5, 5, 5, 5]
    """

    boosters: list[Booster]
    best_iteration: int

    def __init__(self, model_file: str | PathLike[str] | None = None) -> None:
        self.boosters = []
        self.best_iteration = -1
        if model_file is not None:
            with disk.errors_name_file(model_file):
                self.model_from_string(disk.content(model_file).decode())

    def __getattr__(self, name: str) -> Any:
        is_there = hasattr(Booster, name) or name in BoosterModel.__annotations__
        if name.startswith("_") or not is_there:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        if not callable(getattr(Booster, name, None)):
            return [getattr(booster, name) for booster in self.boosters]

        def of_each(*args: Any, **kwargs: Any) -> list[Any]:
            return [
                getattr(booster, name)(*args, **kwargs) for booster in self.boosters
            ]

        return of_each

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.boosters)} boosters>"

    @property
    def _training_names(self) -> set[str]:
        """The names of the evaluation sets that models learn from."""
        return set().union(*(booster._training_names for booster in self.boosters))

    @docstrings.describe_booster
    def model_to_string(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> str:
        """Return the models as JSON, in the same form as LightGBM.

        Parameters
        ----------
        ... : arguments, which ``help`` describes

        Returns
        -------
        str
            The content of a file.
        """
        texts = [
            booster.model_to_string(num_iteration, start_iteration, importance_type)
            for booster in self.boosters
        ]
        return json.dumps({"boosters": texts, "best_iteration": self.best_iteration})

    def model_from_string(self, model_str: str) -> Self:
        """Replace the models by those of a text that `model_to_string` returned.

        Parameters
        ----------
        model_str : str
            The content of a file.

        Raises
        ------
        ValueError
            If the text does not hold valid models.
        """
        try:
            held = json.loads(model_str)
            texts, best_iteration = held["boosters"], held["best_iteration"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                "The text is not a CVBooster: it must be JSON with 'boosters' (a list"
                " of models) and 'best_iteration'."
            ) from error
        if not isinstance(texts, list) or type(best_iteration) is not int:
            raise ValueError(
                "The text is not a CVBooster: 'boosters' must be a list, and"
                " 'best_iteration' an int."
            )
        self.boosters = [Booster(model_str=text) for text in texts]
        self.best_iteration = best_iteration
        return self

    @docstrings.describe_booster
    def save_model(
        self,
        filename: str | PathLike[str],
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Self:
        """Write the models to a file, as the text of `model_to_string`.

        Parameters
        ----------
        ... : arguments, which ``help`` describes
        """
        text = self.model_to_string(num_iteration, start_iteration, importance_type)
        with disk.atomic_write(filename) as file:
            file.write(text.encode())
        return self
