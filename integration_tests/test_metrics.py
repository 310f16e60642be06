"""/metrics against what its page says, and what it says of models that do not serve."""

import pathlib
import re

import pytest
from tritonclient.utils import InferenceServerException

from integration_tests import ROOT, server_models as models
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import answer_of, floats

PAGE = ROOT / "docs" / "metrics.md"
RULES = ROOT / "deploy" / "prometheus" / "hearth.rules.yml"
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \|([^|]*)\|", re.M)


def documented():
    """{name: (type, labels)} of the page's tables."""
    found = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        of_versions = section.startswith("Of each version")
        for name, kind, labels in ROW.findall(section):
            assert name not in found, f"{name} is there twice"
            own = set(re.findall(r"`(\w+)`", labels))
            found[name] = (kind, own | ({"model", "version"} if of_versions else set()))
    return found


ON_GPUS = {name for name, (_, labels) in documented().items() if labels & {"gpu", "gpu_uuid"}} | {"hearth_gpus_lost"}


def exported(text):
    """{name: (type, labels)} of a scrape."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels = {}
    for series, texts in re.findall(r"^(\w+)(?:\{([^}]*)\})? ", text, re.M):
        name = re.sub(r"_(bucket|sum|count)$", "", series) if series not in kinds else series
        labels.setdefault(name, set()).update(re.findall(r"(\w+)=", texts))
    return {name: (kind, labels[name]) for name, kind in kinds.items()}


@pytest.fixture(scope="module")
def scraped(hearthd):
    # Traces are counted where there is a collector, be it there or not.
    server = hearthd({"identity": models.scripted(models.Identity())}, "--trace-endpoint", "localhost:1")
    with server.client() as client:
        client.infer("identity", [floats("x", 1)])
    return server.get("/metrics", port="metrics_port")[1]


def test_the_page_has_every_metric_with_its_type_and_labels_and_no_other(scraped):
    page = documented()
    assert len(ON_GPUS) == 9 and set(page) > ON_GPUS
    assert exported(scraped) == {name: what for name, what in page.items() if name not in ON_GPUS}


def test_every_metric_that_pages_and_alerts_ask_for_is_there(scraped):
    queries = RULES.read_text() + "".join(re.findall(r"```\n(.*?)```", PAGE.read_text(), re.S))
    asked = {re.sub(r"_bucket$", "", name) for name in re.findall(r"\b(?:nv|hearth)_\w+", queries)}
    assert asked and asked <= set(exported(scraped)) | ON_GPUS


TAGS = """
metric_tags { key: "team" value: "vision" }
model_metrics {
  metric_control {
    metric_identifier { family: "hearth_request_duration_seconds" }
    histogram_options { buckets: [ 0.25, %s ] }
  }
  metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" }
                   histogram_options { buckets: [ 1 ] } }
}
"""


def test_a_models_configuration_says_its_labels_and_buckets(hearthd):
    identity = models.scripted(models.Identity())
    server = hearthd({"tagged": (identity, TAGS % 100), "plain": identity})

    def bounds(model, **labels):
        series = re.findall(r"^hearth_request_duration_seconds_bucket{(.*)} (\d+)$", server.get("/metrics")[1], re.M)
        wanted = [f'{name}="{value}"' for name, value in {"model": model, **labels}.items()]
        of_model = [(text, int(count)) for text, count in series if set(wanted) <= set(text.split(","))]
        return {re.search('le="(.*?)"', text)[1]: count for text, count in of_model}

    with server.client() as client:
        client.infer("tagged", [floats("x", 1)])
        assert bounds("tagged", _team="vision") == {"0.25": 1, "100": 1, "+Inf": 1}
        assert server.metric("nv_inference_request_success", model="tagged", version="1", _team="vision") == 1
        assert len(bounds("plain")) == 16 and not bounds("plain", _team="vision")
        log = pathlib.Path(server.log.name).read_text()
        assert "model_metrics of nv_inference_first_response_histogram_ms" in log
        assert "metric_tags" not in log

        config = server.repository / "tagged/config.pbtxt"
        config.write_text(TAGS % 0.25)
        with pytest.raises(InferenceServerException, match="hearth_request_duration_seconds that do not ascend"):
            client.load_model("tagged")
        config.write_text('metric_tags { key: "a.b" value: "c" }')
        with pytest.raises(InferenceServerException, match="metric_tags has the key 'a.b'"):
            client.load_model("tagged")
        # What serves keeps its own.
        assert bounds("tagged", _team="vision") == {"0.25": 1, "100": 1, "+Inf": 1}
        config.write_text("")
        client.load_model("tagged")
        assert len(bounds("tagged")) == 16 and not bounds("tagged", _team="vision")
        assert server.metric("nv_inference_request_success", model="tagged", version="1") == 1


def test_models_that_do_not_serve_are_not_ready_and_keep_their_counters(hearthd, tmp_path):
    good = models.constant(1)
    server = hearthd(
        {"good": good, "two": (good, "version_policy { all {} }"), "broken": (good, "input { name: 7 }")},
        "--exit-on-error=false",
    )
    folder = put_model(server.repository, "two", good, version=2)
    (folder / "model.pt").write_bytes(b"no archive")

    def ready(model, version="1"):
        return server.metric("hearth_model_ready", model=model, version=version)

    assert (ready("good"), ready("two"), ready("broken", "")) == (1, 1, 0)
    with server.client() as client:
        with pytest.raises(Exception, match="version 2"):
            client.load_model("two")
        assert (ready("two", "1"), ready("two", "2")) == (1, 0)
        client.infer("good", [floats("x", 1)])
        client.unload_model("good")
        assert ready("good") == 0
        assert server.metric("nv_inference_request_success", model="good", version="1") == 1
        assert server.metric("hearth_model_weight_bytes", model="good") is None
        client.load_model("good")
        assert ready("good") == 1
        for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
            assert server.metric("nv_inference_request_failure", model="two", version="2", reason=reason) == 0


def test_an_archive_that_cannot_take_the_place_of_the_one_that_serves_is_counted(hearthd, tmp_path):
    server = hearthd({"m": models.constant(1)}, "--model-control-mode=poll", "--repository-poll-secs=0.1")

    def failures():
        return server.metric("hearth_model_load_failures_total", model="m", version="1")

    def replace(data):
        (tmp_path / "new").write_bytes(data)
        (tmp_path / "new").rename(server.repository / "m/1/model.pt")

    good = (put_model(tmp_path / "aside", "m", models.constant(2)) / "model.pt").read_bytes()
    assert failures() == 0
    with server.client() as client:
        replace(b"no archive")
        eventually(lambda: failures() == 1)
        assert server.metric("hearth_model_ready", model="m", version="1") == 1
        assert answer_of(client, "m") == [1]
        replace(good)
        eventually(lambda: answer_of(client, "m") == [2])
    assert failures() == 1
