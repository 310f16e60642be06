"""Sequences of requests, whose state the server keeps from one to the next, asked by Triton's own clients."""

import concurrent.futures
from typing import Tuple

import grpc
import numpy as np
import pytest
import torch
import tritonclient.grpc as grpcclient
import tritonclient.utils.shared_memory as shm
from torch import Tensor, nn

from integration_tests import rest
from integration_tests.daemon import eventually, put_model
from integration_tests.ensembles import ensemble, put_ensemble, step
from integration_tests.serving import LONG, Stream, bad, fails, floats, in_flight, index_of, outputs_of, tensor

INVALID = grpc.StatusCode.INVALID_ARGUMENT


class Sum(nn.Module):
    """Adds to what it kept; the controls are seen beside."""

    def forward(self, x: Tensor, start: Tensor, end: Tensor, ready: Tensor, id: Tensor, total: Tensor) -> Tuple[
        Tensor, Tensor, Tensor
    ]:
        total = total + x
        return total, torch.cat([start, end, ready, id.to(torch.float32)]), total


class InPlace(nn.Module):
    """Writes to the state that it is given, and raises where it is told to."""

    def forward(self, x: Tensor, total: Tensor) -> Tuple[Tensor, Tensor]:
        total += x
        if bool((x < 0).any()):
            raise ValueError("below 0")
        return total + 0, total


class Slow(nn.Module):
    def forward(self, x: Tensor, total: Tensor) -> Tuple[Tensor, Tensor]:
        for _ in range(int(x[0])):
            total = total + 0
        return total + 1, total + 1


