"""MuonH, AdamH and Adam in one optimizer, its parameter groups and its schedules."""
