"""The status page in Chromium: it fits a phone and a desktop, its figures follow the traffic, its policy holds, and it needs no
JavaScript. test_status.py has what the server sends."""

import contextlib
import json
import threading

import pytest
import torch
from torch import Tensor, nn

from integration_tests import server_models as models
from integration_tests.browser import Browser
from integration_tests.daemon import eventually
from integration_tests.serving import floats
from integration_tests.test_status import HOSTILE

WIDTHS = {"phone": 390, "desktop": 1280}
LONG = "a_name_that_goes_on_and_on_" * 6
ANSWERED, RAISED = 20, 3
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1}

UNFOLD_ALL = "for (const details of document.querySelectorAll('details')) details.open = true"
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


class Raises(nn.Module):
    """With a message that is long, of a word that is."""

    def __init__(self):
        super().__init__()
        self.message = "no" * 400 + " <img src=x onerror=alert(1)> " + "word " * 100

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > -1:
            raise ValueError(self.message)
        return x


def model_path(name):
    return f"/status/models/{name}/versions/1"


def told(server, path):
    return json.loads(server.get(f"{path}.json")[1])


def has_kernels(server):
    """Whether there is a plan with its kernel's code, and nothing more is on its way."""
    plans = told(server, model_path("kernels"))["plans"].get("plans", [])
    compiler = told(server, "/status")["compiler"]
    return any(plan.get("kernels") for plan in plans) and not any(
        compiler.get(one, 0) for one in ("queued", "running", "kernels_waiting")
    )


@pytest.fixture(scope="module")
def server(hearthd):
    served = hearthd(
        {
            "kernels": models.scripted(models.Kernels()),
            "live": models.scripted(models.Identity()),
            "raises": torch.jit.script(Raises()),
            HOSTILE: models.scripted(models.Identity()),
            LONG: models.scripted(models.Identity()),
            "broken": (models.scripted(models.Identity()), "nonsense" * 60),
        },
        "--exit-on-error=false",
    )
    with served.client() as client:
        for _ in range(ANSWERED):
            client.infer("kernels", [floats("x", *range(100))])
        for _ in range(RAISED):
            with pytest.raises(Exception, match="nonono"):
                client.infer("raises", [floats("x", 1)])
        with pytest.raises(Exception, match="unknown"):
            client.infer("nothing", [floats("x", 1)])
        eventually(lambda: has_kernels(served), 60)

    def counted():
        points = told(served, model_path("kernels"))["model"]["traffic"].get("points", [])
        return sum(point.get("requests", 0) for point in points) == ANSWERED

    eventually(counted)
    return served


@pytest.fixture(scope="module")
def browser():
    with Browser() as started:
        yield started


@pytest.fixture
def opened(browser, server):
    """Opens pages: opened(path, ...) gives a browser.Page. In the end the browser must have nothing against any of them."""
    pages = []

    def open_page(path="/status", **options):
        pages.append(browser.open(f"http://127.0.0.1:{server.ready['http_port']}{path}", **options))
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.complaints == []
        page.close()


@contextlib.contextmanager
def traffic(server, model):
    """One request after the other. Gives a list that has the number of those that were answered, once they have ended."""
    ends, answered = threading.Event(), []

    def ask():
        count = 0
        with server.client() as client:
            while not ends.wait(0.01):
                client.infer(model, [floats("x", 1, 2)])
                count += 1
        answered.append(count)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield answered
    finally:
        ends.set()
        asking.join()


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def facts(page, section):
    """{name: value} of the list below a heading."""
    return page.evaluate(f"""
      Object.fromEntries([...document.querySelectorAll("section")]
        .filter((section) => section.querySelector("h2")?.innerText === {json.dumps(section)})
        .flatMap((section) => [...section.querySelectorAll("dl > div")])
        .map((fact) => [fact.querySelector("dt").innerText.trim(), fact.querySelector("dd").innerText.trim()]))
    """)


def figure(name, part="value"):
    """JavaScript for what a figure shows."""
    return f"""[...document.querySelectorAll(".figure")]
      .find((figure) => figure.querySelector("h2").innerText === {json.dumps(name)}).querySelector(".{part}").innerText"""


