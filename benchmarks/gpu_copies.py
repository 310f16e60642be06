"""How long copies between a host and a GPU take, by where in the host's memory they begin or end:

    python3 -m benchmarks.gpu_copies [--rounds N] [--output FILE.md]

`ordinary`: from memory as it is, or to it. `staged`: copied to page-locked memory first, and from there. `locked`: from
page-locked memory that the data is in already; to the host, into it. `host` is how long the caller is held up, the rest until the
GPU has it, or the host. One thread. It decides which of a request's tensors pass through page-locked memory.
"""

import argparse
import statistics
import time

import torch

from benchmarks.run import commit, machine, table

KIBIBYTES = [4, 32, 64, 150, 300, 600, 2400, 9600]
ROUNDS = 300


def median_us(rounds, copy, wait):
    """Of `copy`, in microseconds; `wait`: until the GPU is through with it."""
    times = []
    for _ in range(rounds + 20):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        copy()
        if wait:
            torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times[20:])


def row(kibibytes, rounds):
    numbers = kibibytes * 1024 // 4
    ordinary, locked = torch.randn(numbers), torch.randn(numbers).pin_memory()
    on_gpu = ordinary.cuda()

    def staged():
        torch.empty(numbers, pin_memory=True).copy_(ordinary).to("cuda", non_blocking=True)

    def down_locked():
        torch.empty(numbers, pin_memory=True).copy_(on_gpu, non_blocking=True)

    ways = [lambda: ordinary.to("cuda", non_blocking=True), staged, lambda: locked.to("cuda", non_blocking=True)]
    up = [median_us(rounds, way, wait) for way in ways for wait in (True, False)]
    down = [median_us(rounds, way, True) for way in (lambda: on_gpu.to("cpu"), down_locked)]
    return [str(kibibytes), *[f"{time:.0f}" for time in (*up, *down)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_num_threads(1)
    header = ["KiB", "ordinary, µs", "host", "staged", "host", "locked", "host", "to the host", "into locked memory"]
    text = f"Machine: {machine()}. Commit: {commit()}.\n\n"
    text += table(header, [row(kibibytes, options.rounds) for kibibytes in KIBIBYTES])
    print(text)
    if options.output:
        with open(options.output, "w") as output:
            output.write(text + "\n")


if __name__ == "__main__":
    main()
