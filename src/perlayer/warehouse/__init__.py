"""Every per-layer number of every run in one queryable place."""
