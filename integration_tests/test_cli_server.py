"""The subcommands of `hearth` that ask a server: its repository, configurations, load, and how they reach it."""

import json
import shutil
import subprocess

import numpy as np
import pytest
import torch
from google.protobuf import text_format
from torch import Tensor, nn
from tritonclient.grpc import model_config_pb2

from integration_tests import ROOT, server_models as models
from integration_tests.certificates import Authority, token_line
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
        },
        "--exit-on-error=false",
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


@pytest.fixture(scope="module")
def guarded(hearthd, tmp_path_factory):
    """A daemon that wants certificates of its authority and tokens; (address, folder with the files)."""
    folder = tmp_path_factory.mktemp("guarded")
    authority = Authority(folder)
    certificate, key = authority.issue("server")
    authority.issue("client")
    for name in ("reader", "operator"):
        (folder / name).write_text(f"{name}-secret\n")
    roles = token_line("read", "reader", "reader-secret") + token_line("infer,read,admin", "operator", "operator-secret")
    (folder / "tokens").write_text(roles)
    server = hearthd(
        {"identity": models.scripted(models.Identity())},
        "--grpc-use-ssl", "--grpc-use-ssl-mutual", "--grpc-server-cert", certificate, "--grpc-server-key", key,
        "--grpc-root-cert", authority.certificate, "--token-file", folder / "tokens",
    )  # fmt: skip
    return server.address.replace("127.0.0.1", "localhost"), folder


def test_tokens_and_certificates_reach_the_server(guarded):
    address, folder = guarded
    own = ["--tls-cert", folder / "client.crt", "--tls-key", folder / "client.key"]
    trusts = ["--tls-ca", folder / "ca.crt"]
    reader, operator = ["--token-file", folder / "reader"], ["--token-file", folder / "operator"]
    assert rows(hearth("models", address, *trusts, *own, *reader)) == [["identity", "1", "READY"]]
    assert hearth("load", address, "identity", *trusts, *own, *operator).returncode == 0
    random = ["--random", "--shape", "x=2"]
    assert hearth("infer", address, "identity", *random, *trusts, *own, *operator).returncode == 0
    bench = ["--shape", "x=2", "--requests", "10", "--warm-up", "0"]
    assert hearth("bench", address, "identity", *bench, *trusts, *own, *operator).returncode == 0
    assert hearth("inspect", "--plans", address, "identity", *trusts, *own, *operator).returncode == 0
    for refused in (
        ["load", address, "identity", *trusts, *own, *reader],
        ["models", address, *trusts, *own],
        ["models", address, "--timeout", "3", *trusts, *reader],
        ["models", address, "--timeout", "3", *own, *reader],
        ["models", address, "--timeout", "3", "--tls", *reader],
        ["models", address, "--timeout", "3", *reader],
    ):
        done = hearth(*refused)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr.count("\n") == 1 and "secret" not in done.stderr


def test_files_of_tokens_and_certificates_that_are_no_good_are_told(tmp_path):
    (tmp_path / "words").write_text("two words")
    (tmp_path / "empty").write_text("")
    for arguments, says in [
        (["--token-file", tmp_path / "words"], "one token"),
        (["--token-file", tmp_path / "empty"], "empty"),
        (["--tls-ca", tmp_path / "none"], "none"),
        (["--tls-cert", tmp_path / "words"], "--tls-key"),
    ]:
        done = hearth("models", *arguments)
        assert done.returncode == 2 and says in done.stderr, done


def test_help_names_every_subcommand_that_the_page_has():
    page = (ROOT / "docs" / "command_line.md").read_text()
    for subcommand in ("models", "load", "rollback", "unload", "stats", "config", "bench", "completion"):
        assert f"hearth {subcommand}" in page or f"`{subcommand}`" in page
        assert hearth(subcommand, "--help").returncode == 0


def test_an_option_is_not_taken_for_the_address():
    done = hearth("inspect", "--plans", "--graph", "localhost:1", "identity")
    assert done.returncode == 2
    assert "ADDRESS and MODEL come right behind it, found --graph" in done.stderr