class Rows(nn.Module):
    """How many rows its run has, beside the sum."""

    def forward(self, x: Tensor, total: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        total = total + x
        return total, torch.full([x.size(0), 1], x.size(0)), total


class Grow(nn.Module):
    def forward(self, x: Tensor, kept: Tensor) -> Tuple[Tensor, Tensor]:
        kept = torch.zeros(int(x[0]))
        return x, kept


class Named(nn.Module):
    def forward(self, x: Tensor, id: str) -> Tuple[str, Tensor]:
        return id + "!", x


class Weighted(nn.Module):
    def __init__(self, weight: float):
        super().__init__()
        self.weight = weight

    def forward(self, x: Tensor, total: Tensor) -> Tuple[Tensor, Tensor]:
        return total + self.weight * x, total + self.weight * x


def config(outputs=("y",), state="total", controls="", idle=60_000_000, kind="FP32", dims="1", more=""):
    declared = "".join(f'output {{ name: "{name}" data_type: TYPE_{kind} dims: [ {dims} ] }}\n' for name in outputs)
    kept = f'state {{ input_name: "{state}" output_name: "kept" data_type: TYPE_FP32 dims: [ {dims} ] }}' if state else ""
    return (
        f'input {{ name: "x" data_type: TYPE_FP32 dims: [ {dims} ] }}\n{declared}'
        f"sequence_batching {{ max_sequence_idle_microseconds: {idle} {controls} {kept} }}\n{more}"
    )


def control(name, kind, values):
    return f'control_input {{ name: "{name}" control {{ kind: CONTROL_SEQUENCE_{kind} {values} }} }}\n'


CONTROLS = (
    control("start", "START", "fp32_false_true: [ 0, 1 ]")
    + control("end", "END", "fp32_false_true: [ 0, 2 ]")
    + control("ready", "READY", "fp32_false_true: [ 0, 3 ]")
    + control("id", "CORRID", "data_type: TYPE_INT64")
)
SUM = (
    'input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }\n'
    'output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] }\noutput { name: "controls" data_type: TYPE_FP32 dims: [ 4 ] }\n'
    f"sequence_batching {{ max_sequence_idle_microseconds: 60000000 direct {{ }} {CONTROLS}"
    ' state { input_name: "total" output_name: "kept" data_type: TYPE_FP32 dims: [ 1 ]'
    ' initial_state { name: "zero" data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } } }\n'
)
BATCHED = (
    "max_batch_size: 8\n"
    'input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }\n'
    'output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] }\noutput { name: "rows" data_type: TYPE_INT64 dims: [ 1 ] }\n'
    "sequence_batching { oldest { max_candidate_sequences: 8 preferred_batch_size: 4"
    " max_queue_delay_microseconds: 3600000000 } max_sequence_idle_microseconds: 60000000"
    ' state { input_name: "total" output_name: "kept" data_type: TYPE_FP32 dims: [ 1 ] } }\n'
)
NAMED = (
    'input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }\noutput { name: "name" data_type: TYPE_STRING dims: [ 1 ] }\n'
    f"sequence_batching {{ {control('id', 'CORRID', 'data_type: TYPE_STRING')} }}\n"
)
IN_PLACE = config()
SMALL = config(state="kept_in", more='parameters { key: "memory_limit" value { string_value: "4000000" } }\n').replace(
    'input_name: "kept_in" output_name: "kept" data_type: TYPE_FP32 dims: [ 1 ]',
    'input_name: "kept_in" output_name: "kept" data_type: TYPE_FP32 dims: [ -1 ]',
)


@pytest.fixture(scope="module")
def server(hearthd):
    models = {
        "sum": (Sum(), SUM),
        "in_place": (InPlace(), IN_PLACE),
        "slow": (Slow(), config()),
        "brief": (InPlace(), config(idle=50_000)),
        "rows": (Rows(), BATCHED),
        "grow": (Grow(), SMALL),
        "named": (Named(), NAMED),
        "plain": (Weighted(1.0), None),
    }
    scripted = {name: (torch.jit.script(module), text) for name, (module, text) in models.items()}
    return hearthd(scripted, "--allow-client-shm")


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


def ask(client, model, value, sequence, start=False, end=False, **options):
    options = {"sequence_id": sequence, "sequence_start": start, "sequence_end": end, **options}
    return outputs_of(client.infer(model, [floats("x", value)], **options))


def total(client, model, value, sequence, **options):
    return ask(client, model, value, sequence, **options)["y"].tolist()[0]


def test_a_state_is_kept_from_request_to_request_and_each_sequence_has_its_own(server, client):
    assert total(client, "sum", 1, 1, start=True) == 1
    assert total(client, "sum", 10, 2, start=True) == 10
    assert server.metric("hearth_sequences") == 2
    assert total(client, "sum", 2, 1) == 3
    assert total(client, "sum", 20, 2) == 30
    assert total(client, "sum", 3, 1, end=True) == 6
    assert total(client, "sum", 30, 2, end=True) == 60
    assert server.metric("hearth_sequences") == 0
    # A sequence of the same name begins anew.
    assert total(client, "sum", 5, 1, start=True, end=True) == 5


def test_controls_are_inputs_of_the_model(client):
    assert ask(client, "sum", 1, 77, start=True)["controls"].tolist() == [1, 0, 3, 77]
    assert ask(client, "sum", 1, 77)["controls"].tolist() == [0, 0, 3, 77]
    assert ask(client, "sum", 1, 77, end=True)["controls"].tolist() == [0, 2, 3, 77]


def test_names_may_be_text(client):
    first = client.infer("named", [floats("x", 1)], sequence_id="a name", sequence_start=True, sequence_end=True)
    assert first.as_numpy("name").item() == b"a name!"
    message = fails(INVALID, lambda: ask(client, "named", 1, 7, start=True))
    assert "'id' data-type is 'UINT64', but model 'named' expects 'BYTES'" in message
    assert "data-type is 'BYTES'" in fails(INVALID, lambda: ask(client, "sum", 1, "seven", start=True))


def test_controls_and_states_are_not_the_clients(client):
    metadata = client.get_model_metadata("sum")
    assert [i.name for i in metadata.inputs] == ["x"]
    assert [o.name for o in metadata.outputs] == ["y", "controls"]
    assert set(ask(client, "sum", 1, 3, start=True, end=True)) == {"y", "controls"}
    for name in ("kept", "2"):
        asked = [grpcclient.InferRequestedOutput(name)]
        message = fails(INVALID, lambda: ask(client, "sum", 1, 3, start=True, end=True, outputs=asked))
        assert f"'{name}' is a state" in message
    given = [floats("x", 1), floats("total", 100)]
    message = fails(INVALID, lambda: client.infer("sum", given, sequence_id=3, sequence_start=True))
    assert "'total'" in message and "more than once" in message


def test_a_request_of_no_sequence_and_one_of_a_sequence_that_never_began_are_told_so(client):
    message = bad(client, "sum", floats("x", 1))
    assert message == "inference request to model 'sum' must specify a non-zero or non-empty correlation ID"
    message = fails(INVALID, lambda: ask(client, "sum", 1, 4711))
    assert message == (
        "inference request for sequence 4711 to model 'sum' must specify the START flag on the first request of the sequence"
    )
    assert ask(client, "sum", 1, 12, start=True, end=True)
    assert "START flag" in fails(INVALID, lambda: ask(client, "sum", 1, 12))
    assert "has no sequences" in fails(INVALID, lambda: ask(client, "plain", 1, 1, start=True))
    assert "128" in fails(INVALID, lambda: ask(client, "named", 1, "x" * 129, start=True))


def test_a_request_that_fails_leaves_the_state_as_it_was(client):
    assert total(client, "in_place", 1, 5, start=True) == 1
    assert "below 0" in fails(grpc.StatusCode.INTERNAL, lambda: ask(client, "in_place", -5, 5))
    assert "expects the shape" in fails(
        INVALID, lambda: client.infer("in_place", [floats("x", 1, 2)], sequence_id=5)
    )
    assert total(client, "in_place", 2, 5, end=True) == 3


def test_a_request_whose_answer_cannot_be_written_leaves_the_state_as_it_was(client):
    assert total(client, "sum", 1, 15, start=True) == 1
    region = shm.create_shared_memory_region("few", "/hearth_sequence_few", 4)
    try:
        client.register_system_shared_memory("few", "/hearth_sequence_few", 4)
        asked = grpcclient.InferRequestedOutput("controls")
        asked.set_shared_memory("few", 4)
        assert fails(INVALID, lambda: client.infer("sum", [floats("x", 5)], outputs=[asked], sequence_id=15))
    finally:
        client.unregister_system_shared_memory()
        shm.destroy_shared_memory_region(region)
    assert total(client, "sum", 2, 15, end=True) == 3


def test_streams_keep_the_order_of_a_sequence(server):
    with Stream(server) as stream:
        for value in range(1, 51):
            for sequence in (21, 22):
                stream.send(
                    "sum",
                    [floats("x", value * (sequence - 20))],
                    sequence_id=sequence,
                    sequence_start=value == 1,
                    sequence_end=value == 50,
                )
        for value in range(1, 51):
            for sequence in (21, 22):
                result, error = stream.next()
                assert error is None
                assert result.as_numpy("y").tolist() == [value * (value + 1) / 2 * (sequence - 20)]


def test_requests_of_one_sequence_run_one_at_a_time_and_in_order(server, client):
    with Stream(server) as stream:
        for value in (3_000_000, 0, 0):
            stream.send("slow", [floats("x", value)], sequence_id=9, sequence_start=value > 0)
        eventually(lambda: in_flight(server, "slow") == 1)
        # Another one goes on meanwhile.
        assert total(client, "slow", 0, 10, start=True, end=True) == 1
        for value in (1, 2, 3):
            result, error = stream.next()
            assert error is None and result.as_numpy("y").tolist() == [value]
    assert total(client, "slow", 0, 9, end=True) == 4


def test_a_request_that_waits_for_its_turn_can_be_cancelled(server, client):
    running = client.async_infer(
        "slow", [floats("x", LONG)], lambda result, error: None, sequence_id=11, sequence_start=True
    )
    eventually(lambda: in_flight(server, "slow") == 1)
    message = fails(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: ask(client, "slow", 0, 11, client_timeout=0.3))
    assert message
    running.cancel()
    eventually(lambda: in_flight(server, "slow") == 0)
    assert total(client, "slow", 0, 11, end=True) == 1


def test_what_comes_after_the_end_is_told_so(server):
    with Stream(server) as stream:
        stream.send("slow", [floats("x", 500_000)], sequence_id=13, sequence_start=True, sequence_end=True)
        stream.send("slow", [floats("x", 0)], sequence_id=13)
        result, error = stream.next()
        assert error is None
        result, error = stream.next()
        assert "sequence 13" in str(error)


def test_sequences_have_parts_in_each_others_batches(client):
    def first(sequence):
        given = [tensor("x", np.float32([[sequence]]))]
        return client.infer("rows", given, sequence_id=sequence, sequence_start=True)

    def second(sequence):
        return client.infer("rows", [tensor("x", np.float32([[1]]))], sequence_id=sequence, sequence_end=True)

    with concurrent.futures.ThreadPoolExecutor(4) as crowd:
        begun = [outputs_of(each) for each in crowd.map(first, range(31, 35))]
        ended = [outputs_of(each) for each in crowd.map(second, range(31, 35))]
    assert [answer["y"].tolist() for answer in begun] == [[[s]] for s in range(31, 35)]
    assert [answer["y"].tolist() for answer in ended] == [[[s + 1]] for s in range(31, 35)]
    assert all(answer["rows"].tolist() == [[4]] for answer in begun + ended)
    two = tensor("x", np.float32([[1], [2]]))
    message = fails(INVALID, lambda: client.infer("rows", [two], sequence_id=40, sequence_start=True))
    assert "must specify batch-size 1" in message


def test_an_idle_sequence_ends(client):
    assert total(client, "brief", 1, 6, start=True) == 1

    def has_ended():
        import time

        time.sleep(0.2)
        try:
            ask(client, "brief", 1, 6)
        except Exception as error:
            return "START flag" in str(error)
        return False

    eventually(has_ended)


def test_states_count_for_the_memory_of_the_model(client):
    assert client.infer("grow", [floats("x", 10)], sequence_id=1, sequence_start=True)
    message = fails(
        grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: client.infer("grow", [floats("x", 2_000_000)], sequence_id=1)
    )
    assert "4000000 bytes" in message
    assert client.infer("grow", [floats("x", 10)], sequence_id=1, sequence_end=True)


def test_rest_has_sequences_too(server):
    with rest.rest_client(server) as http:
        for value, expected in ((1, 1), (2, 3), (3, 6)):
            result = http.infer(
                "sum",
                [rest.floats("x", value)],
                sequence_id=51,
                sequence_start=value == 1,
                sequence_end=value == 3,
            )
            assert result.as_numpy("y").tolist() == [expected]
    body = {
        "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}],
        "parameters": {"sequence_id": 52, "sequence_start": True, "sequence_end": True},
    }
    assert rest.ask_json(server, "POST", "/v2/models/sum/infer", body)[0] == 200


def test_a_sequence_stays_with_the_version_that_it_began_with(hearthd):
    server = hearthd({"w": (torch.jit.script(Weighted(1.0)), config())})
    with server.client() as client:
        assert total(client, "w", 1, 1, start=True) == 1
        put_model(server.repository, "w", torch.jit.script(Weighted(10.0)), version=2)
        client.load_model("w")
        assert total(client, "w", 1, 2, start=True, end=True) == 10
        assert index_of(client)[("w", "1")][0] == "UNLOADING"
        result = client.infer("w", [floats("x", 1)], sequence_id=1)
        assert result.get_response().model_version == "1" and result.as_numpy("y").tolist() == [2]
        assert total(client, "w", 1, 1, end=True) == 3
        eventually(lambda: index_of(client)[("w", "1")][0] == "UNAVAILABLE")
        assert total(client, "w", 1, 1, start=True, end=True) == 10


def test_a_sequence_may_begin_with_what_a_file_holds(hearthd, tmp_path):
    kept = 'output_name: "kept" data_type: TYPE_FP32 dims: [ 1 ]'
    begin = ' initial_state { name: "begin" data_type: TYPE_FP32 dims: [ 1 ] data_file: "begin.bin" }'
    texts = {"in_place": config(), "rows": config(more="max_batch_size: 2\n")}
    for name, module in (("in_place", InPlace()), ("rows", Weighted(1.0))):
        text = texts[name].replace(kept, kept + begin)
        folder = put_model(tmp_path, name, torch.jit.script(module), config=text).parent
        (folder / "initial_state").mkdir()
        (folder / "initial_state/begin.bin").write_bytes(np.float32(100).tobytes())
    server = hearthd(tmp_path, "--model-control-mode", "poll", "--repository-poll-secs", "0.1")
    with server.client() as client:
        # The model writes to what it is given: each sequence has a copy.
        assert total(client, "in_place", 1, 1, start=True) == 101
        assert total(client, "in_place", 2, 2, start=True) == 102
        assert total(client, "in_place", 2, 1) == 103
        rows = client.infer("rows", [tensor("x", np.float32([[5]]))], sequence_id=1, sequence_start=True)
        assert outputs_of(rows)["y"].tolist() == [[105]]

        file = tmp_path / "in_place/initial_state/begin.bin"
        file.write_bytes(np.float32(1000).tobytes())
        eventually(lambda: total(client, "in_place", 1, 3, start=True, end=True) == 1001)
        # A sequence stays with the version that it began with.
        assert total(client, "in_place", 2, 1, end=True) == 105
        file.write_bytes(b"12345")
        message = (
            "the initial state of 'total': the file initial_state/begin.bin: a tensor of shape [1] and datatype FP32 "
            "expects 4 bytes, got 5"
        )
        eventually(lambda: message in index_of(client)[("in_place", "1")][1])
        assert total(client, "in_place", 1, 4, start=True, end=True) == 1001


def test_configurations_that_make_no_sense_are_refused(hearthd):
    server = hearthd({"plain": torch.jit.script(Weighted(1.0))}, "--exit-on-error=false")

    def why(text, code=INVALID):
        put_model(server.repository, "w", torch.jit.script(Weighted(1.0)), config=text)
        with server.client() as client:
            return fails(code, lambda: client.load_model("w"))

    assert "twice" in why(
        config(controls=control("a", "START", "fp32_false_true: [0, 1]") + control("b", "START", "fp32_false_true: [0, 1]"))
    )
    assert "of two values" in why(config(controls=control("a", "START", "fp32_false_true: [0]")))
    assert "CONTROL_SEQUENCE_CORRID has" in why(config(controls=control("a", "CORRID", "data_type: TYPE_FP32")))
    assert "is an input already" in why(config(state="x"))
    assert "declare its inputs" in why("sequence_batching { }")
    assert "3 inputs" in why(config(controls=control("a", "START", "fp32_false_true: [0, 1]")))
    put_model(server.repository, "w", torch.jit.script(Weighted(1.0)), config=config())
    put_ensemble(
        server.repository,
        "e",
        ensemble({"x": ("FP32", [1])}, {"y": ("FP32", [1])}, [step("w", {"x": "x"}, {"y": "y"})]),
    )
    with server.client() as client:
        client.load_model("w")
        assert "has sequences" in fails(INVALID, lambda: client.load_model("e"))
