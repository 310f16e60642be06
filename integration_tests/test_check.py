"""hearthd --check: all that is wrong with settings and models is said, with its place, and nothing is served."""

import subprocess

from integration_tests import server_models as models
from integration_tests.daemon import binary, put_model


def check(repository, *flags):
    """(status, lines of standard output) of hearthd --check."""
    command = [binary(), "--check", "--model-repository", repository, *flags]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout.splitlines()


def test_what_is_right_ends_with_0_beside_a_server_with_the_same_ports(hearthd, tmp_path):
    put_model(tmp_path, "m", models.constant(1))
    put_model(tmp_path, "m", models.constant(2), version=2)
    put_model(tmp_path, "n", models.constant(3), config="max_batch_size: 4")
    server = hearthd({"other": models.constant(1)})
    ports = [f"--{port.replace('_', '-')}={server.ready[port]}" for port in ("grpc_port", "http_port", "metrics_port")]
    cache = ["--cache-dir", tmp_path / "cache", "--log-file", tmp_path / "log"]
    assert check(tmp_path, *ports, *cache) == (0, ["2 models, 0 problems"])
    assert not (tmp_path / "log").exists() and not (tmp_path / "cache").exists()


def test_everything_that_is_wrong_with_models_is_said_with_its_place(tmp_path):
    put_model(tmp_path, "good", models.constant(1))
    put_model(tmp_path, "syntax", models.constant(1), config="max_batch_size: 4\nnonsense: 1\n")
    put_model(tmp_path, "meaning", models.constant(1), config='name: "meaning"\n\nmax_batch_size: -4\n')
    put_model(tmp_path, "chosen", models.constant(1), config="version_policy { specific { versions: [ 1, 7 ] } }\n")
    broken = put_model(tmp_path, "broken", models.constant(1), config="version_policy { all {} }")
    (broken / "model.pt").write_bytes(b"no archive")
    put_model(tmp_path, "broken", models.constant(2), version=2)
    (put_model(tmp_path, "empty", models.constant(1)) / "model.pt").unlink()
    flags = ["--model-control-mode", "explicit", "--load-model", "absent"]
    status, lines = check(tmp_path, *flags, "--model-repository", tmp_path / "nowhere")
    assert status == 1
    assert lines[0].startswith(f"cannot read the model repository {tmp_path}/nowhere")
    assert lines[-1] == f"6 models, {len(lines) - 1} problems"
    text = "\n".join(lines)
    assert "load_model names 'absent', which no repository has" in text
    assert f"{tmp_path}/syntax/config.pbtxt:2:9: " in text
    assert f"{tmp_path}/meaning/config.pbtxt:3: the configuration of 'meaning': max_batch_size is -4" in text
    assert f"{tmp_path}/broken/1/model.pt: not a TorchScript archive: the file is no zip file" in lines
    assert f"{tmp_path}/broken/2" not in text
    assert f"{tmp_path}/empty/1: there is no file {tmp_path}/empty/1/model.pt" in text
    assert f"{tmp_path}/chosen/config.pbtxt" in text
    assert "good" not in text


def test_all_settings_that_are_wrong_are_said_with_their_lines(tmp_path):
    put_model(tmp_path / "models", "m", models.constant(1))
    settings = tmp_path / "settings.pbtxt"
    settings.write_text("threads: 1\nload_threads: 0\n\nmodel_control_mode: 'sometimes'\n")
    status, lines = check(tmp_path / "models", "--config", settings)
    assert status == 1
    assert lines == [
        f"{settings}:2: load_threads must be at least 1 and at most 1024; it is 0",
        f"{settings}:4: model_control_mode must be one of all, none, poll, explicit; it is 'sometimes'",
    ]
    # What a flag says is not in the file.
    status, lines = check(tmp_path / "models", "--config", settings, "--load-threads", 2000)
    assert lines[0] == "load_threads must be at least 1 and at most 1024; it is 2000"
    settings.write_text("threads: 1\nno_such_setting: 0\n")
    status, lines = check(tmp_path / "models", "--config", settings)
    assert status == 1 and len(lines) == 1 and lines[0].startswith(f"{settings}:2:")


def test_what_is_wrong_in_no_file_is_said_of_no_file(tmp_path):
    put_model(tmp_path / "one", "m", models.constant(1), config='name: "m"\n')
    put_model(tmp_path / "two", "m", models.constant(1), config='name: "m"\n')
    (tmp_path / "one/bare").mkdir()
    status, lines = check(tmp_path / "one", "--model-repository", tmp_path / "two")
    assert status == 1
    assert lines[0].startswith(f"{tmp_path}/one/bare: ")
    assert lines[1].startswith("more than one model repository has a model 'm'")


def test_settings_without_effect_are_in_the_log(tmp_path):
    put_model(tmp_path, "m", models.constant(1))
    command = [binary(), "--check", "--model-repository", str(tmp_path), "--unload-idle-models"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "unload_idle_models has no effect" in done.stderr


def test_files_that_settings_name_are_read(tmp_path):
    put_model(tmp_path / "models", "m", models.constant(1))
    tokens = tmp_path / "tokens"
    tokens.write_text("# roles name hash\ninfer somebody short\n")
    status, lines = check(tmp_path / "models", "--token-file", tokens)
    assert status == 1
    assert len(lines) == 2 and f"{tokens}:2" in lines[0]
