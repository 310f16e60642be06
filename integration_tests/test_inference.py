"""Every datatype, every shape and nested values through hearthd."""

import grpc
import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2

from integration_tests.serving import fails, floats, outputs_of, tensor


NUMPY = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "INT8": np.int8,
    "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
}  # fmt: skip
TYPED = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents",
}  # fmt: skip


def some_of(dtype):
    if dtype == np.bool_:
        return np.array([[True, False, True], [False, False, True]])
    if np.issubdtype(dtype, np.floating):
        return np.array([[0.5, -2.0, 3.25], [np.inf, 1.0, -0.0]], dtype=dtype)
    info = np.iinfo(dtype)
    return np.array([[info.min, info.max, 1], [2, 3, 4]], dtype=dtype)


@pytest.mark.parametrize("datatype", NUMPY)
def test_every_datatype_comes_back_as_it_went(client, datatype):
    sent = some_of(NUMPY[datatype])
    result = client.infer("identity", [tensor("x", sent, datatype)])
    assert result.get_response().outputs[0].datatype == datatype
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), sent)


def test_bf16_comes_back_as_it_went(client):
    sent = np.array([1.5, -3.0, 1e30], dtype=ml_dtypes.bfloat16)
    result = client.infer("identity", [triton.InferInput("x", [3], "BF16").set_data_from_numpy(sent)])
    assert result.get_response().outputs[0].datatype == "BF16"
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), sent)


@pytest.mark.parametrize("datatype", TYPED)
def test_typed_contents_are_read(stub, datatype):
    sent = some_of(NUMPY[datatype])
    request = service_pb2.ModelInferRequest(model_name="identity")
    described = request.inputs.add(name="x", datatype=datatype, shape=sent.shape)
    getattr(described.contents, TYPED[datatype]).extend(sent.flatten().tolist())
    answer = stub.ModelInfer(request)
    assert answer.outputs[0].datatype == datatype
    assert answer.raw_output_contents[0] == sent.tobytes()


def test_typed_strings_are_read(stub):
    request = service_pb2.ModelInferRequest(model_name="nested")
    for name in ("images.0", "pair.1", "options.k"):
        described = request.inputs.add(name=name, datatype="FP32", shape=[1])
        described.contents.fp32_contents.append(1)
    request.inputs.add(name="pair.0", datatype="INT64", shape=[]).contents.int64_contents.append(1)
    request.inputs.add(name="names", datatype="BYTES", shape=[1]).contents.bytes_contents.append(b"a")
    request.outputs.add(name="4")
    assert stub.ModelInfer(request).raw_output_contents[0] == b"\x02\x00\x00\x00a!"


def test_fp16_has_no_typed_contents(stub):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype="FP16", shape=[1]).contents.fp32_contents.append(1)
    assert "raw_input_contents" in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request))


def test_a_typed_value_that_does_not_fit_its_datatype_is_refused(stub):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name="x", datatype="INT8", shape=[1]).contents.int_contents.append(300)
    assert "300" in fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: stub.ModelInfer(request))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7, 5), (600, 256), (2, 1024, 1024)])
def test_shapes_and_sizes_survive(client, shape):
    sent = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    got = client.infer("identity", [tensor("x", sent)]).as_numpy("OUTPUT__0")
    assert got.shape == sent.shape
    np.testing.assert_array_equal(got, sent)


def test_the_answer_carries_id_name_and_version(client):
    response = client.infer("identity", [floats("x", 1)], request_id="q 17").get_response()
    assert (response.id, response.model_name, response.model_version) == ("q 17", "identity", "1")


def test_nested_values_go_in_and_out_by_path(client):
    inputs = [
        floats("images.0", 1, 2), floats("images.1", 3), tensor("pair.0", np.array(10, dtype=np.int64)),
        floats("pair.1", 100), floats("options.a", 20), floats("options.b.c", 3),
        tensor("names", np.array([b"x", "y\u00e9".encode()], dtype=object)),
    ]  # fmt: skip
    got = outputs_of(client.infer("nested", inputs))
    assert list(got) == ["0.0.boxes", "0.0.sum", "0.1.boxes", "0.1.sum", "1.boxes", "1.label", "3", "4", "5"]
    np.testing.assert_array_equal(got["0.0.boxes"], [11, 12])
    np.testing.assert_array_equal(got["0.1.sum"], 3)
    np.testing.assert_array_equal(got["1.boxes"], [123])
    assert got["1.label"].shape == () and got["1.label"].item() == b"sum"
    np.testing.assert_array_equal(got["3"], [2, 1])
    assert got["4"].tolist() == [b"x!", "y\u00e9!".encode()]
    assert got["5"].shape == () and got["5"].item() is True


def test_only_requested_outputs_come_in_their_order(client):
    inputs = [
        floats("images.0", 1, 2), tensor("pair.0", np.array([10])), floats("pair.1", 100), floats("options.a", 20),
        tensor("names", np.array([b"x"], dtype=object)),
    ]  # fmt: skip
    wanted = [triton.InferRequestedOutput(name) for name in ("3", "0.0.boxes", "OUTPUT__1.boxes", "2")]
    got = outputs_of(client.infer("nested", inputs, outputs=wanted))
    assert list(got) == ["3", "0.0.boxes", "OUTPUT__1.boxes"]  # "2" is None
    unknown = [triton.InferRequestedOutput("0.7.boxes")]
    message = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("nested", inputs, outputs=unknown))
    assert "'0.7.boxes'" in message and "'0.0.boxes'" in message


def test_defaults_and_optionals_may_be_left_out_or_given(client):
    def ask(*more):
        return client.infer("scaled", [floats("x", 1, 2), *more]).as_numpy("OUTPUT__0").tolist()

    assert ask() == [2, 4]
    assert ask(tensor("times", np.array(3, dtype=np.int32))) == [8, 16]
    assert ask(floats("bias", 1, 1)) == [3, 5]
    assert ask(tensor("scale", np.array([0.5])), floats("bias", 1, 1)) == [1.5, 2]


def test_positional_names_are_accepted_without_a_configuration(client):
    result = client.infer("scaled", [floats("INPUT__0", 1, 2), tensor("INPUT__1", np.array(3.0))])
    assert result.as_numpy("OUTPUT__0").tolist() == [3, 6]


def test_a_model_of_one_dict_takes_its_keys_as_names(client):
    got = outputs_of(client.infer("dict", [floats("a", 1), floats("b.c", 2)]))
    assert {name: value.tolist() for name, value in got.items()} == {"a_doubled": [2], "b.c_doubled": [4]}
    assert list(outputs_of(client.infer("dict", [floats("d.a", 1)]))) == ["a_doubled"]


def test_a_configurations_names_and_batches_are_used(client):
    a, b = np.array([[1, 2, 3]], dtype=np.float32), np.array([[1, 1, 1]], dtype=np.float32)
    got = outputs_of(client.infer("two", [tensor("INPUT__1", b), tensor("INPUT__0", a)]))
    assert list(got) == ["OUTPUT__0", "OUTPUT__1"]
    np.testing.assert_array_equal(got["OUTPUT__1"], a - b)
