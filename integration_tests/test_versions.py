"""Versions of a model: labels, how requests are split, how one version takes the place of another, and the way back."""

import json

import grpc
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.certificates import token_line
from integration_tests.command_line import hearth
from integration_tests.daemon import eventually, put_model
from integration_tests.native import NativeClient
from integration_tests.rest import ask_json, one_input, refused
from integration_tests.serving import answer_of, fails, floats, index_of, tensor


def config(labels="", split="", policy="all {}"):
    parameters = {"version_labels": labels, "traffic_split": split}
    lines = [f"version_policy {{ {policy} }}"]
    for key, text in parameters.items():
        if text:
            lines.append(f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}')
    return "\n".join(lines)


def serving(hearthd, tmp_path, config_text, *flags):
    """A server of a model `m` whose versions 1 and 2 answer their number."""
    for version in (1, 2):
        put_model(tmp_path, "m", models.constant(version), version, config_text)
    return hearthd(tmp_path, *flags)


def answered(client, version):
    statistics = client.get_inference_statistics("m", version, as_json=True)
    return int(statistics["model_stats"][0]["inference_stats"]["success"].get("count", 0))


def test_a_label_stands_where_a_version_does(hearthd, tmp_path, protocol):
    server = serving(hearthd, tmp_path, config("stable=1, canary=2"))
    with server.client() as client:
        assert answer_of(client, "m") == [2]
        assert answer_of(client, "m", "stable") == [1] and answer_of(client, "m", "canary") == [2]
        assert client.is_model_ready("m", "stable") and not client.is_model_ready("m", "other")
        assert client.get_model_metadata("m", "stable").versions == ["1"]
        parameters = client.get_model_config("m", "stable").config.parameters
        assert parameters["version_labels"].string_value == "stable=1, canary=2"
        assert [stats.version for stats in client.get_inference_statistics("m", "stable").model_stats] == ["1"]
        unknown = fails(grpc.StatusCode.NOT_FOUND, lambda: answer_of(client, "m", "other"))
        assert "model 'm' has no version label 'other' (its labels: canary, stable)" in unknown
    body = one_input("FP32", [1], [0])
    status, answer = ask_json(server, "POST", "/v2/models/m/versions/stable/infer", body)
    assert (status, answer["model_version"], answer["outputs"][0]["data"]) == (200, "1", [1])
    for path in ("", "/config", "/ready", "/stats"):
        assert ask_json(server, "GET", f"/v2/models/m/versions/canary{path}")[0] == 200
    assert server.get("/v2/models/m/versions/canary/ready", port="metrics_port")[0] == 200
    assert "no version label 'other'" in refused(server, "POST", "/v2/models/m/versions/other/infer", body, status=404)
    native = NativeClient(protocol, server.channel())
    request = native.request("m", "forward", torch.zeros(1))
    request.version = "stable"
    assert native.read_answer(native.method("Call")(request, timeout=60)).tolist() == [1]


def test_requests_that_name_no_version_are_split(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, config("stable=1, canary=2", "stable=75, canary=25"))
    with server.client() as client:
        answers = [answer_of(client, "m")[0] for _ in range(40)]
        assert (answers.count(1), answers.count(2)) == (30, 10)
        assert (answered(client, "1"), answered(client, "2")) == (30, 10)
        assert server.metric("nv_inference_request_success", model="m", version="2") == 10
        # Whoever asks about the model takes no turn.
        for _ in range(3):
            assert client.get_model_metadata("m") and client.is_model_ready("m") and client.get_model_config("m")
        assert [answer_of(client, "m")[0] for _ in range(4)].count(2) == 1


def test_the_part_of_a_version_that_does_not_serve_falls_to_the_others(hearthd, tmp_path):
    (tmp_path / "m/2").mkdir(parents=True)
    (tmp_path / "m/2/model.pt").write_bytes(b"no archive")
    put_model(tmp_path, "m", models.constant(1), 1, config("canary=2", "1=50, canary=50"))
    server = hearthd(tmp_path, "--exit-on-error=false")
    with server.client() as client:
        assert [answer_of(client, "m") for _ in range(3)] == 3 * [[1]]
        state, reason = index_of(client)[("m", "2")]
        assert state == "UNAVAILABLE" and "its 50 % of the requests go to the versions that serve" in reason
        told = fails(grpc.StatusCode.UNAVAILABLE, lambda: answer_of(client, "m", "canary"))
        assert "the label 'canary', version 2 of model 'm', failed to load" in told
        log = open(server.log.name).read()
        assert "m version 2 does not serve: its 50 % of the requests go to the versions that serve" in log
        put_model(tmp_path, "m", models.constant(2), 2)
        client.load_model("m")
        assert sorted(answer_of(client, "m")[0] for _ in range(4)) == [1, 1, 2, 2]


