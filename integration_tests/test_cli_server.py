"""The subcommands of `hearth` that ask a server: its repository, configurations, load, and how they reach it."""

import json
import shutil
import subprocess
from concurrent import futures

import grpc
import numpy as np
import pytest
import torch
from google.protobuf import text_format
from torch import Tensor, nn
from tritonclient.grpc import model_config_pb2, service_pb2

from integration_tests import ROOT, server_models as models
from integration_tests.command_line import hearth
from integration_tests.serving import LONG, floats, tensor


class Detector(nn.Module):
    """Names in and out that only calls show."""

    def forward(self, images: list[Tensor], threshold: float = 0.5) -> dict[str, Tensor]:
        return {"boxes": images[0] * threshold, "count": torch.tensor(len(images))}


@pytest.fixture(scope="module")
def served(hearthd):
    return hearthd(
        {
            "identity": models.scripted(models.Identity()),
            "detector": models.scripted(Detector()),
            "two": (models.scripted(models.Two()), models.TWO_CONFIG),
            "raises": models.scripted(models.Raises()),
            "broken": (models.scripted(models.Identity()), "nonsense"),
            "spin": models.scripted(models.Spin()),
        }
    )


def rows(done):
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def config_of(text):
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def test_models_lists_names_versions_and_states(served):
    listed = {row[0]: row[1:] for row in rows(hearth("models", served.address))}
    assert listed["identity"] == ["1", "READY"]
    assert listed["broken"][:2] == ["-", "UNAVAILABLE"] and "config.pbtxt" in " ".join(listed["broken"])
    assert "broken" not in {row[0] for row in rows(hearth("models", served.address, "--ready"))}
    as_json = json.loads(hearth("models", served.address, "--json").stdout)["models"]
    assert {"name": "two", "version": "1", "state": "READY", "reason": ""} in as_json


