"""Data sets by name: readers of files that you have; the project holds none of them."""

from streams.support.datasets.record import Record
from streams.support.datasets.source import NAMES, Records, open_source

__all__ = ["NAMES", "Record", "Records", "open_source"]
