"""Triton Inference Server as a process, from the wheel of nvidia-pytriton: its server and its Python backend.

    python3 -m venv build/triton
    build/triton/bin/pip install --no-deps --requirement benchmarks/requirements-triton.txt
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from integration_tests.daemon import free_port

PATIENCE = 120  # seconds that it may take to start


class Triton:
    """A running server; `environment` is the folder of the virtual environment above."""

    def __init__(self, environment, repository, *flags):
        packages = next(pathlib.Path(environment).resolve().glob("lib/python3*/site-packages"))
        parts = packages / "pytriton" / "tritonserver"
        self.folder = tempfile.TemporaryDirectory()
        backend = pathlib.Path(self.folder.name) / "python"
        backend.mkdir()
        for file in (parts / "backends" / "python").iterdir():
            (backend / file.name).symlink_to(file)
        # The interpreter that the backend starts is beside it, and finds its packages by the python3 of the path.
        stub = f"{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub"
        (backend / "triton_python_backend_stub").symlink_to(parts / "python_backend_stubs" / stub)
        for program in (parts / "bin/tritonserver", parts / "python_backend_stubs" / stub):
            program.chmod(0o755)
        self.http_port, self.grpc_port, self.metrics_port = free_port(), free_port(), free_port()
        command = [parts / "bin/tritonserver", "--model-repository", repository, "--backend-directory", self.folder.name]
        command += ["--http-port", self.http_port, "--grpc-port", self.grpc_port, "--metrics-port", self.metrics_port]
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen(
            [str(part) for part in [*command, *flags]],
            stdout=self.log,
            stderr=self.log,
            env={
                **os.environ,
                "PATH": f"{packages.parents[2] / 'bin'}:{os.environ['PATH']}",
                "LD_LIBRARY_PATH": str(packages / "nvidia_pytriton.libs"),
            },
        )
        self._wait_until_ready()

    def _wait_until_ready(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/v2/health/ready", timeout=1)
                return
            time.sleep(0.1)
        self.log.seek(0)
        errors = [line for line in self.log if line.startswith("E")]
        self.stop()
        raise RuntimeError("".join(["Triton did not start:\n", *errors]))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
