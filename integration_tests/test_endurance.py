"""What the soak does for an hour, for half a minute."""

import io
import shutil

from integration_tests import endurance, kept_state
from integration_tests.daemon import Hearthd, eventually
from integration_tests.stalls import Answers, Silence, StallWatch
from integration_tests.watch import SETTLING_THREADS


def test_half_a_minute_of_everything_leaves_nothing_behind(tmp_path):
    with open(tmp_path / "log", "w") as log:
        problems, done, watch = endurance.endure(tmp_path / "models", 30, log)
    assert problems == []
    kinds = ("swap", "cancel", "run_out_of_time", "go_away", "change_shape", "stream", *kept_state.KINDS)
    assert all(done.get(kind, 0) >= 5 for kind in kinds), done
    # Neither memory nor pools of threads have settled after so short a time.
    assert watch.problems(0.2, SETTLING_THREADS) == [], watch.report()


def test_a_model_is_silent_whose_requests_wait_while_none_of_them_ends():
    silence = Silence(2)
    assert silence.look({"stuck": (2, 7), "slow": (1, 3), "idle": (0, 5)}) == []
    assert silence.look({"stuck": (2, 7), "slow": (1, 3), "idle": (0, 5)}) == []
    assert silence.look({"stuck": (3, 7), "slow": (1, 4), "idle": (0, 5)}) == ["stuck"]
    assert silence.look({"stuck": (2, 8), "slow": (1, 4), "idle": (0, 5)}) == []


def test_what_the_server_does_is_written_when_a_client_gets_no_answer(tmp_path):
    (tmp_path / "models").mkdir()
    server = Hearthd(tmp_path / "models")
    answers, output = Answers(), io.StringIO()
    with answers.awaited("answered"):
        pass
    with answers.awaited("silent"), StallWatch(server, answers, output, seconds=1) as stalls:
        eventually(lambda: stalls.problems, 180)
    assert server.stop() == 0
    assert stalls.problems == ["the clients of silent got no answer for 1 s"]
    text = output.getvalue()
    assert "hearth_in_flight_requests" in text and "model_stats" in text
    assert shutil.which("gdb") is None or "hearth-run-0" in text
