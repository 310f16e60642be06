"""Notices that the clients of a model get no answer for a while, and writes what the server does meanwhile."""

import collections
import contextlib
import shutil
import subprocess
import threading

from integration_tests.watch import Looker

LONGEST_SILENCE = 10.0  # seconds
LOOK_EVERY = 0.5


class Answers:
    """How many requests for each model wait for an answer, and how many have ended. Thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._waiting = collections.Counter()
        self._ended = collections.Counter()

    @contextlib.contextmanager
    def awaited(self, model):
        """Around a request: it waits from here until it has ended, in whatever way."""
        with self._lock:
            self._waiting[model] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[model] -= 1
                self._ended[model] += 1

    def counts(self):
        """{model: (requests that wait, requests that have ended)}"""
        with self._lock:
            return {model: (waiting, self._ended[model]) for model, waiting in self._waiting.items()}

    def watched(self, kind):
        """A class of clients as `kind`, whose requests (`ask`) count."""
        answers = self

        class Watched(kind):
            def ask(self, model, *arguments):
                with answers.awaited(model):
                    return super().ask(model, *arguments)

        Watched.__name__ = kind.__name__
        return Watched


class Silence:
    """Tells from one look at `Answers.counts` after the other of which models requests wait while none of them ends."""

    def __init__(self, looks):
        self._looks = looks
        self._before = {}
        self._silent = collections.Counter()

    def look(self, counts):
        """The models of which that is so for that many looks."""
        for model, (waiting, ended) in counts.items():
            goes_on = waiting == 0 or self._before.get(model) != ended
            self._silent[model] = 0 if goes_on else self._silent[model] + 1
            self._before[model] = ended
        return [model for model, looks in self._silent.items() if looks >= self._looks]


class StallWatch(Looker):
    """Looks at answers until it is left. `problems` has the models that were silent first, for so
    many seconds; what the server did then is written to `output`.

    The seconds are counted in looks, so a machine on which nobody ran for a while is no stall."""

    def __init__(self, server, answers, output, seconds=LONGEST_SILENCE):
        super().__init__(LOOK_EVERY)
        self.problems = []
        self._server, self._answers, self._output, self._seconds = server, answers, output, seconds
        self._silence = Silence(seconds / LOOK_EVERY)

    def look(self):
        if models := self._silence.look(self._answers.counts()):
            self._report(models)
        return bool(self.problems)

    def _report(self, models):
        text = what_it_does(self._server)
        self.problems += [f"the clients of {model} got no answer for {self._seconds:g} s" for model in models]
        print(*self.problems, text, sep="\n", file=self._output, flush=True)


def what_it_does(server):
    """The daemon's metrics and statistics, and, where there is gdb, what its threads are in."""
    parts = []
    for path, port in (("/metrics", "metrics_port"), ("/v2/models/stats", "http_port")):
        try:
            parts.append(server.get(path, port)[1])
        except OSError as error:
            parts.append(f"{path}: {error}")
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(server.pid), "-batch", "-ex", "thread apply all bt 12"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            parts.append(subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout)
    return "\n".join(parts)
