"""Shared set-up."""

import os

# scikit-learn's array API checks run only if SciPy was imported with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
