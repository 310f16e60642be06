import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tritonclient.grpc import service_pb2_grpc

from integration_tests import ROOT, server_models
from integration_tests.daemon import Hearthd, put_model
from integration_tests.protocol_files import protocol_pool

# Tests import the client package as it lies in the tree.
subprocess.run([ROOT / "clients/python/make_protocol"], check=True)


@pytest.fixture(scope="session")
def protocol(tmp_path_factory):
    """Our protocol files, in a pool of their own: their names are the same as in the clients' packages."""
    return protocol_pool(tmp_path_factory.mktemp("proto"))


class Daemons:
    """Those of all tests, which are ended beside the tests of the next module."""

    def __init__(self):
        self._pool = ThreadPoolExecutor()
        self._running, self._ended = [], []

    def add(self, server):
        self._running.append(server)

    def end(self):
        self._ended += [self._pool.submit(self._end, server) for server in self._running]
        self._running = []

    @staticmethod
    def _end(server):
        """What is wrong with how it ended; empty if nothing is. One that a test has ended is the test's."""
        status = 0 if server.process.poll() is not None else server.stop()
        server.log.close()
        return "" if status == 0 else f"status {status}: {Path(server.log.name).read_text()[-2000:]}"

    def troubles(self):
        self.end()
        self._pool.shutdown()
        return [trouble for ended in self._ended if (trouble := ended.result())]


@pytest.fixture(scope="session")
def daemons():
    started = Daemons()
    yield started
    assert started.troubles() == []


@pytest.fixture(scope="module", autouse=True)
def ended_after_the_module(daemons):
    yield
    daemons.end()


@pytest.fixture(scope="session")
def hearthd(daemons, tmp_path_factory):
    """Starts daemons: hearthd(models, *flags) gives a daemon.Hearthd.

    `models` is a folder in a repository's layout, or a dict from a model's name to a ScriptModule, an archive's path, or a
    tuple of one of these and the text of a config.pbtxt. With wait=False the daemon may still be loading. At the module's
    end every daemon that still runs is ended, and must end well.
    """

    def start(models, *flags, wait=True):
        folder = tmp_path_factory.mktemp("hearthd")
        repository = models
        if isinstance(models, dict):
            repository = folder / "models"
            repository.mkdir()
            for name, model in models.items():
                archive, config = model if isinstance(model, tuple) else (model, None)
                put_model(repository, name, archive, config=config)
        log = open(folder / "stderr", "w")
        server = Hearthd(repository, *flags, wait=wait, log=log)
        daemons.add(server)
        return server

    return start


@pytest.fixture(scope="module")
def server(hearthd):
    """A daemon with one of each of server_models."""
    return hearthd(server_models.everyday())


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def stub(server):
    with server.channel() as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)
