"""Shadow traffic: a new version answers copies of live requests before it is swapped in, or is refused."""

import threading
from typing import Dict, List, Tuple

import grpc
import numpy as np
import pytest
import torch
import tritonclient.grpc as triton
from torch import Tensor, nn

from integration_tests import rest
from integration_tests import server_models as models
from integration_tests.command_line import hearth
from integration_tests.daemon import put_model
from integration_tests.native import NativeClient
from integration_tests.serving import fails, floats, index_of, outputs_of, tensor

FAILED = grpc.StatusCode.FAILED_PRECONDITION


class Scale(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class ScaleInPlace(Scale):
    def forward(self, x: Tensor) -> Tensor:
        return x.mul_(self.factor)


class RaisesAboveTen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.max() > 10):
            raise ValueError("too large a number")
        return x * 2


class Renamed(nn.Module):
    def forward(self, y: Tensor) -> Tensor:
        return y * 2


class Labels(nn.Module):
    """The number is its answer's index."""

    def __init__(self, shift: int):
        super().__init__()
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        return x.to(torch.int64) + self.shift


class Random(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(1)


def config(requests=20, seconds=60, **more):
    parameters = {"shadow_requests": requests, "shadow_seconds": seconds, **more}
    return "\n".join(
        f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}' for key, value in parameters.items()
    )


class Traffic:
    """Clients of model `m`, whose every answer must be the request's `of`; what they saw otherwise is in `wrong`."""

    def __init__(self, server, of=lambda x: 2 * x, ways=("grpc", "rest")):
        self.wrong = []
        self.answered = 0
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(server, of, way)) for way in ways]
        for thread in self.threads:
            thread.start()

    def ask(self, server, of, way):
        made = rest.rest_client(server) if way == "rest" else server.client()
        value = 0
        with made as client:
            while not self.ended.is_set():
                # Large enough to lie in the message's own memory.
                x = np.full(2048, value % 20, np.float32)
                given = (rest.tensor if way == "rest" else tensor)("x", x)
                try:
                    got = client.infer("m", [given]).as_numpy("OUTPUT__0")
                except Exception as error:
                    self.wrong.append(error)
                    continue
                if not np.array_equal(got, of(x)):
                    self.wrong.append((x[0], got[0]))
                self.answered += 1
                value += 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def serving(hearthd, tmp_path, model, text):
    put_model(tmp_path, "m", models.scripted(model), 1, text)
    return hearthd(tmp_path)


@pytest.mark.parametrize("old", [Scale(2), ScaleInPlace(2)])
def test_an_equal_version_is_swapped_in(hearthd, tmp_path, old):
    server = serving(hearthd, tmp_path, old, config())
    put_model(tmp_path, "m", models.scripted(ScaleInPlace(2)), 2)
    with Traffic(server) as traffic, server.client() as client:
        client.load_model("m")
        state, note = index_of(client)["m", "2"]
        assert state == "READY"
        assert note == "compared with version 1 on 20 live requests: largest difference 0"
        assert client.infer("m", [floats("x", 3)]).get_response().model_version == "2"
    assert not traffic.wrong
    assert server.metric("hearth_shadow_requests_total", model="m", version="2", result="SAME") == 20
    # What was answered beside the clients is none of the version's requests.
    assert "m version 2 is compared with version 1 on 20 live requests" in open(server.log.name).read()


def test_a_version_that_answers_otherwise_is_refused_and_the_old_one_serves_on(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), config())
    put_model(tmp_path, "m", models.scripted(Scale(2.1)), 2)
    with Traffic(server) as traffic, server.client() as client:
        told = fails(FAILED, lambda: client.load_model("m"))
        assert "version 2 of 'm': compared with version 1 on 20 live requests: largest difference" in told
        assert "answered otherwise (tolerance 0.001)" in told and "the first: 'OUTPUT__0'[" in told
        assert index_of(client)["m", "1"][0] == "READY"
        state, reason = index_of(client)["m", "2"]
        assert state == "UNAVAILABLE" and "answered otherwise" in reason
        assert client.infer("m", [floats("x", 3)]).get_response().model_version == "1"
        different = server.metric("hearth_shadow_requests_total", model="m", version="2", result="DIFFERENT")
        # Of zeros there is no difference.
        assert 0 < different <= 20
        assert server.metric("hearth_model_ready", model="m", version="2") == 0
        # As far apart as is tolerated now; the difference is relative.
        put_model(tmp_path, "m", models.scripted(Scale(2.1)), 2, config(shadow_tolerance=2))
        client.load_model("m")
        assert index_of(client)["m", "2"][0] == "READY"
        # The clients' answers change with the swap, and no earlier.
        traffic.ended.set()
    assert all(isinstance(wrong, tuple) and abs(wrong[1] - 2.1 * wrong[0]) < 1e-4 for wrong in traffic.wrong)


