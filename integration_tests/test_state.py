"""Models that write their own state, asked by many at once: what comes out is what some order one after the other gives,
and runs go on side by side wherever that is so."""

import queue
import threading

import numpy as np
import pytest

from integration_tests import server_models as models
from integration_tests.daemon import eventually
from integration_tests.serving import LONG, in_flight, tensor

CLIENTS = 8


@pytest.fixture(scope="module")
def server(hearthd):
    made = {
        "constant": models.Constant(1.0),
        "counter": models.Counter(),
        "accumulator": models.Accumulator(),
        "scratch": models.Scratch(),
    }
    return hearthd({name: models.scripted(model) for name, model in made.items()}, "--threads", "4")


def numbers(**values):
    return [tensor(name, np.array(value)) for name, value in values.items()]


def start(client, model, **values):
    """Asks without waiting; gives the call, and a queue that gets (result, error)."""
    answers = queue.Queue()
    call = client.async_infer(model, numbers(**values), callback=lambda result, error: answers.put((result, error)))
    return call, answers


def answer(result, output="OUTPUT__0"):
    return result.as_numpy(output).tolist()


def test_an_answer_is_not_changed_by_the_next_call(client):
    """The model answers its own buffer and changes it in place, while earlier answers are still being sent."""
    calls = [start(client, "constant", add=1.0) for _ in range(40)]
    firsts = []
    for _, answers in calls:
        result, error = answers.get(timeout=60)
        assert error is None
        values = result.as_numpy("OUTPUT__0")
        assert (values == values[0]).all()
        firsts.append(int(values[0]))
    assert sorted(firsts) == list(range(2, 42))


def test_a_run_that_is_through_with_its_state_lets_others_by(server, client):
    (before,) = answer(client.infer("counter", numbers(rounds=0)), "0")
    long, _ = start(client, "counter", rounds=LONG)
    eventually(lambda: in_flight(server, "counter") == 1)
    assert answer(client.infer("counter", numbers(rounds=0)), "0") == [before + 2]
    assert in_flight(server, "counter") == 1
    long.cancel()
    eventually(lambda: in_flight(server, "counter") == 0)


def test_runs_with_scratch_attributes_do_not_see_each_other(server, client):
    long, _ = start(client, "scratch", x=1.0, rounds=LONG)
    eventually(lambda: in_flight(server, "scratch") == 1)
    for i in range(10):
        assert answer(client.infer("scratch", numbers(x=float(i), rounds=100))) == [2.0 * i + 100]
    assert in_flight(server, "scratch") == 1
    long.cancel()
    eventually(lambda: in_flight(server, "scratch") == 0)


def test_runs_that_read_and_write_the_same_part_come_one_after_the_other(server):
    """Each reads a buffer, adds to it many times over, and says what it found and left: nobody else was there."""
    found, problems = [], []

    def ask(number):
        with server.client() as client:
            for _ in range(5):
                result = client.infer("accumulator", numbers(rounds=200 + number))
                before, after = answer(result, "0"), answer(result, "1")
                found.append(before)
                if after != [before[0] + 200 + number]:
                    problems.append((number, before, after))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len({before[0] for before in found}) == CLIENTS * 5


def test_a_run_that_is_ended_gives_its_state_back(server, client):
    long, _ = start(client, "accumulator", rounds=LONG)
    eventually(lambda: in_flight(server, "accumulator") == 1)
    _, waiting = start(client, "accumulator", rounds=1)
    eventually(lambda: in_flight(server, "accumulator") == 2)
    long.cancel()
    result, error = waiting.get(timeout=60)
    assert error is None
    assert answer(result, "1") == [answer(result, "0")[0] + 1]
