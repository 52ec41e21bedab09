"""The figures: a module each, with `TITLE`, `CAPTION`, `EMPTY`, `data(connection)` and `draw(table, connection)`.

`data` gives what is drawn, a table, and `draw` the figure of it. Without rows `EMPTY` says why there is none: a
sentence, or several by what is there. They import what draws inside their functions, since the page of the report
needs their titles and captions alone. Modules without a title are what figures share.
"""

import importlib
from pathlib import Path

_modules = {
    path.stem: importlib.import_module(f"{__name__}.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("[!_]*.py"))
}
FIGURES = {name: module for name, module in _modules.items() if hasattr(module, "TITLE")}
