"""Programs that mean harm, or look as if, once through `hearth run` and once through a hearthd that goes on serving: each
must end in a clear error (or its answer), in bounded time and memory, and the process must live. torch.jit is not asked:
much of this ends its process."""

import tempfile
import time
from pathlib import Path

import torch

from integration_tests import command_line
from integration_tests.conformance.case import Case
from integration_tests.conformance.hostile_programs import ANSWERS, PROGRAMS
from integration_tests.daemon import Hearthd, put_model

NAME = "hostile"
TITLE = "Hostile programs: a clear error for each, in bounded time and memory"

MEMORY = 300_000_000  # bytes for one request
SECONDS = 5  # for one request
PATIENCE = 120  # seconds until a program counts as hanging
RESIDENT = 6 * MEMORY  # what the daemon may hold after all of them: a model's code and an allocator's leftovers


def cases(folder, quick):
    inputs = folder / "in.pt"
    torch.save((1000,), inputs)
    for number, (name, (group, write, _)) in enumerate(PROGRAMS.items()):
        if quick and number % 5:
            continue
        archive = folder / f"{number}.pt"
        write(archive)
        for way in ("run", "serve"):
            yield Case(f"{way}: {name}", f"{group}, {way}", str(archive), str(inputs), method="forward", timeout=PATIENCE)


def judged(cases, hearth):
    """(case, verdict) of each, in the harness's form."""
    run = [case for case in cases if case.name.startswith("run")]
    rows = [(case.archive, case.inputs, "", case.method) for case in run]
    extra = ["--memory-limit", str(MEMORY), "--timeout", str(SECONDS)]
    lines = command_line.run_cases(rows, PATIENCE, extra, hearth.program)
    for case, line in zip(run, lines):
        yield case, _verdict(case, line)
    serve = [case for case in cases if case.name.startswith("serve")]
    if serve:
        yield from _served(serve)


def _verdict(case, line):
    says = PROGRAMS[case.name.partition(": ")[2]][2]
    if line.startswith("raised ") and len(line) > len("raised ") or line.startswith("bad ") and len(line) > len("bad "):
        good = says != ANSWERS and says in line
    else:
        good = line == "ok" and says in (ANSWERS, "")
    reason = "" if good else f"expected {says or 'an end'!r}, and it was: {_ends_of(line)}"
    return {"verdict": "agree" if good else "miss", "reason": reason}


def _ends_of(line):
    return line if len(line) <= 600 else f"{line[:200]} ... {line[-400:]}"


class _Friendly(torch.nn.Module):
    def forward(self, x):
        return x + 1


def _served(cases):
    with tempfile.TemporaryDirectory(prefix="hearth-hostile-") as repository:
        put_model(repository, "friendly", torch.jit.script(_Friendly()))
        flags = ["--memory-limit", MEMORY, "--load-memory-limit", 5 * MEMORY, "--load-seconds", SECONDS]
        daemon = Hearthd(repository, *flags)
        try:
            for case in cases:
                line = _serve(daemon, case)
                trouble = _trouble(daemon)
                verdict = _verdict(case, line)
                if trouble:
                    verdict = {"verdict": "miss", "reason": f"{trouble}, after: {line[:300]}"}
                yield case, verdict
                if daemon.process.poll() is not None:
                    daemon = Hearthd(repository, *flags)
        finally:
            daemon.stop()


def _serve(daemon, case):
    """The program's end, in the words of `hearth run --cases`."""
    from tritonclient.grpc import InferInput
    from tritonclient.utils import InferenceServerException

    name = f"hostile{Path(case.archive).stem}"
    put_model(daemon.repository, name, case.archive)
    n = InferInput("n", [1], "INT64")
    import numpy

    n.set_data_from_numpy(numpy.array([1000], dtype=numpy.int64))
    with daemon.client() as client:
        try:
            client.load_model(name, client_timeout=PATIENCE)
            client.infer(name, [n], client_timeout=SECONDS + 1)
            return "ok"
        except InferenceServerException as error:
            said = f"{error.status()} {error.message()}".replace("\n", " ")
            if "DEADLINE_EXCEEDED" in said:
                said += " (the deadline passed)"
            return f"raised {said}"
        finally:
            try:
                client.unload_model(name, client_timeout=PATIENCE)
            except InferenceServerException:
                pass


def _trouble(daemon):
    """What is wrong with the daemon; "" if it serves as if nothing had been."""
    import numpy
    from tritonclient.grpc import InferInput
    from tritonclient.utils import InferenceServerException

    if daemon.process.poll() is not None:
        return f"hearthd ended with {daemon.process.returncode}"
    x = InferInput("x", [2], "FP32")
    x.set_data_from_numpy(numpy.array([1, 2], dtype=numpy.float32))
    start = time.monotonic()
    with daemon.client() as client:
        try:
            answer = client.infer("friendly", [x], client_timeout=PATIENCE)
        except InferenceServerException as error:
            return f"hearthd does not serve others: {error}"
    if answer.as_numpy(answer.get_response().outputs[0].name).tolist() != [2, 3]:
        return "hearthd answers others wrongly"
    if time.monotonic() - start > PATIENCE / 4:
        return f"others waited {time.monotonic() - start:.0f} s"
    resident = int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1]) * 4096
    return "" if resident < RESIDENT else f"hearthd holds {resident >> 20} MB"
