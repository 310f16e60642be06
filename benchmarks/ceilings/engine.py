"""A network of networks.py as an engine of benchmarks.models. ceiling.cpp is compiled when it is first needed."""

import ctypes
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import subprocess

import numpy
import torch

from benchmarks import ROOT
from benchmarks.ceilings.networks import written

SOURCES = [pathlib.Path(__file__).parent / "ceiling.cpp", ROOT / "benchmarks" / "peak.cpp", ROOT / "jit" / "kernels" / "target.cpp"]
BUILT = ROOT / "build" / "benchmarks" / "ceilings"
FLAGS = ["-std=c++20", "-O3", "-march=native", "-fPIC", "-shared"]


class Unavailable(Exception):
    """There is no such network, or nothing to run it with; the message says which."""


def onednn():
    """The folder with oneDNN's include/ and lib/."""
    return pathlib.Path(os.environ.get("HEARTH_ONEDNN", ROOT / ".onednn"))


@functools.cache
def library():
    folder = onednn()
    if not (folder / "lib" / "libdnnl.so.3").exists():
        raise Unavailable(f"there is no oneDNN in {folder} (scripts/setup)")
    key = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES) + str(folder).encode()).hexdigest()[:16]
    built = BUILT / f"{key}.so"
    BUILT.mkdir(parents=True, exist_ok=True)
    with open(BUILT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            subprocess.run(
                ["g++", *FLAGS, "-I", folder / "include", "-I", ROOT, *SOURCES, "-o", built.with_suffix(".new"),
                 "-L", folder / "lib", "-l:libdnnl.so.3", f"-Wl,-rpath,{folder / 'lib'}"], check=True)
            built.with_suffix(".new").rename(built)
    made = ctypes.CDLL(str(built))
    made.ceiling_make.restype = ctypes.c_void_p
    made.ceiling_make.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    made.ceiling_error.restype = ctypes.c_char_p
    made.ceiling_run.argtypes = [ctypes.c_void_p] * 3
    made.ceiling_time.restype = ctypes.c_double
    made.ceiling_time.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_double]
    made.ceiling_peak.restype = ctypes.c_double
    made.ceiling_free.argtypes = [ctypes.c_void_p]
    return made


def peak():
    """Operations of one thread in a nanosecond, at most."""
    return library().ceiling_peak()


class Ceiling:
    """Has what engines.py says of engines."""

    def __init__(self, module, inputs, layout):
        (self._input,) = inputs
        self.process_number = os.getpid()
        with torch.no_grad():
            steps = written(module, layout, list(self._input.shape))
            if steps is None:
                raise Unavailable("nobody has written it by hand")
            self._numbers = numpy.ascontiguousarray(steps.numbers)  # the network refers to them
            self.answer = torch.zeros_like(module(self._input))
        self._library = library()
        self._network = self._library.ceiling_make(json.dumps(steps.description).encode(), self._numbers.ctypes.data)
        if self._network is None:
            raise Unavailable(f"oneDNN cannot run it: {self._library.ceiling_error().decode()}")
        self._arguments = (self._network, self._input.data_ptr(), self.answer.data_ptr())
        self._library.ceiling_run(*self._arguments)

    def __del__(self):
        if getattr(self, "_network", None) is not None:
            self._library.ceiling_free(self._network)

    def time(self, milliseconds):
        return self._library.ceiling_time(*self._arguments, milliseconds) / 1e6
