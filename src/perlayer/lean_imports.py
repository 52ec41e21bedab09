"""Composer and streaming, without what costs a stage seconds at its start and serves none of it.

Measured on Python 3.11: a training has imported all it needs after 2.5 s of processor time; after 5.5 s without this.
"""

from __future__ import annotations

import gc
import importlib
import sys
from importlib.metadata import PackageNotFoundError
from types import ModuleType
from unittest.mock import patch

# What torchmetrics, which Composer imports, takes for metrics that are not used here.
UNWANTED = ("matplotlib", "scipy", "transformers")
# What else the two import of transformers: the types of its batches, and tokenizers of ready-made datasets.
STANDING_IN = {
    "transformers": (),
    "transformers.feature_extraction_utils": ("BatchFeature",),
    "transformers.tokenization_utils_base": ("BatchEncoding",),
    "streaming.text": (),
}


def import_lean(*packages: str) -> None:
    """Import Composer or streaming as if what is `UNWANTED` were not there; whoever asks for it later finds it."""
    from lightning_utilities.core import imports  # torchmetrics asks it what is installed

    def version(package: str) -> str:
        if package in UNWANTED:
            raise PackageNotFoundError(package)
        return usual_version(package)

    def is_available(package: str) -> bool:
        return package not in UNWANTED and usually_available(package)

    usual_version, usually_available = imports._version, imports.package_available
    gc.disable()  # all of it stays until the end; to look for garbage in it took a quarter of the import
    standing_in = [name for name in STANDING_IN if name not in sys.modules]
    for name in standing_in:
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update({kind: type(kind, (), {}) for kind in STANDING_IN[name]})
    try:
        with patch.object(imports, "_version", version), patch.object(imports, "package_available", is_available):
            for package in packages:
                importlib.import_module(package)
    finally:
        for name in standing_in:
            del sys.modules[name]
        gc.freeze()
        gc.enable()
