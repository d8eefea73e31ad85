"""Text files, and the values in them."""

from __future__ import annotations

from scipy import sparse

from skgoss import parameters
from skgoss.sources import text_files

ROWS = "1,2.5,3,4\n0,1.5,2,5\n1,0.5,9,6\n"
NAMED = "y,a,b,c\n" + ROWS
SVM = "1 0:2.5 2:3\n0 1:1.5\n1 0:1 1:2 2:3\n"
QUIET = {"verbose": -1, "num_threads": 1}
# Such that trees can split on tiny data.
TINY = {"min_data_in_bin": 1, "min_data_in_leaf": 1, "feature_pre_filter": False}


def read(path, **params):
    options, _ = parameters.file_options(params, "Dataset")
    text = text_files.read(path, text_files.FileOptions(**options))
    return text._replace(data=text.data.loaded())


def dense(data):
    return data.toarray() if sparse.issparse(data) else data
