"""The figures and the page that show what the runs say."""
