"""LightGBM's text format: models written for LightGBM, and LightGBM's models read."""

from __future__ import annotations

from skgoss.model_files.text_reader import read
from skgoss.model_files.text_writer import write

__all__ = ["read", "split_objective", "write"]


def split_objective(text: str) -> tuple[str, dict[str, float]]:
    """Split the objective of a file into its name and its constants.

    Parameters
    ----------
    text : str
        Such as ``binary sigmoid:1`` or ``regression sqrt``.

    Returns
    -------
    name : str
        Empty if the text is.
    constants : dict from str to float
        A constant without a number, such as ``sqrt``, has the value 1.

    Raises
    ------
    ValueError
        If a constant is not a number.
    """
    name, *items = text.split() or [""]
    constants = {}
    for item in items:
        key, colon, value = item.partition(":")
        try:
            constants[key] = float(value) if colon else 1.0
        except ValueError:
            raise ValueError(
                f"the objective {text!r} must consist of a name and numbers such as"
                f" 'sigmoid:1', got {item!r}"
            ) from None
    return name, constants
