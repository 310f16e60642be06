"""Settings that clients may see and change while the server runs; what its metadata says it offers; loads' parameters."""

import asyncio
import json
from pathlib import Path

import grpc
import pytest
import tritonclient.grpc.aio as triton_aio

from integration_tests import server_models as models
from integration_tests.serving import fails, floats

INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED
DEFAULTS = {
    "log_file": {"string_param": ""},
    "log_info": {"bool_param": True},
    "log_warning": {"bool_param": True},
    "log_error": {"bool_param": True},
    "log_verbose_level": {"uint32_param": 0},
    "log_format": {"string_param": "default"},
}


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd({"identity": models.scripted(models.Identity())})


def log_settings(client, **changes):
    settings = client.update_log_settings(changes) if changes else client.get_log_settings()
    values = {}
    for name, value in settings.settings.items():
        kind = value.WhichOneof("parameter_choice")
        values[name] = {kind: getattr(value, kind)}
    return values


# ---- The log ----


def lines_of_a_load(server, client):
    """The levels of what the log says of one load."""
    log = Path(server.log.name)
    before = len(log.read_text().splitlines())
    client.load_model("identity")
    with pytest.raises(Exception):
        client.load_model("identity", config='{"platform": "other"}')
    client.load_model("identity")
    return {line.split()[1] for line in log.read_text().splitlines()[before:] if line[:2] == "20"}


def test_levels_of_the_log_can_be_changed(server, client):
    assert log_settings(client) == DEFAULTS
    assert {"I", "E"} <= lines_of_a_load(server, client)
    changed = log_settings(client, log_info=False)
    assert changed == DEFAULTS | {"log_info": {"bool_param": False}}
    assert lines_of_a_load(server, client) == {"E"}
    log_settings(client, log_warning=False, log_error=False)
    assert lines_of_a_load(server, client) == set()
    verbose = log_settings(client, log_info=True, log_warning=True, log_error=True, log_verbose_level=2)
    assert verbose == DEFAULTS | {"log_verbose_level": {"uint32_param": 2}}
    assert lines_of_a_load(server, client) & {"D", "T"}
    assert log_settings(client, log_verbose_level=0) == DEFAULTS
    assert log_settings(client) == DEFAULTS


def test_wrong_settings_of_the_log_change_nothing(client):
    def refused(code=INVALID, **changes):
        return fails(code, lambda: client.update_log_settings(changes))

    message = refused(UNIMPLEMENTED, log_file="/tmp/hearth_test_log", log_info=False)
    assert message == "log file location can not be updated through network protocol"
    assert "'default'" in refused(UNIMPLEMENTED, log_format="ISO8601")
    assert "there is no log setting 'log_colour'" in refused(log_colour=True)
    assert "includes the graver ones" in refused(log_warning=False)
    assert "log_verbose_level needs log_info" in refused(log_info=False, log_verbose_level=1)
    assert log_settings(client) == DEFAULTS
    assert log_settings(client, log_format="default") == DEFAULTS


def test_settings_through_asyncio(server):
    async def ask():
        async with triton_aio.InferenceServerClient(server.address) as asking:
            log = await asking.get_log_settings(as_json=True)
            return log, await asking.get_trace_settings(as_json=True)

    log, trace = asyncio.run(ask())
    assert log["settings"]["log_info"] == {"bool_param": True}
    assert trace["settings"]["trace_level"] == {"value": ["OFF"]}


# ---- Traces ----


def test_traces_are_told_to_be_off_and_stay_so(client):
    def trace(settings):
        return {name: list(value.value) for name, value in settings.settings.items()}

    defaults = {"trace_level": ["OFF"], "trace_rate": ["1000"], "trace_count": ["-1"], "log_frequency": ["0"],
                "trace_file": [""], "trace_mode": ["triton"]}  # fmt: skip
    assert trace(client.get_trace_settings()) == defaults
    assert trace(client.get_trace_settings(model_name="identity")) == defaults
    unchanged = client.update_trace_settings(settings={"trace_level": ["OFF"], "trace_rate": None, "trace_count": "-1"})
    assert trace(unchanged) == defaults
    message = fails(UNIMPLEMENTED, lambda: client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]}))
    assert "does not trace" in message and "TIMESTAMPS" in message
    fails(UNIMPLEMENTED, lambda: client.update_trace_settings(settings={"trace_rate": "1"}))
    assert "'colour'" in fails(INVALID, lambda: client.update_trace_settings(settings={"colour": "1"}))
    fails(grpc.StatusCode.NOT_FOUND, lambda: client.get_trace_settings(model_name="nobody"))


# ---- What the server says of itself, and loads ----


def test_the_extensions_are_those_that_work(client):
    assert sorted(client.get_server_metadata().extensions) == [
        "binary_tensor_data",
        "classification",
        "logging",
        "model_configuration",
        "model_repository",
        "model_repository(unload_dependents)",
        "schedule_policy",
        "sequence",
        "statistics",
    ]


def test_parameters_of_loads_and_unloads(client):
    config = json.dumps({"max_batch_size": 3, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [1]}],
                         "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1]}]})  # fmt: skip
    client.load_model("identity", config=config)
    assert client.get_model_config("identity").config.max_batch_size == 3
    client.unload_model("identity", unload_dependents=True)
    client.load_model("identity")
    assert client.get_model_config("identity").config.max_batch_size == 0
    assert client.infer("identity", [floats("x", 1)]).as_numpy("OUTPUT__0").tolist() == [1]
