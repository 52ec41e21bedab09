"""The words of verdicts."""

YES, NO, NO_EFFECT, UNDECIDED, NOT_RUN = VERDICTS = "yes", "no", "no effect", "undecided", "not run"
