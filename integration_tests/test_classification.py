"""The classification extension: the largest elements of an output as texts, with labels from the model's folder."""

import json

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton

from integration_tests import server_models as models
from integration_tests.daemon import put_model
from integration_tests.serving import fails, tensor

INVALID = grpc.StatusCode.INVALID_ARGUMENT
LABELS = "cat\ndog\n\nowl\n"
CONFIG = """
max_batch_size: %d
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "SCORES" data_type: TYPE_FP32 dims: [ -1 ] label_filename: "labels.txt" } ]
"""


@pytest.fixture(scope="module")
def server(hearthd, tmp_path_factory):
    repository = tmp_path_factory.mktemp("classifiers")
    identity = models.scripted(models.Identity())
    put_model(repository, "identity", identity)
    for name, batch in (("single", 0), ("batched", 8)):
        put_model(repository, name, identity, config=CONFIG % batch)
        (repository / name / "labels.txt").write_text(LABELS)
    return hearthd(repository)


def classify(client, model, array, classes, output="SCORES", name="INPUT__0"):
    wanted = triton.InferRequestedOutput(output, class_count=classes)
    answer = client.infer(model, [tensor(name, array)], outputs=[wanted])
    described = answer.get_output(output)
    assert described.datatype == "BYTES"
    texts = answer.as_numpy(output)
    assert list(texts.shape) == list(described.shape)
    return [[text.decode() for text in row] for row in texts.tolist()] if texts.ndim == 2 else [
        text.decode() for text in texts.tolist()]  # fmt: skip


def test_the_largest_come_first_with_value_index_and_label(client):
    scores = np.array([0.25, -1, 3.5, 0.5], dtype=np.float32)
    # A label that is empty is left out.
    assert classify(client, "single", scores, 3) == ["3.500000:2", "0.500000:3:owl", "0.250000:0:cat"]
    assert len(classify(client, "single", scores, 100)) == 4


def test_more_elements_than_labels(client):
    assert classify(client, "single", np.arange(6, dtype=np.float32), 3) == [
        "5.000000:5", "4.000000:4", "3.000000:3:owl"]  # fmt: skip


def test_each_entry_of_a_batch_by_itself(client):
    scores = np.array([[1, 2, 3], [9, 8, 7]], dtype=np.float32)
    assert classify(client, "batched", scores, 2) == [
        ["3.000000:2", "2.000000:1:dog"],
        ["9.000000:0:cat", "8.000000:1:dog"],
    ]


def test_without_batches_an_output_is_one_row(client):
    scores = np.array([[1, 2, 3], [9, 8, 7]], dtype=np.int64)
    assert classify(client, "identity", scores, 2, "OUTPUT__0", "x") == ["9:3", "8:4"]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_every_number_can_be_classified(client, dtype):
    scores = np.array([3, 7, 7, 1], dtype=dtype)
    digits = ".000000" if dtype.startswith("float") else ""
    # The earlier of two equal ones comes first.
    assert classify(client, "identity", scores, 3, "OUTPUT__0", "x") == [
        f"7{digits}:1", f"7{digits}:2", f"3{digits}:0"]  # fmt: skip


def test_nan_comes_last(client):
    scores = np.array([np.nan, 1, np.inf, np.nan, -np.inf], dtype=np.float32)
    indices = [text.split(":")[1] for text in classify(client, "identity", scores, 5, "OUTPUT__0", "x")]
    assert indices == ["2", "1", "4", "0", "3"]


def test_no_elements_have_no_classes(client):
    assert classify(client, "identity", np.zeros(0, np.float32), 5, "OUTPUT__0", "x") == []


def test_what_has_no_order_is_refused(client):
    message = fails(INVALID, lambda: classify(client, "identity", np.array([True]), 1, "OUTPUT__0", "x"))
    assert "unsupported type 'BOOL'" in message
    negative = fails(INVALID, lambda: classify(client, "identity", np.zeros(1, np.float32), -1, "OUTPUT__0", "x"))
    assert "'classification' is -1" in negative


def test_a_client_cannot_read_other_files_as_labels(client, tmp_path):
    for outside in ("/etc/passwd", "../single/labels.txt"):
        output = {"name": "SCORES", "data_type": "TYPE_FP32", "dims": [-1], "label_filename": outside}
        one = {"name": "INPUT__0", "data_type": "TYPE_FP32", "dims": [-1]}
        config = json.dumps({"input": [one], "output": [output]})
        message = fails(INVALID, lambda: client.load_model("identity", config=config))
        assert "not in the model's folder" in message
    missing = json.dumps({"output": [{"name": "OUTPUT__0", "data_type": "TYPE_FP32", "dims": [-1],
                                      "label_filename": "missing.txt"}]})  # fmt: skip
    assert "missing.txt" in fails(grpc.StatusCode.FAILED_PRECONDITION, lambda: client.load_model("identity", config=missing))
