"""Judging: workloads, schedules, expressions over sizes, tolerances and comparisons."""