def test_differences_may_be_reported_alone(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), config(5, shadow_differences="report"))
    put_model(tmp_path, "m", models.scripted(Scale(3)), 2)
    with Traffic(server), server.client() as client:
        client.load_model("m")
        state, note = index_of(client)["m", "2"]
        assert state == "READY" and "answered otherwise" in note
    done = hearth("models", server.address)
    assert "answered otherwise" in done.stdout


@pytest.mark.parametrize("new, says", [
    (RaisesAboveTen(), "the first: it failed: "),
    (Renamed(), "the first: it failed: "),
    (Labels(0), "the first: 'OUTPUT__0' is INT64, expected FP32"),
])  # fmt: skip
def test_requests_that_a_version_cannot_answer_are_differences(hearthd, tmp_path, new, says):
    server = serving(hearthd, tmp_path, Scale(2), config(40))
    put_model(tmp_path, "m", models.scripted(new), 2)
    with Traffic(server) as traffic, server.client() as client:
        told = fails(FAILED, lambda: client.load_model("m"))
        assert says in told
        assert client.infer("m", [floats("x", 3)]).get_response().model_version == "1"
    assert not traffic.wrong


def test_whole_numbers_are_the_same_or_not(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Labels(0), config(5, shadow_tolerance="1000"))
    put_model(tmp_path, "m", models.scripted(Labels(1)), 2)
    with Traffic(server, of=lambda x: x.astype(np.int64)) as traffic, server.client() as client:
        assert "'OUTPUT__0'[0] is " in fails(FAILED, lambda: client.load_model("m"))
    assert not traffic.wrong


def test_classes_are_compared_by_the_output_that_they_were_made_of(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), config(3))
    put_model(tmp_path, "m", models.scripted(Scale(2)), 2)
    ended = threading.Event()

    def ask():
        with server.client() as client:
            while not ended.is_set():
                asked = [triton.InferRequestedOutput("OUTPUT__0", class_count=1)]
                answer = client.infer("m", [floats("x", 1, 5, 3)], outputs=asked).as_numpy("OUTPUT__0")
                assert answer.tolist() == [b"10.000000:1"]

    asking = threading.Thread(target=ask)
    asking.start()
    with server.client() as client:
        client.load_model("m")
        assert "compared with version 1 on 3 live requests" in index_of(client)["m", "2"][1]
    ended.set()
    asking.join()


def test_without_requests_it_is_swapped_in_and_that_is_said(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), config(5, seconds=0.1))
    put_model(tmp_path, "m", models.scripted(Scale(3)), 2)
    with server.client() as client:
        client.load_model("m")
        assert index_of(client)["m", "2"] == (
            "READY", "not compared with version 1: no request came within 0.1 s")  # fmt: skip
        assert outputs_of(client.infer("m", [floats("x", 1)]))["OUTPUT__0"].tolist() == [3]


def test_what_does_not_follow_from_the_request_is_not_compared(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Random(), config(5))
    put_model(tmp_path, "m", models.scripted(Random()), 2)
    with Traffic(server), server.client() as client:
        client.load_model("m")
        state, note = index_of(client)["m", "2"]
        assert state == "READY" and note.startswith(
            "not compared with version 1: forward of version 1 draws random numbers")  # fmt: skip


