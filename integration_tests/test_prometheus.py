"""Prometheus itself scrapes hearthd with the rules of deploy/prometheus: what it counts, what it knows of each metric, which
alerts it raises. promtool reads the page too."""

import json
import re
import subprocess
import urllib.parse
import urllib.request

import grpc
import pytest
import yaml

from integration_tests import ROOT
from integration_tests import server_models as models
from integration_tests.daemon import eventually, free_port
from integration_tests.serving import fails, floats
from integration_tests.test_deployment_files import prometheus_program
from integration_tests.test_metrics import documented

RULES = ROOT / "deploy/prometheus/hearth.rules.yml"
SECONDS = 60  # that what happens within two scrapes may take on a busy machine
ANSWERED, REFUSED = 7, 2  # requests that the fixture sends

# What promtool says against names that are Triton's. `_count` is no suffix for what is no histogram; `_us` is an
# abbreviated unit.
NO_TOTAL = 'counter metrics should have "_total" suffix'
COUNT = 'non-histogram and non-summary metrics should not have "_count" suffix'
UNIT = "metric names should not contain abbreviated units"
TRITON_NAMES = {
    "nv_cache_hit_duration_per_model": {NO_TOTAL},
    "nv_cache_miss_duration_per_model": {NO_TOTAL},
    "nv_cache_num_hits_per_model": {NO_TOTAL},
    "nv_cache_num_misses_per_model": {NO_TOTAL},
    "nv_inference_compute_infer_duration_us": {NO_TOTAL, UNIT},
    "nv_inference_compute_input_duration_us": {NO_TOTAL, UNIT},
    "nv_inference_compute_output_duration_us": {NO_TOTAL, UNIT},
    "nv_inference_count": {NO_TOTAL, COUNT},
    "nv_inference_exec_count": {NO_TOTAL, COUNT},
    "nv_inference_pending_request_count": {COUNT},
    "nv_inference_queue_duration_us": {NO_TOTAL, UNIT},
    "nv_inference_request_duration_us": {NO_TOTAL, UNIT},
    "nv_inference_request_failure": {NO_TOTAL},
    "nv_inference_request_success": {NO_TOTAL},
}


def instance_of(server):
    return f"127.0.0.1:{server.ready['metrics_port']}"


