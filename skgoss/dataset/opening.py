"""How the rows of a `Dataset` are read: from memory, or in batches."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any

from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.fields import Fields
from skgoss.sources import input_rows
from skgoss.sources.memory import FileState
from skgoss.sources.source import Source
from skgoss.sources.text_files import FileOptions


class Opening(Fields):
    """The data that a `Dataset` was given.

    Attributes
    ----------
    data : object
        None: there are none any more.
    memory_map : str, path or None
    _source : Source or None
        Where ``data`` are read from in batches; None: they are in memory, or it is not
        known yet.
    _file_options : FileOptions
        How text files are read.
    _mapped : FileState or None
        The file in which the bins lie; None: they lie elsewhere.
    _opened : mapping
        The fields that were read from ``data``.
    _by_name : mapping
        The columns of ``data`` that are fields, by the names of the fields.
    """

    data: Any
    memory_map: str | PathLike[str] | None = None
    _file_options: FileOptions
    _source: Source | None = None
    _mapped: FileState | None = None
    _opened: Mapping[str, Any] = MappingProxyType({})

    def _has_columns_by_name(self) -> bool:
        """Whether fields can be set by the names of columns."""
        if self._binned is not None:
            return False
        return input_rows.is_source(self.data) or input_rows.are_files(self.data)

    def _open(self) -> None:
        """Find out how the data are read; lazy frames and streams are collected."""
        source = input_rows.source(self.data)
        if source is not None and source.shape[0] == 0:
            raise ValueError("data must have a row, but has none.")
        if source is None:
            if self.memory_map is not None and self.data is not None:
                raise ValueError(
                    "memory_map is for data that are read in batches, such as Parquet"
                    " files, but data are in memory, or read as a whole."
                )
            loaded = input_rows.loaded(self.data)
            if loaded is not self.data:
                dataset_fields.check(self._fields, input_rows.shape(loaded)[0])
                self.data = loaded
            return
        named = dataset_fields.of_columns(source, self._by_name)
        own = {name: v for name, v in self._fields.items() if v is not None}
        dataset_fields.check({**self._fields, **named.fields, **own}, source.shape[0])
        self._source = source.without(named.columns)
        vars(self).update({**named.fields, **own, "_opened": named.fields})

    def _close(self) -> None:
        """Forget what was read: files may be others when they are read again."""
        opened = {n: v for n, v in self._opened.items() if vars(self)[n] is v}
        unset = {name: "auto" if name == "feature_name" else None for name in opened}
        vars(self).update({**unset, "_source": None, "_opened": {}})

    def _load_values(self, needed: str) -> None:
        """Read all rows into memory, if what they come from allows it."""
        try:
            self.data = self._source.loaded()
        except ValueError as error:
            raise ValueError(
                f"{needed} needs the values of all rows: {error}"
            ) from None
        self._source = None

    def _given_data(self) -> Any:
        if self.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        if self._source is None:
            self._open()
        return input_rows.named(self.data) if self._source is None else self._source

    def _check_raw(self, purpose: str) -> None:
        """Check that the data are still there."""
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )
