"""Loads with files of the client: what is served of them, what is refused, and what is left on disk."""

import io
import json
import os
import re
import signal
from pathlib import Path

import grpc
import numpy as np
import pytest
import torch
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from integration_tests import rest
from integration_tests import server_models as models
from integration_tests.command_line import hearth
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import LONG, Stream, answer_of, fails, floats, in_flight, index_of, spin

INVALID = grpc.StatusCode.INVALID_ARGUMENT
CONFIG = "{}"
ALL_VERSIONS = json.dumps({"version_policy": {"all": {}}})
FROM_FILES = "loaded from files that came with the load"


def archive(module):
    """The bytes of a ScriptModule's archive."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return buffer.getvalue()


def constant(value):
    return archive(models.constant(value))


class Grpc:
    """tritonclient over gRPC."""

    floats = staticmethod(floats)

    def __init__(self, server):
        self.client = server.client()

    def refused(self, **load):
        return fails(INVALID, lambda: self.client.load_model("m", **load))


class Http:
    """tritonclient over HTTP."""

    floats = staticmethod(rest.floats)

    def __init__(self, server):
        self.client = rest.rest_client(server)

    def refused(self, **load):
        with pytest.raises(InferenceServerException) as caught:
            self.client.load_model("m", **load)
        assert caught.value.status() == "400"
        return caught.value.message()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary files are, those of a daemon too."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture(params=[Grpc, Http], ids=["grpc", "http"])
def asked(request, place, hearthd):
    """A daemon with one model, m, and a client of each kind."""
    made = hearthd({"m": models.constant(1)}, "--model-control-mode=explicit", "--load-model=m",
                   "--client-files-bytes=1MiB")  # fmt: skip
    client = request.param(made)
    yield made, client
    client.client.close()
    assert made.stop() == 0


def answer(client, model, version=""):
    result = client.client.infer(model, [client.floats("x", 0)], model_version=version)
    return result.as_numpy("OUTPUT__0").tolist()


def on_disk(place):
    """The files of all loads, by their paths in their models' folders. A folder that is deleted meanwhile has none."""
    found = (Path(folder, name).relative_to(place) for folder, _, names in os.walk(place) for name in names)
    return sorted("/".join(path.parts[2:]) for path in found)


def test_a_model_is_served_from_files_and_again_from_the_repository(asked, place):
    server, client = asked
    (folder,) = place.glob("hearth_client_files.*")
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {"file:1/model.pt": constant(2), "file:3/model.pt": constant(4)}
    client.client.load_model("m", config=ALL_VERSIONS, files=files)
    assert answer(client, "m") == [4] and answer(client, "m", "1") == [2] and answer(client, "m", "3") == [4]
    assert on_disk(place) == ["1/model.pt", "3/model.pt"]
    with server.client() as asking:
        assert index_of(asking)[("m", "3")] == ("READY", FROM_FILES)
        assert asking.get_model_metadata("m").versions == ["1", "3"]
    # Other files, of which the policy takes the highest version.
    client.client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(5), "file:2/model.pt": constant(6)})
    assert answer(client, "m") == [6]
    with server.client() as asking:
        fails(grpc.StatusCode.NOT_FOUND, lambda: answer_of(asking, "m", "3"))
    assert on_disk(place) == ["1/model.pt", "2/model.pt"]
    client.client.load_model("m")
    assert answer(client, "m") == [1]
    assert on_disk(place) == []
    assert server.stop() == 0
    assert list(place.iterdir()) == []


def test_no_repository_needs_to_have_the_model(asked, place):
    server, client = asked
    client.client.load_model("new", config=CONFIG, files={"file:1/model.pt": constant(7)})
    assert answer(client, "new") == [7]
    assert client.client.is_model_ready("new")
    with pytest.raises(InferenceServerException, match="no model repository has a model 'new'"):
        client.client.load_model("new")
    assert answer(client, "new") == [7]
    client.client.unload_model("new")
    assert on_disk(place) == []
    assert not client.client.is_model_ready("new")
    with server.client() as asking:
        assert index_of(asking)[("new", "1")] == ("UNAVAILABLE", "unloaded")
        assert answer_of(asking, "m") == [1]
    # Not even the daemon's end is waited for.
    client.client.load_model("new", config=CONFIG, files={"file:1/model.pt": constant(8)})
    assert answer(client, "new") == [8]
    assert server.stop() == 0
    assert list(place.iterdir()) == []


