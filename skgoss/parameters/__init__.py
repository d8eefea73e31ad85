"""The options: their names, values and meanings."""

from skgoss.parameters.lightgbm_text import (
    from_lightgbm,
    to_lightgbm,
    with_constructor_names,
)
from skgoss.parameters.name_resolution import (
    CANONICAL_NAME,
    canonical,
    check_available,
    names_used,
    resolve,
    resolve_or_warn,
    same,
    suggestion,
    updated,
)
from skgoss.parameters.options import (
    checked_options,
    checked_value,
    file_options,
    n_jobs,
)
from skgoss.parameters.settings import Settings, changes, draw_seed, make_settings
from skgoss.parameters.signatures import (
    ALIASES_FIRST,
    remember_passed,
    set_keyword_arguments,
    show_inherited,
    warn_of_unknown,
)
from skgoss.parameters.table import DEFAULTS, OPTIONS

__all__ = [
    "ALIASES_FIRST",
    "CANONICAL_NAME",
    "DEFAULTS",
    "OPTIONS",
    "Settings",
    "canonical",
    "changes",
    "check_available",
    "checked_options",
    "checked_value",
    "draw_seed",
    "file_options",
    "from_lightgbm",
    "make_settings",
    "n_jobs",
    "names_used",
    "remember_passed",
    "resolve",
    "resolve_or_warn",
    "same",
    "set_keyword_arguments",
    "show_inherited",
    "suggestion",
    "to_lightgbm",
    "updated",
    "warn_of_unknown",
    "with_constructor_names",
]
