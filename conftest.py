"""Test the package that is installed, not the folder it was built from."""

import os
import sys
from pathlib import Path

# `python -m pytest` puts the project's root on the path, and the source folder in it,
# which has no compiled modules, would hide an ordinary installation. An editable one is
# found either way.
_root = Path(__file__).parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _root]
# The same for the interpreters that tests start.
os.environ["PYTHONSAFEPATH"] = "1"
