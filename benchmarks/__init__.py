"""Benchmarks, run from the root of the tree as `python -m benchmarks.NAME`; README.md says what each measures."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
