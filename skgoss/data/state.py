from skgoss.data.values import *  # noqa