def test_parameters_that_make_no_sense_fail_the_load(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), None)
    with server.client() as client:
        for text, says in [
            (config("-1"), "the parameter shadow_requests is '-1'; it must be a whole number from 0 to 1000000"),
            (config(1, seconds="5000"), "the parameter shadow_seconds is '5000'; it must be a number from 0 to 3600"),
            (config(1, shadow_tolerance="nan"), "the parameter shadow_tolerance is 'nan'"),
            (config(1, shadow_differences="log"), "it must be 'refuse' or 'report'"),
        ]:
            put_model(tmp_path, "m", models.scripted(Scale(2)), 1, text)
            assert says in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.load_model("m"))


def test_a_rollback_and_a_change_of_these_parameters_alone_are_compared_with_nothing(hearthd, tmp_path, protocol):
    put_model(tmp_path, "m", models.scripted(Scale(2)), 1, config(5, seconds=0.1))
    server = hearthd(tmp_path, "--model-control-mode", "all")
    put_model(tmp_path, "m", models.scripted(Scale(3)), 2)
    with Traffic(server, of=lambda x: x * 0, ways=()), server.client() as client:
        client.load_model("m")
        native = NativeClient(protocol, server.channel())
        assert native.call("m", "forward", torch.ones(1)).tolist() == [3]
        assert hearth("rollback", server.address, "m").returncode == 0
        assert outputs_of(client.infer("m", [floats("x", 1)]))["OUTPUT__0"].tolist() == [2]
        assert "rolled back" in index_of(client)["m", "1"][1]


class Methods(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def parts(self, xs: List[Tensor], names: Dict[str, int]) -> Tuple[List[Tensor], Dict[str, float]]:
        factors: Dict[str, float] = {}
        for name, number in names.items():
            factors[name] = number * self.factor
        return [x * self.factor for x in xs], factors


def test_calls_of_the_native_service_are_compared_too(hearthd, tmp_path, protocol):
    server = serving(hearthd, tmp_path, Methods(2.0), config(5))
    ended = threading.Event()

    def ask():
        native = NativeClient(protocol, server.channel())
        while not ended.is_set():
            native.call("m", "parts", [torch.ones(2048), torch.ones(1)], {"a": 3})

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with server.client() as client:
            put_model(tmp_path, "m", models.scripted(Methods(2.5)), 2)
            told = fails(FAILED, lambda: client.load_model("m"))
            assert "5 answered otherwise" in told and "the first: 'result.0.0'[0] is 2.5, expected 2" in told
            put_model(tmp_path, "m", models.scripted(Methods(2.0)), 2)
            client.load_model("m")
            assert index_of(client)["m", "2"][1] == (
                "compared with version 1 on 5 live requests: largest difference 0")  # fmt: skip
    finally:
        ended.set()
        asking.join()


def test_one_load_may_ask_for_it(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, Scale(2), None)
    put_model(tmp_path, "m", models.scripted(Scale(3)), 2)
    asked = ["--shadow-requests", 3, "--shadow-seconds", 60]
    with Traffic(server) as traffic, server.client() as client:
        done = hearth("load", server.address, "m", *asked)
        assert done.returncode == 2 and "compared with version 1 on 3 live requests" in done.stderr
        assert not traffic.wrong
        done = hearth("load", server.address, "m", *asked, "--shadow-differences", "report")
        assert done.returncode == 0 and "answered otherwise" in index_of(client)["m", "2"][1]
        # The next load does not.
        client.load_model("m")
        assert "compared" not in index_of(client)["m", "2"][1]
        body = {"parameters": {"shadow_requests": "2", "shadow_tolerance": "5"}}
        assert rest.ask(server, "POST", "/v2/repository/models/m/load", body)[0] == 200
        assert "compared with version 2 on 2 live requests" in index_of(client)["m", "2"][1]
    for parameters, says in [
        ({"shadow_requests": "x"}, "the parameter shadow_requests is 'x'"),
        ({"shadow_requests": True}, "the parameter 'shadow_requests' of a load is no string"),
        ({"shadow_requests": "1", "rollback": True}, "a load with the parameter 'rollback' has no other one"),
    ]:
        assert says in rest.refused(server, "POST", "/v2/repository/models/m/load", {"parameters": parameters})
