"""The conformance harness: archives and inputs run in LibTorch's torch.jit and in hearth, and compared. `run.py` is the
way in; docs/conformance.md is what it writes."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# How values are compared and how `hearth run --cases` is asked is shared with the integration tests.
sys.path.append(str(ROOT / "integration_tests"))