@pytest.mark.parametrize("device", WIDTHS)
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "none"])
def test_pages_fit_the_width_with_all_that_they_unfold(opened, server, device, javascript):
    page = opened(width=WIDTHS[device], javascript=javascript)
    links = page.evaluate("[...document.querySelectorAll('tbody th a')].map((link) => link.href)")
    assert len(links) == 5
    for link in [page.evaluate("location.href"), *links]:
        page.go(link)
        assert page.overflow() == []
        page.evaluate(UNFOLD_ALL)
        assert page.overflow() == []


def test_what_does_not_fit_would_be_seen(opened):
    page = opened(width=WIDTHS["phone"])
    for rule, words in [
        (".title { min-width: 500px }", "pixels wide"),
        (".figure .value { width: 500px }", "SECTION figures"),
        ("dd { position: relative; left: 300px }", "DD"),
    ]:
        page.evaluate(f"document.styleSheets[0].insertRule({json.dumps(rule)}, document.styleSheets[0].cssRules.length)")
        assert any(words in found for found in page.overflow()), rule
        page.evaluate("document.styleSheets[0].deleteRule(document.styleSheets[0].cssRules.length - 1)")
        assert page.overflow() == []


def test_what_breaks_the_policy_or_raises_would_be_seen(browser, server):
    page = browser.open(f"http://127.0.0.1:{server.ready['http_port']}/status")
    assert page.complaints == []
    for broken, words in [
        ("document.body.setAttribute('style', 'color: red')", "style-src"),
        ("document.head.append(Object.assign(document.createElement('script'), {text: 'window.has_run = 1'}))", "script-src"),
        ("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.2/'}))", "img-src"),
        ("void fetch('http://127.0.0.2/').catch(() => 0)", "connect-src"),
        ("void setTimeout(() => nothing_of_that_name())", "nothing_of_that_name"),
    ]:
        page.evaluate(broken)
        eventually(lambda: page.evaluate("1") and any(words in one for one in page.complaints))
    assert page.evaluate("window.has_run") is None
    page.close()


def test_figures_follow_the_traffic(opened, server):
    page, overview = opened(model_path("live")), opened()
    assert page.evaluate(figure("Requests a second", "note")) == "0 in all"
    for each in (page, overview):
        each.evaluate("window.is_the_same = true")
    row = """[...document.querySelectorAll("tbody tr")].find((row) => row.querySelector("a")?.innerText === "live")"""
    cell = f"""{row}.querySelector("[data-name='%s']").innerText.trim()"""
    with traffic(server, "live") as answered:
        page.wait_until(f"""{figure("Requests a second")} !== "0" """)
        assert page.evaluate(figure("Requests a second", "note")) != "0 in all"
        assert 0 < seconds(facts(page, "Latency")["median"]) < 60
        overview.wait_until(f"""{cell % "Requests a second"} !== "0" """)
        assert 0 < seconds(overview.evaluate(cell % "Median")) <= seconds(overview.evaluate(cell % "99th")) < 60
        assert overview.evaluate(figure("Requests a second")) != "0"
    page.wait_until(f"""{figure("Requests a second", "note")} === "{answered[0]:,} in all" """)
    # They were brought up to date, not loaded again.
    assert page.evaluate("window.is_the_same") and overview.evaluate("window.is_the_same")


def test_the_overview_shows_each_model_and_its_error(opened, server):
    page, status = opened(), told(server, "/status")
    assert page.texts("h1") + page.texts(".title .state") == [status["name"], "not ready"]
    names = page.evaluate("[...document.querySelectorAll('tbody th')].map((cell) => cell.firstChild.textContent)")
    assert names == [model["name"] for model in status["models"]] and len(names) == 6
    assert page.texts("tbody .state") == [model["state"].lower() for model in status["models"]]
    failed = dict(zip(names, page.texts("[data-name=Failed]")))
    assert failed["raises"] == str(RAISED) and failed["kernels"] == "0"
    page.evaluate(UNFOLD_ALL)
    raised, refused = status["model_errors"], status["refused_requests"]
    assert page.texts(".error pre") == [one["message"].strip() for one in raised + refused] and len(raised) == 1
    (reason,) = page.texts("tbody details pre")
    assert "config.pbtxt" in reason
    made = facts(page, "Kernels and guards")["Kernels made"]
    assert made == str(status["compiler"]["kernels_made"]) and int(made) > 0


