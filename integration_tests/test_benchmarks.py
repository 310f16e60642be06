"""The benchmarks: each can be started, and the servers that are measured side by side answer right."""

import importlib
import os
import pkgutil
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

import benchmarks
from benchmarks import idle
from benchmarks.engines import EngineError
from benchmarks.latency_picture import COLOURS
from integration_tests import ROOT
from integration_tests.daemon import binary


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(benchmarks.__path__)])
def test_a_benchmark_finds_what_it_imports(name):
    importlib.import_module(f"benchmarks.{name}")


ENGINES = ["torch.jit", "hearthd, gRPC", "torch.jit, gRPC"]


def test_servers_are_asked_over_grpc_and_rest_and_answer_as_eager_torch(tmp_path):
    command = [sys.executable, "-m", "benchmarks.served_cpu", "--hearth", binary(), "--models", "mlp_batch_1"]
    command += ["--clients", "3", "--seconds", "0.3", "--warm-up", "0.3", "--output", tmp_path / "report.md", "--engines", *ENGINES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    # 1: an answer was wrong, or a request or a server has failed.
    assert done.returncode == 0, done.stdout + done.stderr
    head, _, row = (tmp_path / "report.md").read_text().strip().splitlines()[-3:]
    figures = dict(zip(head.split(" | "), row.strip("| ").split(" | ")))
    for engine in ENGINES:
        assert float(figures[f"{engine}, a second"]) > 0, figures


SPINS = "import time; print(flush=True); end = time.monotonic() + {}\nwhile time.monotonic() < end: pass\ntime.sleep(60)"


@pytest.fixture
def spinning():
    """Starts processes that are busy for some seconds and idle afterwards."""
    started = []

    def start(seconds):
        process = subprocess.Popen([sys.executable, "-c", SPINS.format(seconds)], stdout=subprocess.PIPE)
        started.append(process)
        process.stdout.readline()  # it has begun
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_turn_waits_until_processes_are_idle(spinning):
    process, start = spinning(1.0), time.monotonic()
    idle.wait_until_idle([os.getpid(), process])
    assert time.monotonic() - start > 0.5
    start = time.monotonic()
    idle.wait_until_idle([os.getpid(), process])
    assert time.monotonic() - start < 0.5


def test_a_process_that_is_never_idle_is_named(spinning, monkeypatch):
    process = spinning(60)
    monkeypatch.setattr(idle, "MOST", 0.2)
    with pytest.raises(EngineError, match=f"process {process} "):
        idle.wait_until_idle([process])


TABLE = """### Models, 2 threads

| model | hearth:exact, ms | eager, ms | eager by plan | openvino by plan | best of the others by plan |
| --- | --- | --- | --- | --- | --- |
| resnet50 | 2.0 | 4.0 | 2.00 (1.90) | 1.00 (0.90) | 1.00 openvino |
| timm:vit | 3.0 | 6.0 | 2.00 (1.90) | - | 2.00 eager |
| geometric mean |  |  | 2.00 (1.90) | 1.00 (0.90) of 1 | 1.41 |
"""


def test_ratios_are_drawn_by_model_and_rival(tmp_path):
    (tmp_path / "table.md").write_text(TABLE)
    picture = tmp_path / "picture.svg"
    command = [sys.executable, "-m", "benchmarks.ratio_picture", tmp_path / "table.md", "--rivals", "eager", "openvino", "--output", picture]
    subprocess.run(command, cwd=ROOT, check=True)
    dots = [(float(dot.get("cx")), dot.get("fill")) for dot in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}circle")]
    of_eager, of_openvino = ([x for x, fill in dots if fill == colour] for colour in COLOURS[:2])
    # One of the legend, then one for each model that the rival ran.
    assert len(dots) == 5 and len(of_eager) == 3 and len(of_openvino) == 2
    assert of_eager[1] == of_eager[2] > of_openvino[1]
