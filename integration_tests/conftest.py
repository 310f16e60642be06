
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


@pytest.fixture(scope="session")
def hearthd(tmp_path_factory):
    """Starts daemons: hearthd(models, *flags) gives a daemon.Hearthd.

    `models` is a folder in a repository's layout, or a dict from a model's name to a ScriptModule, an archive's path, or a
    tuple of one of these and the text of a config.pbtxt. With wait=False the daemon may still be loading. At the session's
    end every daemon that still runs is ended, and must end well.
    """
    started = []

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
        started.append(Hearthd(repository, *flags, wait=wait, log=log))
        return started[-1]

    yield start
    running = [server for server in started if server.process.poll() is None]
    with ThreadPoolExecutor() as pool:
        statuses = list(pool.map(Hearthd.stop, running))
    for server in started:
        server.log.close()
    assert statuses == [0] * len(running), [Path(server.log.name).read_text()[-2000:] for server in running]


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
