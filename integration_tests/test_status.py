"""The status page, its JSON and `hearth top`: whole, escaped, kept to themselves, and true."""

import base64
import concurrent.futures
import html.parser
import json
import re
import urllib.error
import urllib.request

import grpc
import pytest
import torch
from google.protobuf import message_factory
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.certificates import token_line
from integration_tests.command_line import hearth
from integration_tests.daemon import eventually
from integration_tests.serving import floats

# What a folder may be called, and no markup may come of.
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
VOID = {"meta", "link", "br", "img", "input"}


class RaisesMarkup(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > -1:
            raise ValueError("<script>alert('raised')</script>")
        return x


class Page(html.parser.HTMLParser):
    """Elements that open and close as they should, links, and texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.texts, self.ids = [], [], [], [], []
        self.attributes = set()
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        self.links += [value for name, value in attributes if name in ("href", "src")]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)


@pytest.fixture(scope="module")
def server(hearthd):
    served = hearthd(
        {
            "identity": models.scripted(models.Identity()),
            "raises": torch.jit.script(RaisesMarkup()),
            HOSTILE: models.scripted(models.Identity()),
            "broken": (models.scripted(models.Identity()), "nonsense <b>"),
        },
        "--exit-on-error=false",
    )
    with served.client() as client:
        for _ in range(20):
            client.infer("identity", [floats("x", 1, 2)])
        for _ in range(3):
            with pytest.raises(Exception, match="alert"):
                client.infer("raises", [floats("x", 1, 2)])
        with pytest.raises(Exception, match="unknown"):
            client.infer("<b>nothing</b>", [floats("x", 1)])
    # The first interval of the history.
    eventually(lambda: json.loads(served.get("/status.json")[1])["traffic"]["requests_per_second"] > 0)
    return served


def fetch(server, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{server.ready['http_port']}{path}", headers=headers)
    return urllib.request.urlopen(request, timeout=30)


def test_the_page_has_the_models_their_traffic_and_errors(server):
    page = Page(fetch(server, "/status").read().decode())
    for words in ["identity", "raises", "broken", "ready", "unavailable", "Requests a second", "Kernels made"]:
        assert words in page.text
    assert "ValueError: <script>alert('raised')</script>" in page.text
    assert "× 3" in page.text.replace("×  3", "× 3")
    assert "Traceback of TorchScript" in page.text
    assert "the latest load failed" in page.text
    assert page.tags.count("svg") > 8


def test_names_and_errors_are_text_and_never_markup(server):
    for path in ["/status", *model_paths(server)]:
        text = fetch(server, path).read().decode()
        page = Page(text)
        assert page.tags.count("script") == 1 and "img" not in page.tags and "b" not in page.tags
        assert not any(name.startswith("on") for name in page.attributes) and "style" not in page.attributes
        assert "<script>alert" not in text
    assert HOSTILE in Page(fetch(server, "/status").read().decode()).text


def model_paths(server):
    links = Page(fetch(server, "/status").read().decode()).links
    return [link for link in links if link.startswith("/status/models/")]


def test_links_lead_to_pages_of_this_server_alone(server):
    paths = model_paths(server)
    assert len(paths) == 3
    for path in ["/status", *paths]:
        for link in Page(fetch(server, path).read().decode()).links:
            assert link.startswith("/"), link
            assert fetch(server, link).status == 200, link


def test_a_models_page_has_its_latency_and_plans(server):
    page = Page(fetch(server, "/status/models/identity/versions/1").read().decode())
    for words in ["Latency", "99th percentile", "Where the time goes", "What it is called with", "forward"]:
        assert words in page.text
    eventually(lambda: "tier 1" in Page(fetch(server, "/status/models/identity/versions/1").read().decode()).text)
    described = json.load(fetch(server, "/status/models/identity/versions/1.json"))
    assert described["model"]["requests"] == 20 and sum(described["model"]["calls_by_tier"]) == 20
    assert "graph" in described["plans"]["plans"][0]


def test_the_json_has_what_the_page_shows(server):
    status = json.load(fetch(server, "/status.json"))
    by_name = {model["name"]: model for model in status["models"]}
    assert by_name["identity"]["requests"] == 20 and by_name["identity"]["state"] == "READY"
    assert by_name["raises"]["failures"] == 3
    assert "config.pbtxt" in by_name["broken"]["reason"]
    points = by_name["identity"]["traffic"]["points"]
    assert sum(point["requests"] for point in points) == 20
    latency = by_name["identity"]["traffic"]["latency"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"]
    assert sum(bucket["requests"] for bucket in by_name["identity"]["traffic"]["distribution"]) == 20
    assert [error["count"] for error in status["model_errors"]] == [3]
    assert [error["model"] for error in status["refused_requests"]] == ["<b>nothing</b>"]
    assert status["memory"]["resident_bytes"] > 1 << 20 and status["process"]


def test_headers_keep_pages_to_themselves(server):
    assets = ["/status/script.js", "/status/style.css"]
    for path in ["/status", "/status.json", "/status/models/identity/versions/1", *assets]:
        headers = fetch(server, path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_it_works_without_javascript(server):
    text = fetch(server, "/status").read().decode()
    assert re.search(r'<noscript><meta http-equiv="refresh"', text)
    # All that is shown is in the page; the script only asks for it again.
    assert "fetch(location.pathname" in fetch(server, "/status/script.js").read().decode()


def test_what_is_not_there_is_refused(server):
    assert fetch(server, "/").url.endswith("/status")
    for path in ["/status/models/identity/versions/7", "/status/models/none/versions/1", "/status/nothing"]:
        assert server.get(path)[0] == 404
    request = urllib.request.Request(f"http://127.0.0.1:{server.ready['http_port']}/status", data=b"x")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    assert refused.value.code == 405
    assert server.get("/status", port="metrics_port")[0] == 404


def test_it_may_be_off(hearthd):
    off = hearthd({"identity": models.scripted(models.Identity())}, "--status-page=false")
    assert off.get("/status")[0] == 404 and off.get("/")[0] == 404


def test_a_browser_shows_a_token_as_a_password(hearthd, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(token_line("read", "reader", "r") + token_line("infer", "client", "c"))
    guarded = hearthd({"identity": models.scripted(models.Identity())}, "--token-file", tokens)

    def code(path, **headers):
        try:
            return fetch(guarded, path, **headers).status
        except urllib.error.HTTPError as error:
            if error.code == 401:
                assert ("Basic" in str(error.headers.get_all("WWW-Authenticate"))) == path.startswith("/status")
            return error.code

    def basic(token):
        return {"Authorization": "Basic " + base64.b64encode(f"me:{token}".encode()).decode()}

    assert code("/status") == 401 and code("/v2") == 401
    assert code("/status", Authorization="Bearer r") == 200
    assert code("/status", **basic("r")) == 200
    assert code("/status", **basic("c")) == 403 and code("/status", **basic("x")) == 401
    # What a browser sends by itself is good for reading the status alone.
    assert code("/v2", **basic("r")) == 401 and code("/metrics", **basic("r")) == 401
    assert code("/status", Authorization="Basic !!!") == 401


def test_top_shows_the_same_in_a_terminal(server):
    done = hearth("top", server.address, "--once")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("hearth ") and ", not ready" in lines[0]
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["identity"][1:3] == ["1", "ready"] and rows["broken"][2] == "unavailable"
    assert any("ValueError" in line and " 3  " in line for line in lines)
    assert "\x1b" not in done.stdout


@pytest.fixture
def told_by(protocol):
    """A function: the address of a server that answers StatusService with what it is given."""
    servers = []

    def start(**fields):
        name = "hearth.v1.ServerStatusResponse"
        response = message_factory.GetMessageClass(protocol.FindMessageTypeByName(name))(**fields)
        answer = grpc.unary_unary_rpc_method_handler(lambda request, context: response.SerializeToString())
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("hearth.v1.StatusService", {"ServerStatus": answer})]
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(None)


def test_top_shows_gpus_as_far_as_their_driver_tells(told_by):
    first = {
        "name": "NVIDIA H200", "uuid": "GPU-1", "utilization": 0.25, "memory_used_bytes": 96 << 30,
        "memory_total_bytes": 140 << 30, "power_watts": 150.6, "power_limit_watts": 700, "temperature_celsius": 61,
    }  # fmt: skip
    second = {"name": "\x1b[2Jname", "uuid": "GPU-2"}
    done = hearth("top", told_by(device="cuda:all", gpus=[first, second], gpus_lost=1), "--once")
    assert done.returncode == 0, done.stderr
    lines = [re.split(r"  +", line) for line in done.stdout.splitlines()]
    assert ["GPU", "IN USE", "MEMORY", "OF", "POWER", "LIMIT", "TEMPERATURE", "UUID"] in lines
    assert ["NVIDIA H200", "25.0 %", "96.0 GiB", "140 GiB", "151 W", "700 W", "61 °C", "GPU-1"] in lines
    assert [line[1:] for line in lines if "name" in line[0]] == [["-"] * 6 + ["GPU-2"]]
    assert "GPUs that the driver does not reach: 1" in done.stdout and "\x1b" not in done.stdout


def test_top_says_nothing_of_gpus_where_there_are_none(server):
    assert "GPU" not in hearth("top", server.address, "--once").stdout
    assert json.load(fetch(server, "/status.json"))["gpus"] == []


def test_top_says_what_is_wrong():
    done = hearth("top", "localhost:1", "--once", "--timeout", "5")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
