#!/usr/bin/env python3
"""Runs the benchmarks and prints their tables: python -m benchmarks.run [--bin DIR] [--work DIR] [--only NAME ...] [--output FILE.md].

Both sides of every comparison run in one invocation, alternating; a figure is the median over the rounds, and what
counts is the ratio. NAMEs: interpreter, load, grpc, rest, tls, memory.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks import ROOT
from integration_tests.certificates import Authority

# Until the plans of a model that was called are made, and the memory that this took is given back.
PLANS_SECONDS = 15


def machine() -> str:
    model = "unknown processor"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"


def commit() -> str:
    """What the programs were built from: the checkout's, or where nothing was built what deploy/bundle noted."""
    noted = ROOT / "dist" / "commit"
    if noted.exists() and not (ROOT / "build" / "release").exists():
        return noted.read_text().strip()
    named = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return named.stdout.strip() if named.returncode == 0 else "unknown"


def table(header, rows) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def geometric_mean(ratios) -> float:
    return statistics.geometric_mean(ratios)


class Suite:
    def __init__(self, binaries: pathlib.Path, archives: pathlib.Path, rounds: int):
        self.binaries = binaries
        self.archives = archives
        self.rounds = rounds

    def output(self, *command) -> str:
        return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout

    def interpreter(self) -> str:
        """One thread; medians of repetitions in random order. The rival is its faster form."""
        text = self.output(self.binaries / "interpreter_benchmark", self.archives / "programs",
                           f"--benchmark_repetitions={self.rounds * 3}", "--benchmark_enable_random_interleaving=true",
                           "--benchmark_min_time=0.05", "--benchmark_report_aggregates_only=true",
                           "--benchmark_format=json")
        medians, account = {}, {}
        for entry in json.loads(text)["benchmarks"]:
            if entry["aggregate_name"] == "median":
                medians[entry["run_name"]] = entry["real_time"] / 1e6
                if "ratio" in entry:
                    account[entry["run_name"].split("/")[1]] = entry["ratio"]
        rows, ratios = [], []
        for name in sorted(account):
            ours = medians[f"hearth/{name}"]
            optimized, plain = medians[f"torch_jit/{name}"], medians[f"torch_jit_unoptimized/{name}"]
            ratios.append(ours / min(optimized, plain))
            rows.append([name, f"{ours:.3f}", f"{optimized:.3f}", f"{plain:.3f}", f"{ratios[-1]:.2f}",
                         f"{account[name]:.2f}"])
        rows.append(["geometric mean", "", "", "", f"{geometric_mean(ratios):.2f}", f"{geometric_mean(account.values()):.2f}"])
        return "## Interpreter\n\n" + table(
            ["program", "hearth, ms", "torch.jit, ms", "torch.jit without optimiser, ms", "ratio to the faster",
             "with a memory account by without"], rows)

    def load(self) -> str:
        """A process for each measurement; the archive's pages dropped from the cache before each cold one."""
        rows, ratios = [], {"warm": [], "cold": []}
        for folder in sorted((self.archives / "models").iterdir()):
            archive = folder / "1" / "model.pt"
            for cache in ("warm", "cold"):
                times = {"hearth": [], "torch": []}
                for _ in range(self.rounds):
                    for engine in times:
                        with open(archive, "rb") as file:
                            os.fsync(file.fileno())
                            if cache == "cold":
                                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                            else:
                                while file.read(1 << 24):
                                    pass
                        times[engine].append(json.loads(
                            self.output(self.binaries / "load_benchmark", engine, archive, folder / "inputs.pt")))
                load = {e: statistics.median(t["load_ms"] for t in times[e]) for e in times}
                answer = {e: statistics.median(t["load_ms"] + t["first_call_ms"] for t in times[e]) for e in times}
                ratios[cache].append(load["hearth"] / load["torch"])
                rows.append([folder.name, cache, f"{load['hearth']:.1f}", f"{load['torch']:.1f}", f"{ratios[cache][-1]:.2f}",
                             f"{answer['hearth']:.1f}", f"{answer['torch']:.1f}",
                             f"{answer['hearth'] / answer['torch']:.2f}"])
        for cache, values in ratios.items():
            rows.append(["geometric mean", cache, "", "", f"{geometric_mean(values):.2f}", "", "", ""])
        return "## From archive file to first answer\n\n" + table(
            ["archive", "page cache", "hearth load, ms", "torch.jit.load, ms", "ratio", "hearth first answer, ms",
             "torch.jit first answer, ms", "ratio"], rows)

    def start_hearthd(self, repository: pathlib.Path, *flags):
        """The process, and the ports that it says it has."""
        process = subprocess.Popen(
            [str(self.binaries / "hearthd"), "--model-repository", str(repository), "--grpc-port", "0", "--http-port", "0",
             "--metrics-port", "0", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return process, json.loads(process.stdout.readline())

    def start_echo(self, name, *arguments):
        """The process, and its port."""
        process = subprocess.Popen([str(self.binaries / name), "0", *arguments], stdout=subprocess.PIPE, text=True)
        return process, process.stdout.readline().split()[-1]

    def grpc(self) -> str:
        hearthd, ready = self.start_hearthd(self.archives / "serving")
        echo, port = self.start_echo("grpc_echo_server")
        return "## gRPC: an identity model against a bare echo\n\n" + self.side_by_side(
            {"hearthd": ["grpc_client", f"127.0.0.1:{ready['grpc_port']}"], "echo": ["grpc_client", f"127.0.0.1:{port}"]},
            [hearthd, echo])

    def rest(self) -> str:
        hearthd, ready = self.start_hearthd(self.archives / "serving")
        echo, port = self.start_echo("http_echo_server")
        blocking, blocking_port = self.start_echo("http_echo_server", "blocking")
        ports = {"hearthd": ready["http_port"], "echo": port, "blocking echo": blocking_port}
        return "## REST, binary tensors: an identity model against a bare echo\n\n" + self.side_by_side(
            {name: ["http_client", "127.0.0.1", port] for name, port in ports.items()}, [hearthd, echo, blocking])

    def tls(self) -> str:
        sections = []
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Authority(pathlib.Path(folder)).issue("server")
            flags = [f"--{port}-{what}" for port in ("grpc", "http") for what in (
                "use-ssl=on", f"server-cert={certificate}", f"server-key={key}")]
            for protocol in ("gRPC", "REST"):
                plain, ready = self.start_hearthd(self.archives / "serving")
                tls, secured = self.start_hearthd(self.archives / "serving", *flags)
                ends = {"TLS": secured, "none": ready}
                if protocol == "gRPC":
                    clients = {name: ["grpc_client", f"localhost:{ports['grpc_port']}"] for name, ports in ends.items()}
                else:
                    clients = {name: ["http_client", "127.0.0.1", ports["http_port"]] for name, ports in ends.items()}
                sections.append(f"## {protocol} over TLS: hearthd's identity model against the same without\n\n" + self.side_by_side(
                    clients, [plain, tls], {"TLS": [certificate.parent / "ca.crt"]}))
        return "\n\n".join(sections)

    def side_by_side(self, clients_of, processes, last_arguments=None) -> str:
        """A table of a server and others by size of message and number of clients; ends the processes."""
        one, *others = clients_of
        rows = []
        try:
            for size, label in ((1024, "1 KB"), (600 * 1024, "600 KB"), (8 << 20, "8 MB")):
                for clients in (1, 16):
                    results = {name: [] for name in clients_of}
                    for _ in range(self.rounds):
                        for name, (client, *address) in clients_of.items():
                            results[name].append(json.loads(self.output(
                                self.binaries / client, *address, "identity", size, clients, 1.5,
                                *(last_arguments or {}).get(name, []))))
                    p50 = {n: statistics.median(r["p50_us"] for r in results[n]) for n in results}
                    rate = {n: statistics.median(r["per_second"] for r in results[n]) for n in results}
                    cells = [f"{p50[one]:.0f}"]
                    for other in others:
                        cells += [f"{p50[other]:.0f}", f"{p50[one] / p50[other]:.2f}"]
                    cells.append(f"{rate[one]:.0f}")
                    for other in others:
                        cells += [f"{rate[other]:.0f}", f"{rate[other] / rate[one]:.2f}"]
                    rows.append([label, clients, *cells])
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
                process.wait(20)
        header = ["message", "clients"]
        for unit in (" p50, µs", ", requests/s"):
            header.append(one + unit)
            for other in others:
                header += [other + unit, "ratio"]
        return table(header, rows)

    @staticmethod
    def resident_mib(pid: int) -> float:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"no resident size of process {pid}")

    def memory(self) -> str:
        folder = self.archives / "models" / "resnet50"
        rival = subprocess.Popen([str(self.binaries / "libtorch_memory"), str(folder / "1" / "model.pt"),
                                  str(folder / "inputs.pt")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        rival.stdout.readline()
        theirs = self.resident_mib(rival.pid)
        rival.communicate("\n")
        rows = [["LibTorch alone, torch.jit", f"{theirs:.0f}", ""]]
        for name, flags in (("hearthd", ()), ("hearthd --compiler off", ("--compiler", "off"))):
            ours = self.hearthd_memory(folder, *flags)
            rows.append([name, f"{ours:.0f}", f"{ours / theirs:.2f}"])
        return f"## Memory: resnet50 loaded, called five times and left alone for {PLANS_SECONDS} s\n\n" + table(["process", "resident, MiB", "ratio"], rows)

    def hearthd_memory(self, folder: pathlib.Path, *flags) -> float:
        with tempfile.TemporaryDirectory() as repository:
            os.symlink(folder, pathlib.Path(repository) / "resnet50")
            hearthd, ready = self.start_hearthd(pathlib.Path(repository), "--links-lead-out", *flags)
            try:
                for _ in range(5):
                    self.output(self.binaries / "hearth", "infer", f"127.0.0.1:{ready['grpc_port']}", "resnet50", "--random", "--json",
                                "--shape", "x=1x3x224x224")
                time.sleep(PLANS_SECONDS)
                return self.resident_mib(hearthd.pid)
            finally:
                hearthd.send_signal(signal.SIGTERM)
                hearthd.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--only", nargs="*", default=["interpreter", "load", "grpc", "rest", "tls", "memory"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.work / "serving").exists():
        subprocess.run([sys.executable, "-m", "benchmarks.make_archives", str(options.work)], cwd=ROOT, check=True)
    suite = Suite(options.bin, options.work, options.rounds)
    sections = [f"Machine: {machine()}. Commit: {commit()}. Medians of {options.rounds} alternating rounds."]
    for name in options.only:
        print(f"{name} ...", file=sys.stderr, flush=True)
        sections.append(getattr(suite, name)())
    text = "\n\n".join(sections) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
