"""The commands and the paced server of the series' tests, for nights as well."""

from tests.series.conftest import some, url

__all__ = ["some", "url"]
