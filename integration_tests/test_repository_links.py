"""Symbolic links of a repository: those that Kubernetes makes are followed, those that lead out are not."""

import shutil

import pytest

from integration_tests import server_models
from integration_tests.daemon import put_model
from integration_tests.serving import answer_of, index_of


@pytest.fixture
def repository(tmp_path):
    made = tmp_path / "models"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def identity():
    return server_models.everyday()["identity"]


def test_a_mounted_volume_of_kubernetes_serves(hearthd, repository, identity):
    put_model(repository / "..2026_01_01", "m", identity)
    (repository / "..data").symlink_to("..2026_01_01")
    (repository / "m").symlink_to("..data/m")
    with hearthd(repository).client() as client:
        assert answer_of(client, "m") == [0.0]
        # Another state takes its place, and a load follows the links anew.
        put_model(repository / "..2026_01_02", "m", identity, config='name: "m" max_batch_size: 0')
        (repository / "..new").symlink_to("..2026_01_02")
        (repository / "..new").rename(repository / "..data")
        shutil.rmtree(repository / "..2026_01_01")
        client.load_model("m")
        assert answer_of(client, "m") == [0.0]


def test_links_that_lead_out_are_refused_and_the_setting_allows_them(hearthd, repository, identity, tmp_path):
    outside = tmp_path / "elsewhere"
    put_model(outside, "folder", identity)
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0")
    (repository / "folder").symlink_to(outside / "folder")
    put_model(repository, "archive", identity)
    (repository / "archive/1/model.pt").unlink()
    (repository / "archive/1/model.pt").symlink_to("../../../elsewhere/folder/1/model.pt")
    put_model(repository, "version", identity)
    shutil.rmtree(repository / "version/1")
    (repository / "version/1").symlink_to(outside / "folder/1")
    put_model(repository, "config", identity)
    (repository / "config/config.pbtxt").symlink_to(secret)
    with hearthd(repository, "--exit-on-error=false").client() as client:
        reasons = {name: reason for (name, _), (_, reason) in index_of(client).items()}
        assert set(reasons) == {"folder", "archive", "version", "config"}
        for name, reason in reasons.items():
            assert "is a link that leads out of the model repository" in reason, (name, reason)
            assert "root:x" not in reason
    with hearthd(repository, "--links-lead-out", "--exit-on-error=false").client() as client:
        for name in ("folder", "archive", "version"):
            assert answer_of(client, name) == [0.0]
