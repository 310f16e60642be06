"""Python functions in processes of their own, so that what crashes or hangs costs one item and not the run.

An item and its answer are JSON, a line each. The function is named "module:function"; its process lives for many items.
Used from any number of threads, one Worker each."""

import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

from integration_tests import ROOT

JOBS = int(os.environ.get("HEARTH_JOBS") or os.cpu_count() or 1)


START = 300  # seconds until a process is ready


class Died(Exception):
    """The process ended or took too long; the words say which."""


class Worker:
    def __init__(self, function):
        self._function = function
        self._process = None

    def ask(self, item, timeout):
        """The function's answer for `item`. Raises Died; the next item gets a new process."""
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(json.dumps(item) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer that does not come says so
        try:
            if not self._ready:  # what it imports takes long on a busy machine, and is no fault of the item
                self._ready = self._answers.get(timeout=START) is not None
            line = self._answers.get(timeout=timeout) if self._ready else None
        except queue.Empty:
            self.close()
            raise Died(f"no answer within {timeout} s") from None
        if line is None:
            code = self._process.wait()
            self._errors.seek(0)
            end = self._errors.read()[-500:].strip()
            self.close()
            raise Died(f"the process ended with {code}: {end}")
        return json.loads(line)

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self):
        self._errors = tempfile.TemporaryFile("w+", errors="backslashreplace")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "integration_tests.conformance.workers", self._function],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT,
        )  # fmt: skip
        self._answers = queue.SimpleQueue()
        threading.Thread(target=self._collect, args=(self._process, self._answers), daemon=True).start()
        self._ready = False

    @staticmethod
    def _collect(process, answers):
        for line in process.stdout:
            answers.put(line)
        answers.put(None)


def each(function, items, timeout, jobs=JOBS):
    """(item, answer) of each item, in the order they get ready. The answer of one whose process died is a Died."""
    waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
    items = list(items)
    for item in items:
        waiting.put(item)

    def work():
        worker = Worker(function)
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                done.put((item, worker.ask(item, timeout)))
            except Died as death:
                done.put((item, death))
        worker.close()

    for _ in range(min(jobs, len(items))):
        threading.Thread(target=work, daemon=True).start()
    for _ in items:
        yield done.get()


def _serve(name):
    # What the function prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, function = name.split(":")
    call = getattr(importlib.import_module(module), function)
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(call(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