def test_routing_that_makes_no_sense_fails_the_load(hearthd, tmp_path):
    server = serving(hearthd, tmp_path, config())
    with server.client() as client:
        for labels, split, message in [
            ("canary=3", "", "the label 'canary' is version 3, but the version policy chooses 1, 2"),
            ("canary", "", "the parameter version_labels has the part 'canary'"),
            ("7=1", "", "has the label '7'"),
            ("", "1=50, 2=49", "percentages that add up to 99, not to 100"),
            ("", "canary=100", "model 'm' has no version label 'canary' (its labels: none)"),
        ]:
            parameters = {"version_labels": labels, "traffic_split": split}
            given = {key: {"string_value": text} for key, text in parameters.items() if text}
            wrong = json.dumps({"version_policy": {"all": {}}, "parameters": given})
            told = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda wrong=wrong: client.load_model("m", config=wrong))
            assert message in told
        assert answer_of(client, "m") == [2]


def test_with_polling_a_new_split_is_taken_up_and_nothing_loaded(hearthd, tmp_path):
    flags = ("--model-control-mode", "poll", "--repository-poll-secs", "0.2")
    server = serving(hearthd, tmp_path, config(split="1=100, 2=0"), *flags)
    with server.client() as client:
        assert answer_of(client, "m") == [1]
        new = tmp_path / "new"
        new.write_text(config(split="1=0, 2=100"))
        new.rename(tmp_path / "m/config.pbtxt")
        eventually(lambda: answer_of(client, "m") == [2])
    assert open(server.log.name).read().count("loading m version") == 2


def test_a_rollback_goes_back_to_what_served_before(hearthd):
    server = hearthd({"m": models.constant(1)})
    with server.client() as client:
        put_model(server.repository, "m", models.constant(2), version=2)
        assert "nothing of model 'm' served before" in hearth("rollback", server.address, "m").stderr
        client.load_model("m")
        assert answer_of(client, "m") == [2]
        assert hearth("rollback", server.address, "m").returncode == 0
        assert answer_of(client, "m") == [1]
        assert index_of(client)[("m", "1")] == ("READY", "rolled back from 2")
        put_model(server.repository, "m", models.constant(3), version=3)
        client.load_model("m")
        assert answer_of(client, "m") == [3] and index_of(client)[("m", "3")] == ("READY", "")
        assert hearth("rollback", server.address, "m", "--to", "2").returncode == 0
        assert answer_of(client, "m") == [2]
        missing = hearth("rollback", server.address, "m", "--to", "7")
        assert missing.returncode != 0 and "version 7 of 'm': it is not on disk, only 1, 2, 3" in missing.stderr
        assert answer_of(client, "m") == [2]


def test_rest_rolls_back_by_a_parameter_of_a_load(hearthd):
    server = hearthd({"m": models.constant(1)})
    put_model(server.repository, "m", models.constant(2), version=2)

    def load(body):
        return ask_json(server, "POST", "/v2/repository/models/m/load", body)

    with server.client() as client:
        assert load({})[0] == 200 and answer_of(client, "m") == [2]
        assert load({"parameters": {"rollback": True}})[0] == 200 and answer_of(client, "m") == [1]
        assert load({"parameters": {"rollback": 2}})[0] == 200 and answer_of(client, "m") == [2]
        for wrong in ({"rollback": False}, {"rollback": 0}, {"rollback": "1"}, {"rollback": True, "config": "{}"}):
            status, answer = load({"parameters": wrong})
            assert status == 400 and "'rollback'" in answer["error"]
        assert answer_of(client, "m") == [2]


def test_what_is_kept_serves_again_without_the_disk(hearthd):
    server = hearthd({"m": (models.constant(1), 'parameters { key: "keep_previous" value { string_value: "true" } }')})
    with server.client() as client:
        put_model(server.repository, "m", models.constant(2), version=1)
        client.load_model("m")
        assert answer_of(client, "m") == [2]
        assert hearth("rollback", server.address, "m").returncode == 0
        assert answer_of(client, "m") == [1]


