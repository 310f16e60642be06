"""What a process holds, looked at again and again: resident memory, open descriptors, threads; and whether it grows."""

import collections
import contextlib
import os
import pathlib
import threading
import time

import numpy as np

KINDS = ("resident", "descriptors", "threads")

# What pools may still gain in a process that is watched for less than ten minutes: gRPC's executors and OpenMP's teams make
# their threads when one is missing, and keep them. A thread kept for each request or each model that is replaced is more.
SETTLING_THREADS = 8


def resident_bytes(pid):
    return _status(pid, "VmRSS") * 1024


def held_by(pid):
    return {
        "resident": resident_bytes(pid),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": _status(pid, "Threads"),
    }


def thread_names(pid):
    """How many threads of each name there are; one that ends meanwhile is left out."""
    names = collections.Counter()
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names[(thread / "comm").read_text().strip()] += 1
    return names


def _status(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(f"no {field}")


class Looker:
    """Calls `look` every `interval` seconds, on a thread of its own, until it is left or `look` has seen enough and says
    so."""

    def __init__(self, interval):
        self._interval = interval
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def look(self):
        raise NotImplementedError

    def _run(self):
        while not self._stopping.is_set() and not self.look():
            self._stopping.wait(self._interval)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stopping.set()
        self._thread.join()


class Watch(Looker):
    """Looks at a process until it is left."""

    def __init__(self, pid, interval=1.0):
        super().__init__(interval)
        self.samples = []  # (seconds since the begin, what held_by gives, what thread_names gives)
        self._begin = time.monotonic()
        self._pid = pid

    def look(self):
        self.samples.append((time.monotonic() - self._begin, held_by(self._pid), thread_names(self._pid)))

    def _second_half(self):
        return self.samples[len(self.samples) // 2 :]

    def growth(self):
        """{kind: (mean, what a line fitted to the samples grows by)} of the second half."""
        half = self._second_half()
        times = np.array([seconds for seconds, *_ in half])
        grown = {}
        for kind in KINDS:
            values = np.array([held[kind] for _, held, _ in half], float)
            slope = np.polyfit(times, values, 1)[0]
            grown[kind] = (values.mean(), slope * (times[-1] - times[0]))
        return grown

    def report(self):
        lines = []
        for kind, (mean, growth) in self.growth().items():
            unit, scale = ("MiB", 1 << 20) if kind == "resident" else ("", 1)
            half = f"{mean / scale:9.1f} {unit:3} in the mean of the second half"
            lines.append(f"{kind:12} {half}, {growth / scale:+8.2f} by its fitted line")
        return "\n".join(lines)

    def problems(self, memory_share, threads=2):
        """What grew by more than it may: resident memory by this share of its mean, descriptors by 2, and threads."""
        grown = self.growth()
        most = {"resident": memory_share * grown["resident"][0], "descriptors": 2, "threads": threads}
        problems = [
            f"{kind} grew by {grown[kind][1]:.1f} in the second half" for kind in KINDS if grown[kind][1] > most[kind]
        ]
        if grown["threads"][1] > threads:
            (_, _, first), *_, (_, _, last) = self._second_half()
            problems.append(f"threads that are new: {dict(last - first)}")
        return problems
