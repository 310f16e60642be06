"""The configurations of deploy/haproxy and deploy/envoy, with the programs themselves and daemons behind them: what goes
where, and what becomes of requests when a daemon is killed, ends, or comes."""

import re
import shutil
import subprocess

import pytest
import tritonclient.grpc as triton_grpc

from integration_tests import ROOT, rest, swaps
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, eventually, free_port
from integration_tests.serving import answer_of, floats
from integration_tests.test_faults import trying_again

DEPLOY = ROOT / "deploy"
HOSTS = ("hearth-0", "hearth-1")


class Proxy:
    """One of the two, in front of daemons that listen at `ports`: {host: {the port that the file names: the real one}}. Has
    what clients look for in a daemon."""

    def __init__(self, program, folder, ports):
        self.ready = {"http_port": free_port(), "grpc_port": free_port()}
        own = {"8000": self.ready["http_port"], "8001": self.ready["grpc_port"]}

        def to_daemon(found):
            host, port = found[2], found[3]
            check = f" port {ports[host]['8002']}" if program == "haproxy" else ""
            return f"{found[1]}{ports[host][port]}{check}"

        if program == "haproxy":
            text = (DEPLOY / "haproxy/haproxy.cfg").read_text()
            text = re.sub(r"bind :(\d+)", lambda found: f"bind 127.0.0.1:{own[found[1]]}", text)
            text, count = re.subn(r"( server hearth-\d )(hearth-\d):(\d+)", to_daemon, text)
            text = re.sub(r"( server hearth-\d )(\d+)", r"\g<1>127.0.0.1:\2", text)
            command = [shutil.which("haproxy", path="/usr/sbin:/usr/bin"), "-db", "-f", folder / "haproxy.cfg"]
        else:
            text = (DEPLOY / "envoy/envoy.yaml").read_text()
            text = re.sub(r"(0.0.0.0, port_value: )(\d+)", lambda found: f"127.0.0.1, port_value: {own[found[2]]}", text)
            text, count = re.subn(r"(address: )(hearth-\d), port_value: (\d+)", to_daemon, text)
            text = re.sub(r"(address: )(\d+) }", r"\g<1>127.0.0.1, port_value: \2 }", text)
            command = [ROOT / ".venv/bin/envoy", "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "error"]
            command += ["-c", folder / "envoy.yaml"]
        assert count == 8
        command[-1].write_text(text)
        with open(folder / f"{program}.log", "w") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)

    def client(self):
        return triton_grpc.InferenceServerClient(f"127.0.0.1:{self.ready['grpc_port']}")

    def answers(self, model, headers=None):
        """What a model answers over gRPC and over REST."""
        with self.client() as client:
            over_grpc = client.infer(model, [floats("x", 0)], headers=headers, client_timeout=20)
        body = rest.one_input("FP32", [1], [0])
        status, _, text = rest.ask(self, "POST", f"/v2/models/{model}/infer", body)
        assert status == 200, text
        return over_grpc.as_numpy("OUTPUT__0").tolist(), rest.json.loads(text)["outputs"][0]["data"]


@pytest.fixture(params=["haproxy", "envoy"])
def deployed(request, tmp_path):
    """start(host, models, *flags) starts the daemon of that host; `proxy` is in front of them."""

    class Deployed:
        ports = {host: {port: free_port() for port in ("8000", "8001", "8002")} for host in HOSTS}
        daemons = {}

        def start(self, host, repository, *flags):
            own = self.ports[host]
            self.daemons[host] = Hearthd(
                repository,
                "--http-port",
                own["8000"],
                "--grpc-port",
                own["8001"],
                "--metrics-port",
                own["8002"],
                *flags,
                log=log,
            )
            return self.daemons[host]

    made = Deployed()
    with open(tmp_path / "hearthd.log", "w") as log:
        made.proxy = Proxy(request.param, tmp_path, made.ports)
        try:
            yield made
        finally:
            made.proxy.process.terminate()
            made.proxy.process.wait()
            for daemon in made.daemons.values():
                daemon.stop()


def is_served(proxy, model, headers=None):
    try:
        return proxy.answers(model, headers) is not None
    except (swaps.InferenceServerException, OSError, AssertionError):
        return False


def test_kills_and_ends_of_daemons_lose_nothing_for_clients_that_try_again(deployed, tmp_path):
    deployments = swaps.deploy(tmp_path / "models")
    for host in HOSTS:
        deployed.start(host, tmp_path / "models")
    with swaps.Crowd(
        deployed.proxy, deployments, 8, [trying_again(kind) for kind in (swaps.OverGrpc, swaps.OverRest)]
    ) as crowd:
        for number in range(4):
            crowd.wait_for_more(20)
            host = HOSTS[number % 2]
            if number < 2:
                deployed.daemons[host].process.kill()
            deployed.daemons[host].stop()
            crowd.wait_for_more(20)
            deployed.start(host, tmp_path / "models")
    assert crowd.problems == []


def test_a_models_requests_go_where_it_is_ready(deployed, tmp_path):
    for number, host in enumerate(HOSTS):
        folder = tmp_path / host
        swaps.put_model(folder, "m", models.constant(number))
        if number == 1:
            swaps.put_model(folder, "large", models.constant(7))
        deployed.start(host, folder)
    eventually(lambda: is_served(deployed.proxy, "m") and is_served(deployed.proxy, "large", {"model": "large"}))
    assert [deployed.proxy.answers("large", {"model": "large"}) for _ in range(10)] == [([7], [7])] * 10
    seen = set()

    def both_have_answered():
        for answer in deployed.proxy.answers("m"):
            seen.update(answer)
        return seen == {0, 1}

    eventually(both_have_answered)
    # Where it is unloaded, nothing goes.
    deployed.daemons[HOSTS[1]].client().unload_model("large")
    eventually(lambda: not is_served(deployed.proxy, "large", {"model": "large"}))
    assert is_served(deployed.proxy, "m")


def test_a_replica_that_comes_later_is_warm(deployed, tmp_path):
    swaps.put_model(tmp_path / "models", "m", models.constant(3))
    first = deployed.start(HOSTS[0], tmp_path / "models", "--cache-dir", tmp_path / "cache")

    def plans(daemon):
        return daemon.metric("hearth_plans", model="m", tier="1")

    eventually(lambda: is_served(deployed.proxy, "m") and plans(first))
    # What is known is kept once a minute, and when a version goes.
    with first.client() as client:
        client.load_model("m")
    second = deployed.start(HOSTS[1], tmp_path / "models", "--cache-dir", tmp_path / "cache")
    assert plans(second) == 1 and second.metric("nv_inference_request_success", model="m") == 0
    eventually(lambda: is_served(deployed.proxy, "m") and second.metric("nv_inference_request_success", model="m") > 0)
    with second.client() as client:
        assert answer_of(client, "m") == [3]
