"""The benchmarks: each can be started, and the servers that are measured side by side answer right."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import benchmarks
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
