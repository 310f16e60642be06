"""What hearthd knows of a model's tensors: from the configuration, from the schema, from what it was called with."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import grpc
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.daemon import put_model
from integration_tests.serving import bad, fails, floats, in_flight, outputs_of, tensor


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


class Everything(nn.Module):
    """An argument of every form, of which nothing can go wrong inside of the model."""

    def forward(
        self,
        t: Tensor,
        i: int,
        f: float,
        b: bool,
        s: str,
        li: List[int],
        lf: List[float],
        lb: List[bool],
        ls: List[str],
        lt: List[Tensor],
        d: Dict[str, Tensor],
        p: Tuple[int, Tensor],
        ot: Optional[Tensor] = None,
        oi: Optional[int] = None,
        n: float = 1.0,
    ) -> Tensor:
        return torch.zeros(1)


DATATYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT64": np.uint64, "INT8": np.int8, "INT64": np.int64, "FP16": np.float16,
    "FP32": np.float32, "FP64": np.float64, "BYTES": np.object_,
}  # fmt: skip


def described(tensors):
    return [(t.name, t.datatype, list(t.shape)) for t in tensors]


def configured(tensors):
    return [(t.name, t.data_type, list(t.dims)) for t in tensors]


@pytest.fixture
def linear(hearthd):
    return hearthd({"linear": models.scripted(Linear())})


def test_before_the_first_request_what_is_unknown_is_assumed_and_marked(linear):
    with linear.client() as client:
        metadata = client.get_model_metadata("linear")
        assert described(metadata.inputs) == [("x", "FP32", [-1])]
        assert described(metadata.outputs) == [("OUTPUT__0", "FP32", [-1])]
        config = client.get_model_config("linear").config
        assert configured(config.input) == [("x", 11, [-1])]
        assumed = json.loads(config.parameters["hearth.assumed"].string_value)
        assert assumed == {"inputs": ["x"], "outputs": ["OUTPUT__0"]}
        assert "hearth.observed" not in config.parameters


def test_requests_teach_the_metadata_and_failures_do_not(linear):
    with linear.client() as client:
        fails(grpc.StatusCode.INTERNAL, lambda: client.infer("linear", [floats("x", 1, 2, 3)]))
        assert described(client.get_model_metadata("linear").inputs) == [("x", "FP32", [-1])]
        client.infer("linear", [tensor("x", np.zeros((2, 8), np.float32))])
        metadata = client.get_model_metadata("linear")
        assert described(metadata.inputs) == [("x", "FP32", [2, 8])]
        assert described(metadata.outputs) == [("OUTPUT__0", "FP32", [2, 4])]
        client.infer("linear", [tensor("INPUT__0", np.zeros((5, 8), np.float32))])
        config = client.get_model_config("linear").config
        assert configured(config.input) == [("x", 11, [-1, 8])]
        assert configured(config.output) == [("OUTPUT__0", 11, [-1, 4])]
        observed = json.loads(config.parameters["hearth.observed"].string_value)
        assert observed == {"inputs": ["x"], "outputs": ["OUTPUT__0"]}
        assert "hearth.assumed" not in config.parameters


def test_what_was_observed_outlives_a_reload_and_an_unload(linear):
    with linear.client() as client:
        client.infer("linear", [tensor("x", np.zeros((2, 8), np.float32))])
        client.load_model("linear")
        assert described(client.get_model_metadata("linear").inputs) == [("x", "FP32", [2, 8])]
        client.unload_model("linear")
        client.load_model("linear")
        assert described(client.get_model_metadata("linear").inputs) == [("x", "FP32", [2, 8])]
        put_model(linear.repository, "linear", models.scripted(models.Two()))
        client.load_model("linear")
        assert [name for name, *_ in described(client.get_model_metadata("linear").inputs)] == ["a", "b"]


def test_parts_have_the_names_that_requests_give_them(client):
    inputs = [
        floats("images.0", 1, 2), tensor("pair.0", np.array(10)), floats("pair.1", 100), floats("options.a", 20),
        tensor("names", np.array([b"x"], dtype=object)),
    ]  # fmt: skip
    answer = outputs_of(client.infer("nested", inputs))
    metadata = client.get_model_metadata("nested")
    assert described(metadata.inputs) == [
        ("images.0", "FP32", [2]), ("pair.0", "INT64", []), ("pair.1", "FP32", [1]), ("options.a", "FP32", [1]),
        ("names", "BYTES", [-1]),
    ]  # fmt: skip
    assert set(answer) <= {t.name for t in metadata.outputs}


def test_the_configuration_that_is_told_can_be_given_back(linear):
    """A model that is loaded with the configuration that its requests made answers as before."""
    x = tensor("x", np.ones((2, 8), np.float32))
    with linear.client() as client:
        before = client.infer("linear", [x]).as_numpy("OUTPUT__0")
        config = client.get_model_config("linear", as_json=True)["config"]
        client.load_model("linear", config=json.dumps(config))
        np.testing.assert_array_equal(client.infer("linear", [x]).as_numpy("OUTPUT__0"), before)
        assert "expects the shape [2,8]" in bad(client, "linear", tensor("x", np.ones((3, 8), np.float32)))


def test_a_requested_output_that_no_answer_has_is_refused_before_the_run(client):
    """`spin` would run for far longer than the test."""
    import tritonclient.grpc as triton

    inputs = [floats("x", 0), tensor("rounds", np.array(2_000_000_000))]
    outputs = [triton.InferRequestedOutput("OUTPUT__1")]
    message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("spin", inputs, outputs=outputs))
    assert "'OUTPUT__1' is not in the answer, which has 'OUTPUT__0'" in message


RIGHT = {
    "t": floats("t", 1), "i": tensor("i", np.array(1)), "f": tensor("f", np.array(1.0)),
    "b": tensor("b", np.array(True)), "s": tensor("s", np.array([b"x"], dtype=object)), "li": tensor("li", np.array([1])),
    "lf": tensor("lf", np.array([1.0])), "lb": tensor("lb", np.array([True])),
    "ls": tensor("ls", np.array([b"x"], dtype=object)), "lt": floats("lt.0", 1), "d": floats("d.k", 1),
    "p": tensor("p.0", np.array(1)), "p1": floats("p.1", 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(hearthd):
    with hearthd({"everything": models.scripted(Everything())}).client() as client:
        yield client


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (1, 2), (2, 2), (0, 3)])
@pytest.mark.parametrize("datatype", DATATYPES)
def test_no_datatype_or_shape_of_any_argument_is_the_servers_error(everything, datatype, shape):
    """Either the argument takes it or the client is told; INTERNAL or UNKNOWN would blame the server."""
    array = np.full(shape, b"1", dtype=object) if datatype == "BYTES" else np.ones(shape, DATATYPES[datatype])
    taken = 0
    names = ["t", "i", "f", "b", "s", "li", "lf", "lb", "ls", "lt", "lt.0", "d", "d.k", "p", "p.0", "ot", "oi", "n"]
    for name in names:
        given = [right for right in RIGHT.values() if right.name() != name and right.name().partition(".")[0] != name]
        try:
            everything.infer("everything", [*given, tensor(name, array, datatype)])
            taken += 1
        except Exception as error:
            assert error.status() == "StatusCode.INVALID_ARGUMENT", (name, error)
            assert f"'{name}" in error.message()
            assert "C++" not in error.message() and "Exception raised from" not in error.message()
    assert taken > 0 or datatype == "BYTES"


@pytest.mark.parametrize("missing", RIGHT)
def test_a_missing_argument_is_named(everything, missing):
    given = [right for key, right in RIGHT.items() if key != missing]
    name = RIGHT[missing].name()
    # A part's absence is the whole's where it was the only one.
    message = bad(everything, "everything", *given)
    assert "is missing" in message and f"'{name.partition('.')[0]}" in message


# scripts/setup puts it beside the Python that runs the tests.
PERF_ANALYZER = shutil.which("perf_analyzer", path=Path(sys.executable).parent)


@pytest.mark.skipif(PERF_ANALYZER is None, reason="perf_analyzer is not installed")
@pytest.mark.parametrize("shape", [["--shape", "x:2,8"], []], ids=["before any request", "after one"])
def test_perf_analyzer_measures_a_model_without_configuration(linear, shape, tmp_path):
    if not shape:
        with linear.client() as client:
            client.infer("linear", [tensor("x", np.zeros((2, 8), np.float32))])
    report = tmp_path / "report.csv"
    command = [PERF_ANALYZER, "-m", "linear", "-u", linear.address, "-i", "grpc", "--request-count", "50"]
    for _ in range(3):
        with subprocess.Popen([*command, "-f", report, *shape], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as measuring:
            try:
                output, _ = measuring.communicate(timeout=40)
                break
            except subprocess.TimeoutExpired:
                # It was seen to wait for nothing once, on a machine with much else to do: then nothing is under way here.
                waits_for_an_answer = in_flight(linear, "linear") > 0
                measuring.kill()
                assert not waits_for_an_answer
    else:
        pytest.fail("perf_analyzer did not end, three times")
    assert measuring.returncode == 0, output
    assert "Inferences/Second" in report.read_text()
    with linear.client() as client:
        assert client.get_inference_statistics("linear").model_stats[0].inference_stats.success.count >= 50
