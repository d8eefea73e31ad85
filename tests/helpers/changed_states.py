"""Files whose states were changed."""

from __future__ import annotations


def changed(name, at, value):
    """A state with another value in an array."""

    def change(state):
        state[name] = state[name].copy()
        state[name][at] = value

    return change


def replaced(name, make):
    """A state with another entry."""

    def change(state):
        state[name] = make(state[name])

    return change
