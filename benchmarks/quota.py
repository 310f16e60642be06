"""Limits on the processor time of a benchmark's processes: a cgroup's quota, or one that is kept by stopping them."""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time


class NoQuota(Exception):
    """Why there is no quota of one kind."""


def cgroup_folders():
    """(version, folder) of the groups below which one with a processor quota may be made."""
    for line in open("/proc/self/mounts"):
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup2":
            # Only the root may hold processes and groups with controllers.
            yield 2, pathlib.Path(folder)
        elif kind == "cgroup" and "cpu" in options.split(","):
            own = pathlib.Path(folder + own_cpu_group())
            yield 1, own if own.exists() else pathlib.Path(folder)


def own_cpu_group() -> str:
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.rstrip("\n").split(":", 2)
        if "cpu" in controllers.split(","):
            return path
    return "/"


def limit(version: int, root: pathlib.Path, group: pathlib.Path, quota: float):
    """Makes the group with the quota; it holds no process yet."""
    period = 100_000
    try:
        if version == 2:
            if "cpu" not in (root / "cgroup.controllers").read_text().split():
                raise NoQuota(f"cgroup 2 at {root} has no cpu controller")
            (root / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        if version == 2:
            (group / "cpu.max").write_text(f"{int(quota * period)} {period}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(int(quota * period)))
    except OSError as error:
        raise NoQuota(f"cgroup {version} at {root}: {error.strerror} ({error.filename})") from error


BUSY = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"


@contextlib.contextmanager
def busy_processes(processors, seconds=3600.0, group=None):
    """One on each of the processors, in the group if one is given, for so long or until the end of the context."""
    def enter(processor):
        os.sched_setaffinity(0, [processor])
        if group is not None:
            (group / "cgroup.procs").write_text("0")

    processes = [subprocess.Popen([sys.executable, "-c", BUSY.format(seconds=seconds)],
                                  preexec_fn=functools.partial(enter, processor)) for processor in processors]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def processors_got(processors, group) -> float:
    """How many processors two busy processes get in the group."""
    seconds = 1.0
    before = os.times()
    with busy_processes(processors, seconds, group) as processes:
        for process in processes:
            process.wait()
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) / seconds


@contextlib.contextmanager
def cgroup(quota: float, processors, notes: list):
    """The folder of a cgroup that has the quota and was seen to keep it."""
    reasons = []
    for version, root in cgroup_folders():
        group = root / f"hearth-benchmark-{os.getpid()}"
        try:
            limit(version, root, group, quota)
            try:
                used = processors_got(processors, group)
                if used > 1.15 * quota:
                    raise NoQuota(f"cgroup {version} at {root}: two busy processes got {used:.2f} processors in spite of it")
                notes.append(f"cgroup {version}; two busy processes got {used:.2f} processors of {quota:g}")
                yield group
                return
            finally:
                # The kernel lets go of processes a little after they have been waited for.
                for _ in range(100):
                    with contextlib.suppress(OSError):
                        group.rmdir()
                        break
                    time.sleep(0.05)
        except NoQuota as reason:
            reasons.append(str(reason))
    raise NoQuota("; ".join(reasons) or "no cgroup hierarchy is mounted")


@contextlib.contextmanager
def stopping(process: subprocess.Popen, quota: float, period: float = 0.1):
    """Keeps the process to the quota as a cgroup does, if a little later: in every period it is stopped (SIGSTOP) once it
    has used its share. Gives a list whose length is how often that was."""
    clock = ~process.pid << 3 | 2  # as clock_getcpuclockid(3) makes it: the time of all threads
    ended = threading.Event()
    stops = []

    def keep():
        while not ended.is_set() and process.poll() is None:
            end = time.monotonic() + period
            try:
                budget = time.clock_gettime(clock) + quota * period
                while time.monotonic() < end and time.clock_gettime(clock) < budget:
                    time.sleep(0.001)
            except OSError:  # it has ended
                return
            if (left := end - time.monotonic()) > 0:
                process.send_signal(signal.SIGSTOP)
                stops.append(left)
                time.sleep(left)
                process.send_signal(signal.SIGCONT)

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield stops
    finally:
        ended.set()
        keeper.join()
