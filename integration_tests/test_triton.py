"""hearthd beside Triton Inference Server: the same requests, of models of the same configuration. What Triton answers was
recorded from a server of its own (triton/record.py)."""

import json

import pytest

from integration_tests.triton import answers, configurations, models, requests
from integration_tests.triton.record import RECORDED

TRITON = json.loads(RECORDED.read_text())
# Which server it is; what Triton adds to configurations, and to answers of ensembles.
OF_ITS_OWN = {"platform", "backend", "runtime", "default_model_filename", "version", "extensions"}
OF_ITS_OWN |= {"instance_group", "optimization", "dynamic_batching"}
OF_ITS_OWN |= {"sequence_id", "sequence_start", "sequence_end"}
# What is refused here and not there, and why.
REFUSED_HERE = {
    "infer of nothing at all": "Triton takes an empty body for a tensor without elements",
    "infer of a header that is no number": "Triton takes the JSON for the contents of a tensor",
    "infer of more contents than inputs": "Triton leaves out what it has no input for",
    "infer of a number that is too large": "Triton takes another number",
    "infer of a byte that is too large": "Triton takes another number",
    "unload of a model that is not there": "a name that is wrong should be seen",
}
LOADED_HERE = {
    "an input without dims": "a tensor without dimensions",
    "an output without dims": "a tensor without dimensions",
    "an instance on a GPU that is not there": "a server without GPUs has its models on processors",
    "no latest version": "0 is what protobuf has for no number, of which 1 is the default",
}
NOT_LOADED_HERE = {
    "an input twice": "what is said twice may be said differently",
    "an output twice": "what is said twice may be said differently",
    "a negative number of instances": "there is none",
    "a warm-up of another input": "Triton's Python backend asks the model nothing before it serves",
    "a warm-up of a file that is not there": "Triton's Python backend asks the model nothing before it serves",
    "answers in pieces": "not offered",
    "an output of the batch": "not offered",
}
# Both refuse it; Triton when the model has answered.
REFUSED_BEFORE_THE_RUN = {"infer of half precision whose answer is asked for as JSON"}
# By name: the status or code, and why it is not Triton's.
OTHER_REFUSALS = {
    "http": {
        "statistics of a model that is not there": (404, "as of all other look-ups"),
        "a region of a key that is not there": (404, "nothing is wrong with the server"),
        "infer that fails": (500, "it is the model's fault, in both"),
    },
    "sequences": {},
    "explicit": {
        "load of a model that is not there": (404, "nothing is wrong with the server"),
        "infer after it was unloaded": (503, "another server may have it"),
        "metadata after it was unloaded": (503, "another server may have it"),
    },
    "grpc": {
        "model ready, a version that is no number": ("OK", "a label may come to be, so it is not ready yet"),
        "model metadata of a version that is no number": ("NOT_FOUND", "it may be a label"),
        "infer of a version that is no number": ("NOT_FOUND", "it may be a label"),
        "statistics of a model that is not there": ("NOT_FOUND", "as of all other look-ups"),
        "statistics of a version that is not there": ("NOT_FOUND", "as of all other look-ups"),
        "trace settings of a model that is not there": ("NOT_FOUND", "as of all other look-ups"),
        "a region of a key that is not there": ("NOT_FOUND", "nothing is wrong with the server"),
    },
}


