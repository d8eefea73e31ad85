"""The options: their names, values and meaning."""

from skgoss.parameters.aliases import (
    canonical,
    resolve,
    resolve_or_warn,
    suggestion,
)
from skgoss.parameters.constructor import (
    set_options,
    show_inherited,
    warn_of_unknown,
)
from skgoss.parameters.lightgbm_text import from_lightgbm, to_lightgbm
from skgoss.parameters.options import (
    checked_options,
    checked_value,
    file_options,
    n_jobs,
)
from skgoss.parameters.seeds import draw_seed
from skgoss.parameters.settings import Settings, make_settings
from skgoss.parameters.table import DEFAULTS, OPTIONS

__all__ = [
    "DEFAULTS",
    "OPTIONS",
    "Settings",
    "canonical",
    "checked_options",
    "checked_value",
    "draw_seed",
    "file_options",
    "from_lightgbm",
    "make_settings",
    "n_jobs",
    "resolve",
    "resolve_or_warn",
    "set_options",
    "show_inherited",
    "suggestion",
    "to_lightgbm",
    "warn_of_unknown",
]
