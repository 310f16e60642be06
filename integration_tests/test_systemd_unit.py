"""The unit of deploy/systemd protects what it can, also with the drop-in for GPUs."""

import re
import subprocess

import pytest

from integration_tests import ROOT

UNIT = ROOT / "deploy/systemd/hearthd.service"


def exposure(unit):
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", unit]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    return float(re.search(r"Overall exposure level for \S+: ([\d.]+)", text)[1])


@pytest.mark.parametrize("drop_in", [None, "gpu.conf"])
def test_the_exposure_is_below_two(drop_in, tmp_path):
    unit = tmp_path / "hearthd.service"
    text = UNIT.read_text()
    if drop_in:
        text += (UNIT.parent / drop_in).read_text()
    unit.write_text(text)
    assert exposure(unit) < 2.0


def test_systemd_understands_every_line(tmp_path):
    unit = tmp_path / "hearthd.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/hearthd", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr


def test_a_stop_waits_longer_than_the_drain():
    seconds = int(re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), flags=re.MULTILINE)[1])
    schema = (ROOT / "proto/settings.proto").read_text()
    drain = float(re.search(r"drain_seconds = \d+ \[default = ([\d.]+)", schema)[1])
    assert seconds > drain + 15


def test_code_may_be_generated_and_written_files_are_few():
    lines = UNIT.read_text().splitlines()
    assert not any(line.startswith("MemoryDenyWriteExecute=") for line in lines)
    assert "ProtectSystem=strict" in lines and not any(line.startswith("ReadWritePaths=") for line in lines)


def test_a_start_ends_when_the_models_are_loaded_however_long_that_takes():
    lines = UNIT.read_text().splitlines()
    assert "Type=notify" in lines and "TimeoutStartSec=infinity" in lines
