#!/usr/bin/env python3
"""What hearthd does when more requests come than it can answer:

    .venv/bin/python -m benchmarks.overload [--hearth build/release/bin/hearthd] [--loads 1 2 10] [--output FILE.md]

A model of which a call keeps one processor busy is asked over HTTP. Its capacity is what a few clients get that ask again
when they have their answer. Then requests come at multiples of that, evenly, whether earlier ones have been answered or
not (open loop), and after that at half the capacity. A latency counts from when its request was due. Goodput is the
answers a second that came within --patience of that, by the capacity. Measured without a bound on the time that requests
wait, and with one (--bound). The clients share the machine's processors, so there is less capacity the more come.
"""

import argparse
import asyncio
import functools
import pathlib
import sys
import time
from typing import NamedTuple

from benchmarks import ROOT
from benchmarks.busy_models import Work, save_models
from benchmarks.rest_clients import load
from benchmarks.run import commit, machine, table
from benchmarks.served_gpu import Server, message_for, run


class Call(NamedTuple):
    due: float  # since the start of the load
    latency: float
    status: int


class Connections:
    """As many as there are requests under way; each is used again."""

    def __init__(self, port, message):
        self._port, self._message = port, message
        self._idle = []

    async def ask(self):
        """The status of the answer."""
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(self._message)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(head.split(b" ", 2)[1])

    def close(self):
        for _, writer in self._idle:
            writer.close()


async def open_loop(port, message, phases):
    """Phases are (requests a second, seconds), one after the other. The calls of each phase."""
    connections, start = Connections(port, message), time.perf_counter()
    calls = [[] for _ in phases]

    async def call(phase, due):
        status = await connections.ask()
        calls[phase].append(Call(due, time.perf_counter() - start - due, status))

    tasks, begin = [], 0.0
    for phase, (rate, seconds) in enumerate(phases):
        for i in range(int(rate * seconds)):
            due = begin + i / rate
            await asyncio.sleep(max(0.0, start + due - time.perf_counter()))
            tasks.append(asyncio.create_task(call(phase, due)))
        begin += seconds
    await asyncio.gather(*tasks)
    connections.close()
    return calls


def quantile(values, part):
    """In milliseconds, as text."""
    return f"{sorted(values)[min(len(values) - 1, int(part * len(values)))] * 1e3:.0f}" if values else "-"


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.notes = []
        self.work = Work("busy", options.milliseconds)

    def row(self, port, bound, capacity, times):
        options = self.options
        message = message_for(options.work / self.work.name)
        phases = [(times * capacity, options.seconds), (0.5 * capacity, options.seconds)]
        loaded, after = asyncio.run(open_loop(port, message, phases))
        answered = [call.latency for call in loaded if call.status == 200]
        refused = [call.latency for call in loaded if call.status == 503]
        others = len(loaded) - len(answered) - len(refused)
        if others:
            self.notes.append(f"{bound} ms, {times:g} times: {others} requests failed")
        # The steady part: a queue needs a while to form.
        steady = [call for call in loaded if call.due >= options.seconds / 2]
        good = sum(call.status == 200 and call.latency <= options.patience for call in steady)
        slow = [call.due for call in after if call.status != 200 or call.latency > 5e-3 * self.work.milliseconds]
        recovery = max(slow) - options.seconds if slow else 0.0
        return [bound or "none", f"{times:g}", f"{good / (options.seconds / 2) / capacity:.2f}",
                quantile(answered, 0.5), quantile(answered, 0.99),
                f"{len(refused) / len(loaded):.2f}", quantile(refused, 0.99), f"{recovery:.1f}"]

    def rows(self, bound):
        options = self.options
        server = Server([options.hearth, "--model-repository", options.work, "--grpc-port", 0, "--http-port", 0,
                         "--metrics-port", 0, "--operator-threads", 1, "--max-queue-milliseconds", bound])
        try:
            message = message_for(options.work / self.work.name)
            load(server.port, message, 4, seconds=2)
            for times in options.loads:
                capacity = load(server.port, message, 4, seconds=options.seconds).rate
                yield self.row(server.port, bound, capacity, times)
                print(bound, times, f"{capacity:.0f} a second", file=sys.stderr, flush=True)
        finally:
            server.stop()

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}. Commit: {commit()}. {options.milliseconds:g} ms a call, {options.seconds:g} s of "
               f"each load; goodput within {options.patience:g} s; latencies in ms, the time until requests were quick "
               "again in s.")
        columns = ["bound, ms", "load by capacity", "goodput by capacity", "p50 of answers", "p99 of answers",
                   "refused", "p99 of refusals", "quick again after"]
        yield table(columns, [row for bound in (0, options.bound) for row in self.rows(bound)])
        if self.notes:
            yield "\n".join(f"- {note}." for note in self.notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", type=pathlib.Path, default=ROOT / "build/release/bin/hearthd")
    parser.add_argument("--loads", nargs="+", type=float, default=[1, 2, 10])
    parser.add_argument("--milliseconds", type=float, default=40, help="of a call")
    parser.add_argument("--bound", type=int, default=500, help="milliseconds")
    parser.add_argument("--patience", type=float, default=1, help="seconds")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--output", type=pathlib.Path)
    benchmark = Benchmark(parser.parse_args())
    run(benchmark, "overload", functools.partial(save_models, works=[benchmark.work]))


if __name__ == "__main__":
    main()
