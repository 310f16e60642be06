"""What the soak does for an hour, for half a minute."""

from integration_tests import endurance, kept_state
from integration_tests.watch import SETTLING_THREADS


def test_half_a_minute_of_everything_leaves_nothing_behind(tmp_path):
    with open(tmp_path / "log", "w") as log:
        problems, done, watch = endurance.endure(tmp_path / "models", 30, log)
    assert problems == []
    kinds = ("swap", "cancel", "run_out_of_time", "go_away", "change_shape", "stream", *kept_state.KINDS)
    assert all(done.get(kind, 0) >= 5 for kind in kinds), done
    # Neither memory nor pools of threads have settled after so short a time.
    assert watch.problems(0.2, SETTLING_THREADS) == [], watch.report()
