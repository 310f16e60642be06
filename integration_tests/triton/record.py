"""Writes recorded.json, which test_triton.py holds hearthd against: what a Triton server answers.

python -m integration_tests.triton.record ENVIRONMENT      (server.py says how it is made)
"""

import json
import pathlib
import sys
import tempfile

from integration_tests.triton import answers, configurations, models
from integration_tests.triton.server import Triton

RECORDED = pathlib.Path(__file__).with_name("recorded.json")


def without_paths(value, repository):
    """Tracebacks of models in Python have paths of this machine, and so have errors of loads."""
    if isinstance(value, dict):
        return {key: without_paths(part, repository) for key, part in value.items()}
    if isinstance(value, list):
        return [without_paths(part, repository) for part in value]
    return value.partition("\n\nAt:")[0].replace(repository, "models") if isinstance(value, str) else value


def main(environment):
    with tempfile.TemporaryDirectory() as repository:
        models.write(repository, in_python=True)
        with Triton(environment, repository) as server:
            recorded = answers.of(server.http_port, server.grpc_port, server.metrics_port)
        with Triton(environment, repository, "--model-control-mode", "explicit") as server:
            recorded["explicit"] = answers.of_life(server.http_port)
        recorded = without_paths(recorded, repository)
    with tempfile.TemporaryDirectory() as repository:
        configurations.write(repository, in_python=True)
        with Triton(environment, repository, "--model-control-mode", "explicit") as server:
            recorded["loads"] = without_paths(answers.of_loads(server.http_port), repository)
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
