"""The tables of what the layers of a finished model are made of: a frozen dataclass a kind of row."""

from __future__ import annotations

TABLES: dict[str, type] = {}
