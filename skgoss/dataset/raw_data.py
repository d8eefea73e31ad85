"""The data that were passed to a `Dataset`, and how their rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from skgoss.dataset import binary_files
from skgoss.dataset.fields import Fields, read_columns
from skgoss.sources import input_rows, text_files
from skgoss.sources.source import Source
from skgoss.sources.text_files import FileOptions


@dataclass(frozen=True, eq=False)
class RawData:
    """The data that were passed to a `Dataset`."""

    data: Any  # None: there are none, or they were freed
    options: FileOptions  # how text files are read
    # The source that reads rows in batches; None: they are in memory, or the data have
    # not been opened yet.
    source: Source | None = None
    # The fields that were read from the data when they were opened, by name, and the
    # list 'feature_name'.
    found: Mapping[str, Any] = field(default_factory=dict)
    # The names of the columns that are features, of data that are read in batches;
    # None: all but those of fields.
    columns: tuple[str, ...] | None = None

    @property
    def are_files(self) -> bool:
        """Whether the data are files of text or bins."""
        return input_rows.are_files(self.data)

    @property
    def is_binary(self) -> bool:
        """Whether the data are a file that `Dataset.save_binary` has written."""
        is_path = isinstance(self.data, str | PathLike) and self.are_files
        return is_path and binary_files.is_binary(self.data)

    @property
    def has_named_columns(self) -> bool:
        """Whether fields can be set by the names of columns."""
        return self.are_files or input_rows.is_source(self.data)

    @property
    def shape(self) -> tuple[int | None, int | None]:
        """The numbers of rows and columns, as far as they are known."""
        return input_rows.shape(self.data) if self.source is None else self.source.shape

    @property
    def rows(self) -> Any:
        """The source of the rows, or the data in memory."""
        return (
            input_rows.with_uniform_names(self.data)
            if self.source is None
            else self.source
        )

    def check_all_columns(self) -> None:
        """Raise ValueError if some columns were chosen: there are no batches."""
        if self.columns is not None:
            raise ValueError(
                "columns is for data that are read in batches, such as Parquet files."
                + (
                    " For a text file, pass params={'ignore_column': 'name:a,b'}."
                    if self.are_files
                    else " data are in memory: select the columns first, data[columns]."
                )
            )

    def check_not_freed(self, purpose: str) -> None:
        """Raise ValueError if the data were freed.

        ``purpose`` completes the message "The Dataset cannot ...".
        """
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )

    def opened(self, fields: Fields, *, to_disk: bool) -> tuple[RawData, Fields]:
        """The opened data, with their source; lazy frames and streams are collected.

        ``fields`` are those that the user has set; those in the data are added.
        ``to_disk`` says whether the bins will be in files.
        """
        is_text = self.are_files
        source = None if is_text else input_rows.source(self.data)
        if source is not None:
            return self._opened_source(source, fields)
        self.check_all_columns()
        if is_text:
            return self._opened_text(fields)
        if to_disk and self.data is not None:
            raise ValueError(
                "memory_map is for data that are read in batches, such as Parquet"
                " files, but data are in memory, or read as a whole."
            )
        loaded = input_rows.loaded(self.data)
        if loaded is self.data:
            return self, fields
        fields.check(input_rows.shape(loaded)[0])
        return replace(self, data=loaded), fields

    def _opened_source(self, source: Source, fields: Fields) -> tuple[RawData, Fields]:
        """`opened` for rows in batches: columns that are fields leave the source."""
        n_rows = source.shape[0]
        if n_rows == 0:
            raise ValueError("data must have a row, but has none.")
        values, columns = read_columns(source, fields.columns)
        completed = fields.completed(values, n_rows)
        found = completed.added_to(fields)
        source = source.without(columns)
        if self.columns is not None:
            chosen = list(self.columns)
            source.check_names(chosen)
            source = source.select(chosen)
        return replace(self, source=source, found=found), completed

    def _opened_text(self, fields: Fields) -> tuple[RawData, Fields]:
        """`opened` for a text file, whose fields and names are read with it."""
        text = text_files.read(self.data, self._options_with(fields.columns))
        completed = fields.completed(text._asdict(), text.data.shape[0])
        found = {**completed.added_to(fields), "feature_name": text.names}
        return replace(self, source=text.data, found=found), completed

    def _options_with(self, columns: Mapping[str, str | list[str]]) -> FileOptions:
        """The options of text files, with columns for the fields that have them.

        ``columns`` are the names of columns by field: see `Fields.columns`. The file
        must then have a line of names. ValueError if a field cannot be read this way.
        """
        chosen: dict[str, Any] = {
            f"{name}_column": (column,) if isinstance(column, str) else tuple(column)
            for name, column in columns.items()
        }
        several = chosen.keys() - {"init_score_column"}
        if any(len(chosen[option]) > 1 for option in several) or (
            chosen.keys() - FileOptions._fields
        ):
            raise ValueError(
                "label, weight, group and init_score of a text file may be the name of"
                f" a column, and init_score a list of names, but not {columns}."
            )
        options = self.options._replace(**chosen)
        return options._replace(header=True) if chosen else options
