"""Fixtures of made-up results, which the tests of the warehouse, the questions and the report share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

from made_up_designs import designs_dir  # noqa: E402, F401
from made_up_results import gather, supervision_dir, warehouse_dir  # noqa: E402, F401
from views_once import empty_database, views_once  # noqa: E402, F401
