"""What an installation has and does, as far as it needs no package: scripts/package --test installs those."""

import os
import shutil
import subprocess
import sys

import pytest

from integration_tests import ROOT
from integration_tests.command_line import BUILD
from integration_tests.daemon import Hearthd


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder, "--strip"], check=True, capture_output=True)
    return folder


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": os.environ["PATH"]} | environment,
    )  # fmt: skip


def version():
    [line] = [line for line in (ROOT / "jit/support/version.h").read_text().splitlines() if "kVersion" in line]
    return line.split('"')[1]


def test_installed_programs_find_libtorch_and_are_of_one_version(prefix):
    for program, says in (("hearthd", "hearthd"), ("tritonserver", "hearthd"), ("hearth", "hearth")):
        assert run(prefix / "bin" / program, "--version").stdout == f"{says} {version()}\n"
    assert (prefix / "bin/tritonserver").readlink() == (prefix / "bin/hearthd").relative_to(prefix / "bin")


def test_installed_programs_serve_the_installed_demo(prefix, monkeypatch):
    monkeypatch.setenv("HEARTHD", str(prefix / "bin/tritonserver"))
    server = Hearthd(prefix / "share/hearth/demo")
    assert server.ready["models_ready"] == 2
    assert server.stop() == 0


def test_an_installation_has_what_it_says(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert files >= {
        "lib/systemd/system/hearthd.service", "share/hearth/systemd/gpu.conf", "share/hearth/config/small.pbtxt",
        "share/hearth/config/models/text_encoder.pbtxt", "share/hearth/demo/digits/1/model.pt",
        "share/hearth/proto/hearth.proto", "share/hearth/proto/inference/service.proto", "share/doc/hearth/LICENSE",
        "share/doc/hearth/docs/install.md", "share/bash-completion/completions/hearth", "share/zsh/vendor-completions/_hearth",
        "share/fish/vendor_completions.d/hearth.fish",
    }  # fmt: skip
    assert not [name for name in files if name.endswith((".cpp", ".txt", ".h"))]
    assert "inspect" in (prefix / "share/bash-completion/completions/hearth").read_text()


@pytest.fixture
def wheel(tmp_path):
    """The wheel's package as pip would lay it out, its program a script that tells what it was started with."""
    shutil.copytree(ROOT / "deploy/wheel/hearth_server", tmp_path / "hearth_server")
    (tmp_path / "hearth_server/bin").mkdir()
    program = tmp_path / "hearth_server/bin/hearthd"
    program.write_text('#!/bin/sh\necho "$@" "at ${LD_LIBRARY_PATH:-its own place}"\nexit 3\n')
    program.chmod(0o755)
    return tmp_path


def libtorch(folder):
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/libtorch_cpu.so").touch()
    (folder / "__init__.py").write_text("raise ImportError('it is found, not imported')")
    return folder


def start(*folders, **environment):
    path = os.pathsep.join(map(str, folders))
    start = "import sys; sys.argv = ['hearthd', '--threads', '1']; from hearth_server import programs; programs.hearthd()"
    # Debian's Python, which has no torch of its own.
    return run("/usr/bin/python3", "-c", start, PYTHONPATH=path, **environment)


def test_the_wheels_programs_take_the_torch_that_is_installed(wheel, tmp_path):
    elsewhere = libtorch(tmp_path / "elsewhere/torch")
    done = start(wheel, elsewhere.parent, LD_LIBRARY_PATH="/else")
    assert (done.stdout, done.returncode) == (f"--threads 1 at {elsewhere}/lib:/else\n", 3)
    beside = libtorch(wheel / "torch")
    assert start(wheel).stdout == "--threads 1 at its own place\n"
    named = start(wheel, HEARTH_LIBTORCH=str(elsewhere))
    assert named.stdout == f"--threads 1 at {elsewhere}/lib\n"
    assert beside.exists()


def test_the_wheels_programs_say_what_they_lack(wheel):
    done = start(wheel)
    assert done.returncode == 1 and "install torch==2.11.0, or set HEARTH_LIBTORCH" in done.stderr
    done = start(wheel, HEARTH_LIBTORCH=str(wheel))
    assert done.returncode == 1 and f"no LibTorch in {wheel}: expected its lib/libtorch_cpu.so" in done.stderr


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], "hearthd --host 0.0.0.0"),
        (["--model-repository", "/models"], "hearthd --host 0.0.0.0 --model-repository /models"),
        (["tritonserver", "--model-store=/mnt"], "tritonserver --host 0.0.0.0 --model-store=/mnt"),
        (["hearth", "inspect"], "hearth inspect"),
    ],
)
def test_the_images_entry_point_serves_all_addresses(tmp_path, arguments, expected):
    for name in ("hearthd", "tritonserver", "hearth"):
        (tmp_path / name).write_text('#!/bin/sh\necho "${0##*/}" "$@"\n')
        (tmp_path / name).chmod(0o755)
    done = run(ROOT / "deploy/image/entrypoint", *arguments, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.stdout == expected + "\n"


def test_the_demos_folder_is_told():
    environment = {"PYTHONPATH": str(ROOT / "deploy/wheel")}
    done = run(sys.executable, "-m", "hearth_server", **environment)
    assert done.stdout == f"{ROOT}/deploy/wheel/hearth_server/share/hearth/demo\n"
