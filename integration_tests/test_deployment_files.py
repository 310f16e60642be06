"""What deploy/ has for Kubernetes, KServe, Prometheus and Grafana, looked at by Helm, by Kubernetes' schemas, by promtool, and
against what the daemon offers."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from integration_tests import ROOT
from integration_tests import server_models as models
from integration_tests.daemon import Hearthd, binary, put_model
from integration_tests.serving import answer_of
from integration_tests.test_metrics import documented

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/hearth"
BIN = ROOT / ".venv/bin"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rendered(*flags):
    return run(BIN / "helm", "template", "hearth", CHART, *flags)


CLAIM = "cache.emptyDir=null,cache.persistentVolumeClaim.claimName=shared"
USES = {
    "as it is": (),
    "one replica": ("--set", "autoscaling.enabled=false,replicas=1"),
    "a shared cache": ("--set", CLAIM),
    "all of it": (
        "--set", "flags[0]=--memory-limit=1GiB,env[0].name=HEARTH_LOG,env[0].value=debug,nodeSelector.disk=ssd",
        "--set", "tolerations[0].key=gpu,tolerations[0].operator=Exists,imagePullSecrets[0].name=registry",
        "--set", "podDisruptionBudget.maxUnavailable=null,podDisruptionBudget.minAvailable=1,service.type=LoadBalancer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_kubernetes_takes_what_the_chart_makes(tmp_path, use):
    (tmp_path / "made.yaml").write_text(rendered(*USES[use]))
    run(BIN / "kubernetes-validate", "--strict", tmp_path / "made.yaml")


def test_helm_has_nothing_against_the_chart():
    run(BIN / "helm", "lint", "--strict", CHART)


def test_the_manifests_are_what_the_chart_makes():
    first, _, manifests = (DEPLOY / "kubernetes/hearth.yaml").read_text().partition("\n")
    assert first.startswith("# ") and manifests == rendered()


def of_kind(kind, text):
    (found,) = [one for one in yaml.safe_load_all(text) if one and one["kind"] == kind]
    return found


def test_hearthd_takes_the_flags_of_the_chart_and_answers_its_probes(tmp_path):
    put_model(tmp_path / "models", "m", models.constant(4))
    pod = of_kind("Deployment", rendered("--set", "flags[0]=--threads=1"))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    places = {"/models": tmp_path / "models", "/cache": tmp_path / "cache"}
    assert {volume["mountPath"] for volume in container["volumeMounts"]} == {*places, "/tmp"}
    flags = [re.sub(r"=(/\w+)$", lambda found: f"={places[found[1]]}", flag) for flag in container["args"]]
    assert "--threads=1" in flags
    command = [binary(), *flags, "--http-port=0", "--grpc-port=0", "--metrics-port=0"]
    server = Hearthd(tmp_path / "models", command=command)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": 8000, "grpc": 8001, "metrics": 8002}
    for probe in ("livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert server.get(asked["path"], f"{asked['port']}_port")[0] == 200
    assert server.stop() == 0
    # There is time for all of the end.
    drain = int(re.search(r"--drain-seconds=(\d+)", " ".join(flags))[1])
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pod["terminationGracePeriodSeconds"] >= pause + drain + 15


def test_hearthd_takes_the_line_of_the_serving_runtime(tmp_path):
    put_model(tmp_path / "mnt", "m", models.constant(4))
    runtime = of_kind("ServingRuntime", (DEPLOY / "kserve/serving_runtime.yaml").read_text())
    (container,) = runtime["spec"]["containers"]
    assert {"name": "http1", "containerPort": 8080, "protocol": "TCP"} in container["ports"]
    program, *flags = container["args"]
    (tmp_path / program).symlink_to(binary())
    assert "--http-port=8080" in flags and "--grpc-port=9000" in flags
    flags = [re.sub(r"=/mnt/models$", f"={tmp_path}/mnt", re.sub(r"-port=\d+", "-port=0", flag)) for flag in flags]
    server = Hearthd(tmp_path / "mnt", command=[tmp_path / program, *flags, "--metrics-port=0"])
    for probe in ("livenessProbe", "readinessProbe"):
        assert server.get(container[probe]["httpGet"]["path"])[0] == 200
    with server.client() as client:
        assert answer_of(client, "m") == [4]
    assert server.stop() == 0


def metrics_in(text):
    return {re.sub(r"_bucket$", "", name) for name in re.findall(r"\b(?:nv|hearth)_\w+", text)}


def test_every_metric_that_is_asked_for_is_on_its_page():
    dashboard = json.loads((DEPLOY / "grafana/hearth.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    variables = [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    assert len(queries) > 15 and metrics_in("\n".join(queries + variables)) <= set(documented())
    rules = yaml.safe_load((DEPLOY / "prometheus/hearth.rules.yml").read_text())
    assert metrics_in("\n".join(rule["expr"] for rule in rules["groups"][0]["rules"])) <= set(documented())
    (adapter,) = yaml.safe_load((DEPLOY / "prometheus/adapter.yml").read_text())["rules"]
    assert metrics_in(adapter["seriesQuery"] + adapter["metricsQuery"]) <= set(documented())
    autoscaler = of_kind("HorizontalPodAutoscaler", rendered())
    assert autoscaler["spec"]["metrics"][0]["pods"]["metric"]["name"] == adapter["name"]["as"]


def prometheus_program(name):
    """The path of a program of Debian's package prometheus."""
    path = shutil.which(name, path="/usr/bin")
    assert path, f"{name} is in Debian's package prometheus, which is in scripts/packages-test.txt"
    return path


def test_prometheus_takes_every_query_of_the_dashboard(tmp_path):
    dashboard = json.loads((DEPLOY / "grafana/hearth.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    run(prometheus_program("promtool"), "check", "rules", tmp_path / "rules.yml")


def test_each_alert_fires_on_what_it_is_for_and_is_silent_else():
    run(prometheus_program("promtool"), "test", "rules", "hearth.rules_test.yml", cwd=DEPLOY / "prometheus")
    rules = yaml.safe_load((DEPLOY / "prometheus/hearth.rules.yml").read_text())
    alerts = {rule["alert"] for rule in rules["groups"][0]["rules"]}
    for case in yaml.safe_load((DEPLOY / "prometheus/hearth.rules_test.yml").read_text())["tests"]:
        assert {expected["alertname"] for expected in case["alert_rule_test"]} == alerts