def test_a_models_page_shows_latency_plans_and_kernels(opened, server):
    page, status = opened(model_path("kernels")), told(server, model_path("kernels"))
    model, plans = status["model"], status["plans"]["plans"]
    assert page.evaluate(figure("Requests a second", "note")) == f"{ANSWERED} in all"
    latency = facts(page, "Latency")
    for name, key in [("median", "p50"), ("90th percentile", "p90"), ("99th percentile", "p99")]:
        assert seconds(latency[name]) == pytest.approx(model["traffic"]["latency"][key], rel=0.02, abs=1e-6)
    # The line has each interval that had answers, and each bar with requests has a height.
    intervals = sum("latency" in point for point in model["traffic"]["points"])
    assert intervals and page.evaluate("""document.querySelector(".lines .p99").getAttribute("d").match(/[ML]/g).length""") == intervals
    assert page.evaluate("""document.querySelector(".lines").getBoundingClientRect().height""") > 100
    heights = page.evaluate("""[...document.querySelectorAll(".bars .bar")].map((bar) => bar.getBoundingClientRect().height)""")
    assert sum(height > 0 for height in heights) == len(model["traffic"]["distribution"])
    parts = facts(page, "Where the time goes")
    assert seconds(parts["the model"]) == pytest.approx(model["traffic"]["mean_infer_seconds"], rel=0.02, abs=1e-6)
    assert sum(map(int, facts(page, "Calls by tier").values())) == ANSWERED
    assert page.texts(".plan .tier") == [f"tier {plan['tier']}" for plan in plans]
    # Graph and loops are there once they are unfolded.
    assert page.texts(".plan pre") == [""] * len(page.texts(".plan pre"))
    page.evaluate(UNFOLD_ALL)
    assert page.texts(".plan > pre") == [plan["graph"].strip() for plan in plans]
    loops = [kernel["code"].strip() for plan in plans for kernel in plan.get("kernels", [])]
    assert page.texts(".kernel pre") == loops and "tanh" in loops[0]


def test_what_is_unfolded_and_focused_stays_so_when_figures_come(opened):
    page = opened(model_path("kernels"))
    page.evaluate("document.querySelector('.plan summary').click(); document.querySelector('.plan summary').focus()")
    page.evaluate("document.querySelector('main').is_old = true;" + LOOK_AGAIN)
    page.wait_until("!document.querySelector('main').is_old")
    assert page.evaluate("document.querySelector('.plan').open")
    assert page.evaluate("document.activeElement === document.querySelector('.plan summary')")
    assert "graph(" in page.texts(".plan pre")[0]


def test_without_javascript_pages_are_whole_and_load_themselves_again(opened):
    for path in ["/status", model_path("kernels")]:
        whole, plain = opened(path), opened(path, javascript=False)
        assert any(url.endswith(".js") for url in whole.requests) and not any(url.endswith(".js") for url in plain.requests)
        eventually(lambda: plain.evaluate("true") and plain.reloads_after == 10)
        assert whole.evaluate("true") and whole.reloads_after is None
        for selector in ["h1", "h2", "th", ".plan summary", ".error summary", "footer a"]:
            assert plain.texts(selector) == whole.texts(selector), selector
        assert len(plain.texts("h2")) >= 8 and plain.texts(".lost") == [""]
    plain.evaluate("document.querySelector('.plan summary').click()")
    assert "graph(" in plain.texts(".plan pre")[0]


def test_a_server_that_does_not_answer_is_told(opened):
    page = opened()
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.call("Network.emulateNetworkConditions", offline=True, **network)
    page.evaluate(LOOK_AGAIN)
    page.wait_until("!document.querySelector('.lost').hidden")
    assert "does not answer" in page.texts(".lost")[0] and len(page.texts("tbody tr")) == 6
    page.call("Network.emulateNetworkConditions", offline=False, **network)
    page.evaluate(LOOK_AGAIN)
    page.wait_until("document.querySelector('.lost').hidden")
    assert page.complaints and all("ERR_INTERNET_DISCONNECTED" in one for one in page.complaints)
    page.complaints.clear()


def test_colours_follow_the_browsers_scheme(opened):
    def brightness(page, what):
        colour = page.evaluate(f"getComputedStyle(document.body).{what}.match(/[0-9]+/g).map(Number)")
        return sum(colour[:3]) / 3

    light, dark = opened(scheme="light"), opened(scheme="dark")
    assert brightness(light, "backgroundColor") > 200 and brightness(light, "color") < 80
    assert brightness(dark, "backgroundColor") < 60 and brightness(dark, "color") > 180
