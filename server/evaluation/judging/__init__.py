"""Judging: contests between programs, run through the workbench, and the verdicts on them."""
