"""Starts the package's programs in place of Python, with the LibTorch of the torch that is installed here.

The programs look for torch beside their own package. Where it lies elsewhere (below another root of the same Python, or
where HEARTH_LIBTORCH says), LD_LIBRARY_PATH tells them.
"""

import importlib.util
import os
import pathlib
import sys

from hearth_server import FOLDER


def hearthd():
    _become("hearthd")


def hearth():
    _become("hearth")


def _become(name):
    environment = dict(os.environ)
    libraries = _libtorch() / "lib"
    if libraries != FOLDER.parent / "torch/lib":
        paths = [str(libraries), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    program = FOLDER / "bin" / name
    os.execve(program, [name, *sys.argv[1:]], environment)


def _libtorch():
    """The folder of torch, which is found and not imported: that takes seconds."""
    named = os.environ.get("HEARTH_LIBTORCH")
    if named:
        folder = pathlib.Path(named)
    else:
        found = importlib.util.find_spec("torch")
        if found is None or not found.submodule_search_locations:
            sys.exit("hearth: no LibTorch here: install torch==2.11.0, or set HEARTH_LIBTORCH to the folder of a LibTorch 2.11")
        folder = pathlib.Path(found.submodule_search_locations[0])
    if not (folder / "lib/libtorch_cpu.so").exists():
        sys.exit(f"hearth: no LibTorch in {folder}: expected its lib/libtorch_cpu.so")
    return folder.resolve()