@pytest.fixture(scope="module")
def answered(hearthd, tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    models.write(repository, in_python=False)
    server = hearthd(repository, "--model-control-mode", "none", "--allow-client-shm", "--id", "triton")
    made = answers.of(*(server.ready[f"{port}_port"] for port in ("http", "grpc", "metrics")))
    server = hearthd(repository, "--model-control-mode", "explicit")
    return {**made, "explicit": answers.of_life(server.ready["http_port"])}


@pytest.fixture(scope="module")
def loads(hearthd, tmp_path_factory):
    repository = tmp_path_factory.mktemp("configurations")
    configurations.write(repository, in_python=False)
    return answers.of_loads(hearthd(repository, "--model-control-mode", "explicit").ready["http_port"])


def comparable(value):
    if isinstance(value, dict):
        parts = {key: comparable(part) for key, part in value.items() if key not in OF_ITS_OWN}
        # The reason why a model is as it is may also be told of one that is ready.
        return {key: part for key, part in parts.items() if part != {} and (key, value.get("state")) != ("reason", "READY")}
    return [comparable(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", TRITON["http"] | TRITON["explicit"] | TRITON["sequences"])
def test_over_http_it_answers_and_refuses_what_triton_does(answered, name):
    for group in ("http", "sequences", "explicit"):
        if name not in TRITON[group]:
            continue
        expected, got = TRITON[group][name], answered[group][name]
        if name in REFUSED_HERE:
            assert expected["status"] == 200 and 400 <= got["status"] < 500
        elif expected["status"] == 200:
            assert got["status"] == 200, got
            assert comparable(got["body"]) == comparable(expected["body"])
            assert got.get("contents") == expected.get("contents")
        else:
            # Triton answers 500 to what it cannot read.
            status, _ = OTHER_REFUSALS[group].get(name, (400 if expected["status"] == 500 else expected["status"], ""))
            assert got["status"] == status, got
            assert list(got["body"]) == ["error"]


@pytest.mark.parametrize("name", TRITON["grpc"])
def test_over_grpc_it_answers_and_refuses_what_triton_does(answered, name):
    expected, got = TRITON["grpc"][name], answered["grpc"][name]
    if name in REFUSED_HERE:
        assert expected["code"] == "OK" and got["code"] == "INVALID_ARGUMENT"
    elif expected["code"] == "OK":
        assert comparable(got) == comparable(expected)
    else:
        code, _ = OTHER_REFUSALS["grpc"].get(name, (expected["code"], ""))
        assert got["code"] == code
        assert code == "OK" or got["message"]


@pytest.mark.parametrize("name", TRITON["streams"])
def test_streams_answer_and_refuse_what_triton_does(answered, name):
    def by_id(stream):
        # Of one that is refused the id alone; what else there is depends on how far it came.
        made = {}
        for answer in stream["answers"]:
            response = answer.get("infer_response", {})
            made[response.get("id", "")] = "refused" if "error_message" in answer else comparable(response)
        return stream["code"], made

    assert by_id(answered["streams"][name]) == by_id(TRITON["streams"][name])


@pytest.mark.parametrize("model", TRITON["counted"])
def test_it_counts_what_triton_counts(answered, model):
    expected, got = TRITON["counted"][model], answered["counted"][model]
    refused_here = [
        request
        for request in requests.INFERENCES + requests.OTHER_MODELS + requests.CALLS
        if request.name in {*REFUSED_HERE, *REFUSED_BEFORE_THE_RUN} and model == requests.version_asked(request)
    ]
    # Requests that are refused are failures here; Triton counts those that a model was asked.
    assert got["fail"] >= expected["fail"] + len(refused_here)
    for name in ("success", "inference_count", "queue", "compute_input", "compute_infer", "compute_output"):
        assert got[name] == expected[name] - len(refused_here), name
    assert got["cache_hit"] == got["cache_miss"] == 0
    # Triton counts the runs that fail, too.
    if expected["fail"] == 0:
        assert got["execution_count"] == expected["execution_count"] - len(refused_here)
        assert got["batches"].keys() == expected["batches"].keys()


def test_metrics_of_models_have_tritons_names_types_and_labels(answered):
    assert answered["metrics"] == TRITON["metrics"]


@pytest.mark.parametrize("name", TRITON["loads"])
def test_it_loads_the_configurations_that_triton_loads(loads, name):
    expected, got = TRITON["loads"][name], loads[name]
    is_loaded = name in LOADED_HERE or (expected["status"] == 200 and name not in NOT_LOADED_HERE)
    assert (got["status"] == 200) == is_loaded, got["error"]
    assert got["ready"] == is_loaded
    assert is_loaded == (got["error"] is None)


def test_what_is_told_to_differ_from_triton_does():
    assert LOADED_HERE.keys() | NOT_LOADED_HERE.keys() <= TRITON["loads"].keys()
    assert all(TRITON["loads"][name]["status"] != 200 for name in LOADED_HERE)
    assert all(TRITON["loads"][name]["status"] == 200 for name in NOT_LOADED_HERE)
