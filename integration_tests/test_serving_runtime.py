"""deploy/kserve's ServingRuntime against what KServe takes: the fields of serving.kserve.io/v1alpha1 with their types, what its
webhook refuses, and Kubernetes' schemas of the containers."""

import copy
import re
import subprocess

import pytest
import yaml

from integration_tests import ROOT

MANIFEST = ROOT / "deploy/kserve/serving_runtime.yaml"


# ---- The fields of a ServingRuntime, after KServe's reference of its API ----


def map_of_texts(value):
    return isinstance(value, dict) and all(isinstance(each, str) for item in value.items() for each in item)


def positive(value):
    return type(value) is int and value > 0


def version(value):
    return isinstance(value, str) and re.fullmatch(r"\d+(\.\d+){0,2}", value)


def protocol(value):
    return value in ("v1", "v2", "grpc-v1", "grpc-v2")


def left_to_kubernetes(value):
    return True


FORMAT = {"name": str, "version?": version, "autoSelect?": bool, "priority?": positive}
POD = {  # those of a pod's specification, with their meaning there
    "containers": left_to_kubernetes,
    "volumes?": left_to_kubernetes,
    "nodeSelector?": left_to_kubernetes,
    "affinity?": left_to_kubernetes,
    "tolerations?": left_to_kubernetes,
    "imagePullSecrets?": left_to_kubernetes,
    "hostIPC?": bool,
}
SPEC = {
    **POD,
    "labels?": map_of_texts,
    "annotations?": map_of_texts,
    "supportedModelFormats?": [FORMAT],
    "multiModel?": bool,
    "disabled?": bool,
    "protocolVersions?": [protocol],
    # Of ModelMesh.
    "grpcEndpoint?": str,
    "grpcDataEndpoint?": str,
    "httpDataEndpoint?": str,
    "replicas?": positive,
    "storageHelper?": {"disabled?": bool},
}
METADATA = {"name": str, "namespace?": str, "labels?": map_of_texts, "annotations?": map_of_texts}
RUNTIME = {"apiVersion": str, "kind": str, "metadata": METADATA, "spec": SPEC}


def misfits(value, shape, where="the manifest"):
    """What is wrong with a value: `shape` is a type, a function, a list of one shape, or an object's fields by name, of which
    those with a question mark may be absent."""
    if isinstance(shape, type):
        return [] if type(value) is shape else [f"{where} is no {shape.__name__}"]
    if callable(shape):
        return [] if shape(value) else [f"{where} is no {shape.__name__}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [wrong for i, item in enumerate(value) for wrong in misfits(item, shape[0], f"{where}[{i}]")]
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    shapes = {name.removesuffix("?"): of for name, of in shape.items()}
    wrong = [f"{where} has the field {name}" for name in value if name not in shapes]
    wrong += [f"{where} has no {name}" for name in shape if not name.endswith("?") and name not in value]
    for name in value.keys() & shapes.keys():
        wrong += misfits(value[name], shapes[name], f"{where}.{name}")
    return wrong


def refused_by_webhook(spec):
    """Automatic selection wants one priority for a format, whatever the version; the container of the server has a name."""
    priorities = {}
    for each in spec["supportedModelFormats"]:
        if each.get("autoSelect"):
            priorities.setdefault(each["name"], set()).add(each.get("priority"))
    wrong = [f"{name} has several priorities" for name, found in priorities.items() if len(found) > 1]
    if "kserve-container" not in [container["name"] for container in spec["containers"]]:
        wrong.append("no container is the server's")
    return wrong


def refused_by_kubernetes(runtime, folder):
    """What Kubernetes says of the pod that KServe makes of it."""
    spec = runtime["spec"]
    fields = {name.removesuffix("?") for name in POD}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", **{name: spec[name] for name in ("labels", "annotations") if name in spec}},
        "spec": {name: value for name, value in spec.items() if name in fields},
    }
    (folder / "pod.yaml").write_text(yaml.safe_dump(pod))
    program = ROOT / ".venv/bin/kubernetes-validate"
    done = subprocess.run(
        [program, "--strict", folder / "pod.yaml"], capture_output=True, text=True, timeout=120, check=False
    )
    return [] if done.returncode == 0 else [done.stdout + done.stderr]


def what_is_wrong(runtime, folder):
    wrong = misfits(runtime, RUNTIME)
    return wrong or refused_by_webhook(runtime["spec"]) or refused_by_kubernetes(runtime, folder)


@pytest.fixture
def runtime():
    (found,) = yaml.safe_load_all(MANIFEST.read_text())
    return found


def test_kserve_takes_the_serving_runtime(runtime, tmp_path):
    assert (runtime["apiVersion"], runtime["kind"]) == ("serving.kserve.io/v1alpha1", "ServingRuntime")
    assert what_is_wrong(runtime, tmp_path) == []


# A path, what is put there (nothing: it is taken away), and what is said.
MISTAKES = {
    "an unknown field": (["spec", "supportedModelTypes"], [], "has the field supportedModelTypes"),
    "a format without a name": (["spec", "supportedModelFormats", 0, "name"], None, "has no name"),
    "a version that YAML reads as a number": (["spec", "supportedModelFormats", 0, "version"], 1, "is no version"),
    "a priority that is text": (["spec", "supportedModelFormats", 0, "priority"], "3", "is no positive"),
    "a priority of 0": (["spec", "supportedModelFormats", 0, "priority"], 0, "is no positive"),
    "text for yes": (["spec", "supportedModelFormats", 0, "autoSelect"], "true", "is no bool"),
    "a protocol that is none": (["spec", "protocolVersions", 1], "grpc", "is no protocol"),
    "an annotation that is a number": (["spec", "annotations", "prometheus.kserve.io/port"], 8002, "is no map_of_texts"),
    "no containers": (["spec", "containers"], None, "has no containers"),
    "another container's name": (["spec", "containers", 0, "name"], "hearth", "no container is the server's"),
    "a misspelt field of a container": (["spec", "containers", 0, "img"], "hearth", "img"),
    "a port that is text": (["spec", "containers", 0, "ports", 0, "containerPort"], "8080", "8080"),
    "two priorities": (
        ["spec", "supportedModelFormats", 1],
        {"name": "pytorch", "version": "2", "autoSelect": True, "priority": 9},
        "pytorch has several priorities",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_serving_runtime_is_found(runtime, tmp_path, mistake):
    (*path, last), value, said = MISTAKES[mistake]
    changed = copy.deepcopy(runtime)
    place = changed
    for step in path:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    (wrong,) = what_is_wrong(changed, tmp_path)
    assert said in wrong