def test_labels_and_other_names_of_archives_come_with_the_files(asked):
    _, client = asked
    config = {
        "default_model_filename": "net.pt",
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1]}],
        "output": [
            {"name": "OUTPUT__0", "data_type": "TYPE_FP32", "dims": [-1], "label_filename": "labels.txt"},
        ],
        "model_warmup": [
            {"name": "w", "inputs": {"x": {"data_type": "TYPE_FP32", "dims": [2], "random_data": True}}}
        ],
    }  # fmt: skip
    files = {"file:1/net.pt": archive(models.scripted(models.Identity())), "file:labels.txt": b"cat\ndog\n"}
    client.client.load_model("m", config=json.dumps(config), files=files)
    if isinstance(client, Http):
        import tritonclient.http as triton
    else:
        import tritonclient.grpc as triton
    output = triton.InferRequestedOutput("OUTPUT__0", class_count=1)
    result = client.client.infer("m", [client.floats("x", 0, 5)], outputs=[output])
    assert result.as_numpy("OUTPUT__0").tolist() == [b"5.000000:1:dog"]


def test_what_is_wrong_is_refused_and_says_what_came(asked, place):
    server, client = asked
    good = constant(9)
    for path, message in [
        ("../m/1/model.pt", "VERSION that is a positive number"),
        ("/etc/passwd", "VERSION that is a positive number"),
        ("0/model.pt", "VERSION that is a positive number"),
        ("-1/model.pt", "VERSION that is a positive number"),
        ("one/model.pt", "VERSION that is a positive number"),
        ("model.pt", "VERSION that is a positive number"),
        ("1", "with a NAME"),
        ("1/", "file name '' is empty"),
        ("1//model.pt", "file name '' is empty"),
        ("1/../../../model.pt", "file name '..' begins with a dot"),
        ("1/a/../b", "file name '..' begins with a dot"),
        ("", "file name '' is empty"),
        ("config.pbtxt", "the configuration the parameter 'config'"),
    ]:
        said = client.refused(config=CONFIG, files={f"file:{path}": good})
        assert "should be file:VERSION/NAME" in said and message in said and f"it is 'file:{path}'" in said
    assert "should have the parameter 'config'" in client.refused(files={"file:1/model.pt": good})
    assert "'files/model.pt' is not offered" in client.refused(config=CONFIG, files={"files/model.pt": good})
    many = {f"file:1/{number}": b"" for number in range(129)}
    assert "should have at most 128 files; it has 129" in client.refused(config=CONFIG, files=many)
    assert on_disk(place) == []
    assert answer(client, "m") == [1]
    with server.client() as asking:
        assert index_of(asking) == {("m", "1"): ("READY", "")}


def test_a_load_that_fails_leaves_what_serves(asked, place):
    server, client = asked
    client.client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(2)})

    def failures():
        return server.metric("hearth_model_load_failures_total", model="m", version="1")

    before = failures()
    for files, config, message in [
        ({"file:1/model.pt": b"no archive"}, CONFIG, "not a TorchScript archive"),
        ({"file:1/model.pt": constant(3)[:-100]}, CONFIG, "archive"),
        ({"file:1/other.pt": constant(3)}, CONFIG, "there is no file"),
    ]:
        with pytest.raises(InferenceServerException) as caught:
            client.client.load_model("m", config=config, files=files)
        assert message in caught.value.message()
        assert answer(client, "m") == [2]
        assert on_disk(place) == ["1/model.pt"]
        with server.client() as asking:
            state, reason = index_of(asking)[("m", "1")]
            assert state == "READY" and message in reason
    assert failures() == before + 3
    with pytest.raises(InferenceServerException, match="max_batchsize"):
        client.client.load_model("m", config='{"max_batchsize": 2}', files={"file:1/model.pt": constant(3)})
    with open(server.log.name) as log:
        assert re.search(r"m version 1 failed to load: .*not a TorchScript archive", log.read())
    assert on_disk(place) == ["1/model.pt"]
    client.client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(3)})
    assert answer(client, "m") == [3]
    with server.client() as asking:
        assert index_of(asking)[("m", "1")] == ("READY", FROM_FILES)