def test_with_polling_a_rollback_lasts_until_the_files_change(hearthd):
    flags = ("--model-control-mode", "poll", "--repository-poll-secs", "0.2")
    server = hearthd({"m": models.constant(1)}, *flags)
    with server.client() as client:
        put_model(server.repository, "m", models.constant(2), version=2)
        eventually(lambda: answer_of(client, "m") == [2])
        assert hearth("rollback", server.address, "m").returncode == 0
        assert answer_of(client, "m") == [1]
        # Seen by some look after the rollback: what lies there is no reason to load.
        put_model(server.repository, "other", models.constant(5))
        eventually(lambda: ("other", "1") in index_of(client) and client.is_model_ready("other"))
        assert answer_of(client, "m") == [1]
        put_model(server.repository, "m", models.constant(3), version=3)
        eventually(lambda: answer_of(client, "m") == [3])


def test_only_an_administrator_rolls_back(hearthd, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(token_line("read", "reader", "a" * 20) + token_line("admin", "chief", "b" * 20))
    (tmp_path / "reader").write_text("a" * 20)
    (tmp_path / "chief").write_text("b" * 20)
    server = hearthd({"m": models.constant(1)}, "--token-file", tokens)
    refusal = hearth("rollback", server.address, "m", "--token-file", tmp_path / "reader").stderr
    assert "admin" in refusal
    told = hearth("rollback", server.address, "m", "--token-file", tmp_path / "chief").stderr
    assert "nothing of model 'm' served before" in told


class Masked(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return x * mask

    @torch.jit.export
    def extra(self, x: Tensor) -> Tensor:
        return x


def test_a_new_version_that_takes_something_else_says_so(hearthd):
    server = hearthd({"m": models.constant(1)})
    with server.client() as client:
        put_model(server.repository, "m", models.scripted(Masked()), version=2)
        client.load_model("m")
        state, reason = index_of(client)[("m", "2")]
        assert state == "READY" and reason == (
            "differs from version 1 before it: method 'forward' was (Tensor x) -> Tensor, "
            "is (Tensor x, Tensor mask) -> Tensor; method 'extra' is new: (Tensor x) -> Tensor"
        )
        assert f"m version 2 {reason}" in open(server.log.name).read()
        client.load_model("m")
        assert index_of(client)[("m", "2")] == ("READY", "")


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        if index.numel() != 3:
            raise ValueError("not three")
        return torch.relu(self.linear(x))[index]


class Counting(Linear):
    """Keeps what would tell of a call that nobody made."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        self.calls += 1
        return self.linear(x)[index] * 0 + self.calls


def ask_linear(client, rows):
    index = tensor("index", np.zeros(3, dtype=np.int64))
    return client.infer("m", [floats("x", *[[1.0] * 4] * rows), index]).as_numpy("OUTPUT__0")


@pytest.mark.parametrize("warm", ["on", "off"])
def test_a_new_version_has_run_what_the_old_one_is_called_with(hearthd, warm):
    server = hearthd({"m": models.scripted(Linear())}, "--warm-live-shapes", warm, "--operator-threads", "1")
    with server.client() as client:
        for rows in (1, 1, 1, 5, 5, 5):
            ask_linear(client, rows)
        put_model(server.repository, "m", models.scripted(Linear()), version=2)
        client.load_model("m")
        calls = sum(server.metric("hearth_tier_calls_total", version="2", tier=str(tier)) for tier in range(3))
        live = "2 shapes of live calls run" in open(server.log.name).read()
        # Both shapes to ask for plans of their sizes, with these, and where libraries prepare what they first use.
        assert (calls, live) == ((6, True) if warm == "on" else (0, False))
        # Nobody asked: no statistics count it.
        assert answered(client, "2") == 0
        assert server.metric("hearth_warm_up_seconds", version="2") > 0
        assert ask_linear(client, 2).shape == (3, 4)


def test_a_version_that_keeps_state_is_not_run_with_what_nobody_sent(hearthd):
    server = hearthd({"m": models.scripted(Counting())})
    with server.client() as client:
        for _ in range(5):
            ask_linear(client, 3)
        put_model(server.repository, "m", models.scripted(Counting()), version=2)
        client.load_model("m")
        assert ask_linear(client, 3)[0][0] == 1
