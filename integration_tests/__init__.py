"""What drives the built binaries from outside: real clients of a daemon (test_*.py), the conformance suites, the models that
both ask. Run from the root of the tree, as `python -m integration_tests.MODULE` or by pytest."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

sys.path.insert(0, str(ROOT / "clients/python"))