def test_all_files_together_are_bounded(asked, place):
    _, client = asked
    with pytest.raises(InferenceServerException) as caught:
        client.client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(2), "file:1/x": bytes(1 << 20)})
    assert "those of all loads may have 1048576 (the setting client_files_bytes)" in caught.value.message()
    files = {"file:1/model.pt": constant(2), "file:1/x": bytes(700_000)}
    client.client.load_model("a", config=CONFIG, files=files)
    with pytest.raises(InferenceServerException, match="of which other models have 7"):
        client.client.load_model("b", config=CONFIG, files=files)
    assert on_disk(place) == ["1/model.pt", "1/x"]
    client.client.unload_model("a")
    client.client.load_model("b", config=CONFIG, files=files)
    assert answer(client, "b") == [2]


def test_requests_under_way_end_with_the_files_that_they_began_with(hearthd, place):
    server = hearthd({}, "--model-control-mode=explicit", "--client-files-bytes=1GiB")
    # Longer than a message of any other method may be.
    large = np.random.default_rng(1).bytes(20 << 20)
    with server.client() as client:
        files = {"file:1/model.pt": archive(models.scripted(models.Spin())), "file:1/large": large}
        client.load_model("spin", config=CONFIG, files=files)
        assert (next(place.rglob("large"))).read_bytes() == large
        with Stream(server) as stream:
            stream.send("spin", spin(LONG), request_id="1")
            eventually(lambda: in_flight(server) == 1)
            client.load_model("spin", config=CONFIG, files={"file:1/model.pt": constant(2)})
            assert answer_of(client, "spin") == [2]
        eventually(lambda: on_disk(place) == ["1/model.pt"])


def test_files_may_come_compressed(hearthd, place):
    server = hearthd({}, "--client-files-bytes=1GiB")
    request = service_pb2.RepositoryModelLoadRequest(model_name="m")
    request.parameters["config"].string_param = CONFIG
    request.parameters["file:1/model.pt"].bytes_param = constant(2)
    request.parameters["file:1/large"].bytes_param = bytes(4 << 20)
    with server.channel() as channel, server.client() as client:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        stub.RepositoryModelLoad(request, compression=grpc.Compression.Gzip)
        assert answer_of(client, "m") == [2]
    assert on_disk(place) == ["1/large", "1/model.pt"]


def test_they_are_off_unless_a_setting_says_how_many_bytes(hearthd):
    server = hearthd({"m": models.constant(1)})
    with server.client() as client:
        files = {"file:1/model.pt": constant(2) + bytes(4 << 20)}
        message = fails(
            grpc.StatusCode.FAILED_PRECONDITION, lambda: client.load_model("m", config=CONFIG, files=files)
        )
        assert message == "loads with files of clients are not allowed here (the setting client_files_bytes)"
        assert answer_of(client, "m") == [1]
    said = rest.refused(server, "POST", "/v2/repository/models/m/load",
                        {"parameters": {"config": CONFIG, "file:1/model.pt": "AAAA"}})  # fmt: skip
    assert said == message


def test_what_may_load_models_may_load_files_and_nothing_else(hearthd, place):
    files = {"file:1/model.pt": constant(2)}
    for flags, code in [
        (["--admin=off"], grpc.StatusCode.PERMISSION_DENIED),
        (["--model-control-mode=poll"], grpc.StatusCode.UNAVAILABLE),
        (["--model-control-mode=none"], grpc.StatusCode.UNAVAILABLE),
    ]:
        server = hearthd({"m": models.constant(1)}, "--client-files-bytes=1MiB", *flags)
        with server.client() as client:
            fails(code, lambda asking=client: asking.load_model("m", config=CONFIG, files=files))
            assert answer_of(client, "m") == [1]
    assert on_disk(place) == []


