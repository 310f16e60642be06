"""Cases through hearth and torch.jit, many at a time."""

import queue
import tempfile
import threading
from pathlib import Path

from integration_tests import command_line
from integration_tests.conformance import bailouts
from integration_tests.conformance.hearth import with_plans
from integration_tests.conformance.workers import JOBS, Died, Worker

CHUNK = {"cpu": 40, "cuda": 200}  # cases for one process of hearth at most: opening a GPU takes seconds


def judged(cases, hearth, oracle="integration_tests.conformance.oracle:judge"):
    """(case, {"verdict", "reason"}) of each, as they come, from JOBS pairs of a hearth and a torch.jit. `oracle` compares
    the two, as oracle.judge does."""
    chunks, done = queue.SimpleQueue(), queue.SimpleQueue()
    size = min(CHUNK[hearth.device], max(1, len(cases) // (2 * JOBS)))
    for at in range(0, len(cases), size):
        chunks.put(cases[at : at + size])

    def work():
        torch_jit = Worker(oracle)

        def judge(case, answer):
            item = {"case": case.to_json(), "line": answer.line, "output": str(answer.output), "device": hearth.device,
                    "repeat": hearth.repeat}  # fmt: skip
            try:
                return torch_jit.ask(item, case.timeout)
            except Died as death:
                return _verdict_on_death(death, answer.line)

        with tempfile.TemporaryDirectory(prefix="hearth-conformance-") as folder:
            while True:
                try:
                    chunk = chunks.get_nowait()
                except queue.Empty:
                    break
                if hearth.fail_guards == "each":
                    for judged in bailouts.verdicts(chunk, hearth, Path(folder), judge):
                        done.put(judged)
                    continue
                for case, answer in zip(chunk, hearth.run(chunk, Path(folder))):
                    done.put((case, with_plans(judge(case, answer), answer.plans)))
        torch_jit.close()

    for _ in range(JOBS):
        threading.Thread(target=work, daemon=True).start()
    for _ in cases:
        yield done.get()


def _verdict_on_death(death, line):
    # Where torch.jit crashes or hangs, hearth is to answer, whatever it says.
    reason = f"torch.jit: {death}; hearth: {line}"
    return {"verdict": "torch" if command_line.is_answer(line) else "miss", "reason": reason, "torch": "failed"}
