"""Composer algorithms, a folder each: settings, a pure function, a thin class, a method card."""