def test_load_and_unload_have_their_effect_and_say_what_went_wrong(served, tmp_path):
    assert hearth("unload", served.address, "two").returncode == 0
    assert ["two", "1", "UNAVAILABLE", "unloaded"] in rows(hearth("models", served.address))
    config = tmp_path / "config.pbtxt"
    config.write_text('max_batch_size: 2 input { name: "a" data_type: TYPE_FP32 dims: 3 }')
    assert hearth("load", served.address, "two", "--config", config).returncode == 0
    assert config_of(hearth("config", served.address, "two").stdout).max_batch_size == 2
    assert hearth("load", served.address, "two").returncode == 0
    assert config_of(hearth("config", served.address, "two").stdout).max_batch_size == 4
    for arguments, says in [
        (["load", served.address, "broken"], "config.pbtxt"),
        (["load", served.address, "nothing"], "nothing"),
        (["unload", served.address, "nothing"], "nothing"),
        (["load", served.address, "two", "--config", tmp_path / "none"], "none"),
        (["load", served.address], "MODEL is required"),
        (["config", served.address, "nothing"], "nothing"),
        (["config"], "--archive"),
        (["stats", served.address, "nothing"], "nothing"),
        (["bench", served.address, "nothing"], "nothing"),
        (["models", "localhost:1", "--timeout", "5"], "connect"),
    ]:
        done = hearth(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_stats_shows_what_was_answered(served):
    with served.client() as client:
        for _ in range(3):
            client.infer("identity", [floats("x", 1, 2)])
    (head, row) = rows(hearth("stats", served.address, "identity"))
    assert head[:4] == ["MODEL", "VERSION", "OK", "FAILED"]
    assert (row[0], row[1], row[3]) == ("identity", "1", "0") and int(row[2]) >= 3
    (model,) = json.loads(hearth("stats", served.address, "identity", "--json").stdout)["models"]
    assert model["success"]["count"] == int(row[2]) and model["compute_infer"]["mean_ms"] > 0
    assert len(rows(hearth("stats", served.address))) > 2


def test_config_of_a_servers_model_says_what_it_is_sure_of(served):
    before = hearth("config", served.address, "detector").stdout
    assert "# Nothing is known of: images.*" in before
    with served.client() as client:
        client.infer("detector", [tensor("images.0", np.zeros((3, 4), np.float32))])
    text = hearth("config", served.address, "detector").stdout
    assert "# As calls had them: images.0, boxes, count." in text
    config = config_of(text)
    assert not config.parameters
    assert [(i.name, i.data_type, list(i.dims), i.optional) for i in config.input] == [
        ("images.0", 11, [3, 4], False), ("threshold", 12, [], True),
    ]  # fmt: skip
    assert [(o.name, o.data_type, list(o.dims)) for o in config.output] == [("boxes", 11, [3, 4]), ("count", 9, [])]
    as_json = json.loads(hearth("config", served.address, "detector", "--json").stdout)
    assert as_json["input"][0]["data_type"] == "TYPE_FP32"


def test_config_of_an_archive_comes_from_runs_and_serves(served, hearthd, tmp_path):
    torch.jit.save(models.scripted(Detector()), tmp_path / "model.pt")
    torch.save(([torch.zeros(3, 4)], 1.0), tmp_path / "a.pt")
    torch.save({"args": ([torch.zeros(5, 4)],), "kwargs": {"threshold": 0.5}}, tmp_path / "b.pt")
    done = hearth("config", "--archive", tmp_path / "model.pt", "--inputs", tmp_path / "a.pt", "--inputs", tmp_path / "b.pt")
    assert done.returncode == 0, done.stderr
    config = config_of(done.stdout)
    assert [(i.name, i.data_type, list(i.dims), i.optional) for i in config.input] == [
        ("images.0", 11, [-1, 4], False), ("threshold", 12, [], True),
    ]  # fmt: skip
    assert [(o.name, list(o.dims)) for o in config.output] == [("boxes", [-1, 4]), ("count", [])]
    server = hearthd({"detector": (tmp_path / "model.pt", done.stdout)})
    with server.client() as client:
        answer = client.infer("detector", [tensor("images.0", np.ones((2, 4), np.float32))])
        assert answer.as_numpy("count").tolist() == 1


def test_bench_counts_what_the_server_answered(served):
    with served.client() as client:
        def answered():
            return client.get_inference_statistics("two").model_stats[0].inference_stats.success.count

        for arguments, words in [
            (["--clients", "4", "--requests", "100"], {"clients": 4}),
            (["--rate", "500", "--seconds", "0.5"], {"rate": 500}),
            (["--connections", "3", "--clients", "6", "--requests", "60"], {"clients": 6}),
        ]:
            before = answered()
            done = hearth("bench", served.address, "two", "--warm-up", "0", "--json", *arguments)
            assert done.returncode == 0, done.stderr
            result = json.loads(done.stdout)
            assert words.items() <= result.items()
            assert result["failed"] == 0 and result["errors"] == {}
            # One more to see that the request is right.
            assert result["answered"] == answered() - before - 1
            latency = result["latency_ms"]
            assert 0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"]
            assert result["answered_per_second"] == pytest.approx(result["answered"] / result["seconds"])
        assert result["answered"] >= 60
    text = hearth("bench", served.address, "two", "--seconds", "0.2", "--warm-up", "0").stdout
    assert "latency p99" in text and "answered" in text


def test_bench_sends_what_it_is_given(served, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    arguments = ["--requests", "5", "--warm-up", "0", "--json"]
    done = hearth("bench", served.address, "identity", "--input", f"x={tmp_path}/x.npy", *arguments)
    assert json.loads(done.stdout)["answered"] >= 5
    refused = hearth("bench", served.address, "spin", *arguments)
    assert refused.returncode == 2 and "--shape x=" in refused.stderr
    raised = hearth("bench", served.address, "raises", "--shape", "x=2", *arguments)
    assert raised.returncode == 1 and "one element is enough" in raised.stderr


def test_bench_tells_of_errors(served, tmp_path):
    """A deadline that no run meets: the first request ends the command."""
    np.save(tmp_path / "rounds.npy", np.array(LONG))
    np.save(tmp_path / "x.npy", np.zeros(1, np.float32))
    done = hearth(
        "bench", served.address, "spin", "--input", f"x={tmp_path}/x.npy", "--input", f"rounds={tmp_path}/rounds.npy",
        "--timeout", "0.5",
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""


def completions(shell):
    done = hearth("completion", shell)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes_subcommands_and_options(tmp_path):
    script = completions("bash") + """
words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _hearth; echo "${COMPREPLY[*]}"; }
words hearth in
words hearth bench --cl
words hearth load --tls
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    subcommands, clients, tls = done.stdout.splitlines()
    assert subcommands.split() == ["inspect", "infer"]
    assert clients == "--clients"
    assert tls.split() == ["--tls", "--tls-ca", "--tls-cert", "--tls-key"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_all_that_help_lists(shell):
    script = completions(shell)
    help_text = hearth("--help").stdout.partition("Subcommands:")[2]
    subcommands = [line.split()[0] for line in help_text.splitlines() if line.startswith("  ") and line.strip()]
    assert {"inspect", "bench", "completion"} <= set(subcommands)
    for subcommand in subcommands:
        assert subcommand in script
    assert ("--rate" if shell != "fish" else "-l rate") in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def repository_behind(credentials, seen):
    """A server of one method, which notes the metadata of its calls."""

    def index(request, context):
        seen.append(dict(context.invocation_metadata()))
        return service_pb2.RepositoryIndexResponse()

    handler = grpc.unary_unary_rpc_method_handler(
        index,
        request_deserializer=service_pb2.RepositoryIndexRequest.FromString,
        response_serializer=service_pb2.RepositoryIndexResponse.SerializeToString,
    )
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("inference.GRPCInferenceService", {"RepositoryIndex": handler})]
    )
    port = server.add_secure_port("localhost:0", credentials) if credentials else server.add_insecure_port("localhost:0")
    server.start()
    return server, f"localhost:{port}"


def test_tokens_and_tls_reach_the_server(tmp_path):
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    key, certificate = (tmp_path / "key.pem").read_bytes(), (tmp_path / "cert.pem").read_bytes()
    (tmp_path / "token").write_text("secret-7\n")
    seen = []
    server, address = repository_behind(grpc.ssl_server_credentials([(key, certificate)], certificate, True), seen)
    own = ["--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"]
    trusts = ["--tls-ca", tmp_path / "cert.pem"]
    done = hearth("models", address, *trusts, *own, "--token-file", tmp_path / "token")
    assert done.returncode == 0, done.stderr
    assert seen[-1]["authorization"] == "Bearer secret-7"
    calls = len(seen)
    for arguments in (trusts, own, ["--tls"], [], [*trusts, "--tls-cert", tmp_path / "cert.pem"]):
        assert hearth("models", address, "--timeout", "3", *arguments).returncode == 2
    assert len(seen) == calls
    server.stop(None)

    server, address = repository_behind(None, seen)
    assert hearth("models", address).returncode == 0
    assert "authorization" not in seen[-1]
    assert hearth("models", address, "--token-file", tmp_path / "token").returncode == 0
    assert seen[-1]["authorization"] == "Bearer secret-7"
    (tmp_path / "token").write_text("two words")
    refused = hearth("models", address, "--token-file", tmp_path / "token")
    assert refused.returncode == 2 and "one token" in refused.stderr
    server.stop(None)


def test_help_names_every_subcommand_that_the_page_has():
    page = (ROOT / "docs" / "command_line.md").read_text()
    for subcommand in ("models", "load", "unload", "stats", "config", "bench", "completion"):
        assert f"hearth {subcommand}" in page or f"`{subcommand}`" in page
        assert hearth(subcommand, "--help").returncode == 0