class Prometheus:
    """A Prometheus that scrapes daemons every second and evaluates the rules as often."""

    def __init__(self, folder, servers):
        every_second = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        job = {"job_name": "hearthd", "static_configs": [{"targets": [instance_of(server) for server in servers]}]}
        configuration = {"global": every_second, "rule_files": [str(RULES)], "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        self.address = f"127.0.0.1:{free_port()}"
        self.log = folder / "log"
        command = [prometheus_program("prometheus"), f"--config.file={folder}/prometheus.yml"]
        command += [f"--storage.tsdb.path={folder}/storage", f"--web.listen-address={self.address}"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=30):
                return True
        except OSError:
            return False

    def get(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            told = json.load(answer)
        assert told["status"] == "success" and not told.get("warnings"), told
        return told["data"]

    def values(self, query):
        """What an instant query gives, without the series' labels."""
        return [float(one["value"][1]) for one in self.get("query", query=query)["result"]]

    def wait_for(self, query, *values):
        try:
            eventually(lambda: self.values(query) == list(values), SECONDS)
        except AssertionError:
            errors = [target["lastError"] for target in self.get("targets")["activeTargets"]]
            pytest.fail(f"{query} is {self.values(query)}, not {list(values)}; the last scrapes' errors are {errors}")

    def target(self, server):
        targets = {target["labels"]["instance"]: target for target in self.get("targets")["activeTargets"]}
        return targets[instance_of(server)]

    def rules(self):
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def states(self, alert, server):
        """The states of an alert for one daemon: pending, or firing."""
        return [
            one["state"]
            for one in self.get("alerts")["alerts"]
            if one["labels"]["alertname"] == alert and one["labels"]["instance"] == instance_of(server)
        ]

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def servers(hearthd):
    """Two daemons: one that has answered and refused requests, and one for a test to stop."""
    # Traces are counted where there is a collector, be it there or not.
    first, second = (
        hearthd({"identity": models.scripted(models.Identity())}, "--trace-endpoint", "localhost:1") for _ in range(2)
    )
    with first.client() as client:
        for _ in range(ANSWERED):
            client.infer("identity", [floats("x", 1)])
        for _ in range(REFUSED):
            fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: client.infer("identity", [floats("no_input", 1)]))
    return first, second


@pytest.fixture(scope="module")
def server(servers):
    return servers[0]


@pytest.fixture(scope="module")
def prometheus(servers, tmp_path_factory):
    started = Prometheus(tmp_path_factory.mktemp("prometheus"), servers)
    try:
        eventually(started.answers, SECONDS)
        yield started
    finally:
        started.stop()


def test_prometheus_scrapes_and_counts_the_requests_that_were_sent(prometheus, server):
    of_server = f'instance="{instance_of(server)}"'
    prometheus.wait_for(f"up{{{of_server}}}", 1)
    prometheus.wait_for(f'nv_inference_request_success{{{of_server},model="identity",version="1"}}', ANSWERED)
    prometheus.wait_for(f'nv_inference_request_failure{{{of_server},model="identity",reason="OTHER"}}', REFUSED)
    prometheus.wait_for(f'hearth_request_duration_seconds_bucket{{{of_server},le="+Inf"}}', ANSWERED)
    eventually(lambda: prometheus.target(server)["lastError"] == "", SECONDS)


def test_prometheus_stores_every_series_of_the_page(prometheus, server):
    of_server = f'instance="{instance_of(server)}"'
    page = server.get("/metrics", port="metrics_port")[1]
    series = sum(not line.startswith("#") for line in page.splitlines())
    prometheus.wait_for(f"scrape_samples_scraped{{{of_server}}}", series)
    prometheus.wait_for(f'count({{{of_server},__name__=~"(nv|hearth)_.*"}})', series)
    # A sample that is there twice is dropped with no more than a warning.
    assert re.findall(r"level=(?:warn|error) .*", prometheus.log.read_text()) == []


def test_prometheus_knows_every_metric_of_the_page_with_its_documented_type_and_its_help(prometheus, server):
    page = server.get("/metrics", port="metrics_port")[1]
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", page, re.M))
    types = {name: kind for name, (kind, _) in documented().items()}
    expected = {name: [{"type": types.get(name), "help": text, "unit": ""}] for name, text in helps.items()}
    assert len(expected) > 50
    eventually(lambda: prometheus.target(server)["health"] == "up", SECONDS)
    assert prometheus.get("metadata") == expected


def test_prometheus_loads_every_rule_and_evaluates_it_without_an_error(prometheus):
    alerts = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert [rule["name"] for rule in prometheus.rules()] == alerts
    eventually(lambda: all(rule["health"] != "unknown" for rule in prometheus.rules()), SECONDS)
    assert {rule["name"]: rule.get("lastError") for rule in prometheus.rules() if rule["health"] != "ok"} == {}


def test_an_unloaded_model_and_a_server_that_stops_raise_their_alerts(prometheus, servers):
    server = servers[1]
    up = f'up{{instance="{instance_of(server)}"}}'
    prometheus.wait_for(up, 1)
    assert prometheus.states("HearthModelNotReady", server) == prometheus.states("HearthDown", server) == []
    with server.client() as client:
        client.unload_model("identity")
    # They fire only once that has lasted.
    eventually(lambda: prometheus.states("HearthModelNotReady", server) == ["pending"], SECONDS)
    assert server.stop() == 0
    prometheus.wait_for(up, 0)
    eventually(lambda: "connection refused" in prometheus.target(server)["lastError"], SECONDS)
    eventually(lambda: prometheus.states("HearthDown", server) == ["pending"], SECONDS)
    assert prometheus.states("HearthModelNotReady", servers[0]) == prometheus.states("HearthDown", servers[0]) == []


def test_promtool_has_nothing_against_the_page_but_names_that_are_tritons(server):
    page = server.get("/metrics", port="metrics_port")[1]
    command = [prometheus_program("promtool"), "check", "metrics"]
    done = subprocess.run(command, input=page, capture_output=True, text=True, timeout=120)
    # 3: it has read the page and has something against the style.
    assert (done.returncode, done.stdout) == (3, ""), done.stdout + done.stderr
    said = {}
    for line in done.stderr.splitlines():
        name, _, what = line.partition(" ")
        said.setdefault(name, set()).add(what)
    assert said == TRITON_NAMES