def test_parameters_that_are_no_bytes_are_refused(hearthd):
    server = hearthd({"m": models.constant(1)}, "--client-files-bytes=1MiB")
    path = "/v2/repository/models/m/load"

    def load(value):
        return rest.refused(server, "POST", path, {"parameters": {"config": CONFIG, "file:1/model.pt": value}})

    assert load("no base64!") == "'file:1/model.pt' should be text in base64"
    assert "'file:1/model.pt' of a load should be bytes, which JSON has as text in base64" in load(1)
    assert "should be bytes" in load(True)
    assert "a string, an integer or a boolean" in load(["AAAA"])
    with server.channel() as channel:
        request = service_pb2.RepositoryModelLoadRequest(model_name="m")
        request.parameters["config"].string_param = CONFIG
        request.parameters["file:1/model.pt"].string_param = "text"
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        assert "should be bytes" in fails(INVALID, lambda: stub.RepositoryModelLoad(request))
        del request.parameters["config"]
        request.parameters["file:1/model.pt"].bytes_param = b"bytes"
        request.parameters["rollback"].bool_param = True
        assert "has no other one" in fails(INVALID, lambda: stub.RepositoryModelLoad(request))


def test_an_idle_model_comes_back_from_its_files(hearthd, place):
    server = hearthd({}, "--client-files-bytes=1MiB", "--idle-unload-seconds=0.2")
    with server.client() as client:
        client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(2)})
        eventually(lambda: "idle" in index_of(client)[("m", "1")][1])
        assert on_disk(place) == ["1/model.pt"]
        assert answer_of(client, "m") == [2]
        client.unload_model("m")
        assert on_disk(place) == []


def test_what_a_killed_daemon_left_is_removed_by_the_next(hearthd, place, tmp_path):
    for flags in ([], ["--cache-dir", tmp_path / "cache"]):
        where = tmp_path / "cache" if flags else place
        killed = hearthd({}, "--client-files-bytes=1MiB", *flags)
        with killed.client() as client:
            client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(2)})
        other = hearthd({}, "--client-files-bytes=1MiB", *flags)
        assert on_disk(where).count("1/model.pt") == 1
        killed.process.send_signal(signal.SIGKILL)
        killed.wait()
        killed.process.stdout.close()
        assert on_disk(where).count("1/model.pt") == 1
        # One that takes no files itself removes them, too, and leaves the folder of one that runs.
        hearthd({}, *flags)
        assert on_disk(where).count("1/model.pt") == 0
        with other.client() as client:
            client.load_model("m", config=CONFIG, files={"file:1/model.pt": constant(3)})
            assert answer_of(client, "m") == [3]
        assert other.stop() == 0
        assert list(where.glob("hearth_client_files.*")) == []


def test_the_command_line_sends_files(hearthd, tmp_path):
    server = hearthd({"m": models.constant(1)}, "--client-files-bytes=1MiB")
    (tmp_path / "two.pt").write_bytes(constant(2))
    (tmp_path / "config.pbtxt").write_text("version_policy { all {} }")
    load = ["load", server.address, "m", "--config", tmp_path / "config.pbtxt"]
    ran = hearth(*load, "--file", f"1/model.pt={tmp_path}/two.pt", "--file", f"2/model.pt={tmp_path}/two.pt")
    assert ran.returncode == 0, ran.stderr
    with server.client() as client:
        assert answer_of(client, "m", "1") == [2] and answer_of(client, "m", "2") == [2]
    for option, message in [
        (f"1/model.pt:{tmp_path}/two.pt", "--file should be VERSION/NAME=PATH; it is '1/model.pt:"),
        ("1/model.pt=/nowhere/model.pt", "/nowhere/model.pt: cannot be read"),
        (f"1/model.pt={tmp_path}", f"{tmp_path}: cannot be read"),
        (f"../model.pt={tmp_path}/two.pt", "it is 'file:../model.pt'"),
    ]:
        ran = hearth(*load, "--file", option)
        assert ran.returncode != 0 and message in ran.stderr
    put_model(server.repository, "m", models.constant(5), version=4)
    assert hearth("load", server.address, "m").returncode == 0
    with server.client() as client:
        assert answer_of(client, "m") == [5]
