"""Models without scikit-learn's interface, and the functions that train them."""
