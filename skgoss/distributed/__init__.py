"""Communication of the processes of a distributed fit."""
