"""docs/operations.md against what it speaks of: every alert, and no metric or flag that does not exist."""

import re

import yaml

from integration_tests import ROOT
from integration_tests.test_metrics import documented

PAGE = (ROOT / "docs/operations.md").read_text()
OTHER_PROGRAMS = {"--plans"}  # of `hearth inspect`


def test_every_alert_has_a_row_and_no_other():
    rules = yaml.safe_load((ROOT / "deploy/prometheus/hearth.rules.yml").read_text())["groups"][0]["rules"]
    assert set(re.findall(r"^\| `(Hearth\w+)` \|", PAGE, re.M)) == {rule["alert"] for rule in rules}


def test_every_metric_and_flag_that_it_names_exists():
    assert set(re.findall(r"`((?:nv|hearth)_\w+)`", PAGE)) <= set(documented())
    flags = set(re.findall(r"(--[a-z][a-z-]+)", (ROOT / "docs/configuration.md").read_text()))
    named = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]+)", PAGE)) - OTHER_PROGRAMS
    assert len(named) > 8 and named <= flags
