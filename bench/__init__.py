"""Benchmarks: ``python -m bench --help``. None of them is a test; all of them check what was written."""
