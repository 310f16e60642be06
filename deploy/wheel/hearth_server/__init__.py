"""The programs of hearth as a Python package: hearthd, hearth, what they need beside LibTorch, and the demo's models."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def demo_models() -> pathlib.Path:
    """The demo's model repository."""
    return FOLDER / "share/hearth/demo"
