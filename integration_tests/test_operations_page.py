"""docs/operations.md against what it speaks of: every alert, every metric and every flag, and none that does not exist."""

import re
import subprocess

import pytest
import yaml

from integration_tests import ROOT
from integration_tests.daemon import binary
from integration_tests.test_metrics import documented

PAGE = (ROOT / "docs/operations.md").read_text()
OTHER_PROGRAMS = {"--plans"}  # of `hearth inspect`
FLAG = r"--[a-z][a-z0-9-]+"


@pytest.fixture(scope="module")
def flags():
    """Every flag of `hearthd --help`, other names of the same flag included."""
    told = subprocess.run([binary(), "--help"], capture_output=True, text=True, check=True).stdout
    return {name for names in re.findall(r"^  (-\S+)", told, re.M) for name in re.findall(rf"(?<![^,]){FLAG}", names)}


def first_cells(title):
    """What the tables of a section have in backticks in their first column."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [name for cell in re.findall(r"^\|([^|]*)\|", section, re.M) for name in re.findall(r"`([^`]+)`", cell)]


def test_every_alert_has_a_row_and_no_other():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/hearth.rules.yml").read_text())["groups"][0]["rules"]
    assert set(re.findall(r"^\| `(Hearth\w+)` \|", PAGE, re.M)) == {rule["alert"] for rule in rules}


def test_every_metric_and_flag_that_it_names_exists(flags):
    assert set(re.findall(r"`((?:nv|hearth)_\w+)`", PAGE)) <= set(documented())
    named = set(re.findall(rf"`[^`\n]*?({FLAG})", PAGE)) - OTHER_PROGRAMS
    assert len(flags) > 100 and named <= flags


def test_every_metric_has_one_row():
    assert sorted(first_cells("What each metric tells")) == sorted(documented())


def test_every_flag_has_its_place_in_one_row(flags):
    assert sorted(first_cells("Which flag to turn")) == sorted(flags)
