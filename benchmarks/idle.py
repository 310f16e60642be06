"""Waiting until processes have nothing to do. Threads that found no more work may spin before they sleep, ONNX Runtime's for
some twenty milliseconds, and whoever took its turn meanwhile would have to share the processors with them."""

import ctypes
import os
import time

from benchmarks.engines import EngineError

PAUSE = 0.02  # seconds: longer than a thread that has work has to wait for a processor
BUSY = 0.1  # of a pause: what a process uses of a processor that has something to do
MOST = 2.0  # seconds

_library = ctypes.CDLL(None)


def processor_seconds(process):
    """What all its threads have used of the processors since it began, `process` being its number."""
    clock = ctypes.c_int()
    if error := _library.clock_getcpuclockid(process, ctypes.byref(clock)):
        raise EngineError(f"process {process} has no clock: {os.strerror(error)}")
    return time.clock_gettime(clock.value)


def wait_until_idle(processes):
    """Raises EngineError, which names those that never were, or one that is gone."""
    end = time.monotonic() + MOST
    while True:
        before = {process: processor_seconds(process) for process in processes}
        time.sleep(PAUSE)
        used = {process: processor_seconds(process) - seconds for process, seconds in before.items()}
        busy = {process: seconds for process, seconds in used.items() if seconds > BUSY * PAUSE}
        if not busy:
            return
        if time.monotonic() > end:
            raise EngineError(f"{MOST} s after their turn still busy: " + ", ".join(
                f"process {process} ({seconds / PAUSE:.1f} processors)" for process, seconds in busy.items()))
