"""The conformance harness: archives and inputs run in LibTorch's torch.jit and in hearth, and compared. `run.py` is the
way in; docs/conformance.md is what it writes."""
