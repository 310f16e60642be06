#!/usr/bin/env python3
"""Tests of what the scripts promise: environments made once and never half, clones that share the compiler's cache."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def copy_tree(target):
    """The tracked files as they are now, in another folder, as a fresh clone has them."""
    for name in subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True,
                               text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hearth-scripts-"))
        self.addCleanup(shutil.rmtree, self.folder)


class Environments(Folder):
    """make_environment and make_libtorch with stand-ins for pip that note each call and take a while."""

    def setUp(self):
        super().setUp()
        self.clones = [self.folder / "one", self.folder / "two"]
        for clone in self.clones:
            (clone / "scripts").mkdir(parents=True)
            for file in (ROOT / "scripts").glob("requirements-*.txt"):
                shutil.copy2(file, clone / "scripts")
            shutil.copy2(ROOT / "scripts" / "lib.sh", clone / "scripts")

    def start(self, clone, fill, script="make_environment serve .venv-serve requirements-client.txt"):
        """`fill` is what is done in place of pip, in a function of which $1 is the folder to fill."""
        script = f"""
            set -euo pipefail
            source {clone}/scripts/lib.sh
            fill_environment() {{ echo call >> {self.folder}/calls; mkdir -p "$1/bin"; {fill}; touch "$1/pyvenv.cfg"; }}
            fill_folder() {{ echo call >> {self.folder}/calls; mkdir -p "$1"; {fill}; }}
            {script}
        """
        return subprocess.Popen(["bash", "-c", script], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "HEARTH_CACHE": str(self.folder / "cache")})

    def run_script(self, clone, fill, script):
        process = self.start(clone, fill, script)
        return process, process.communicate()[1]

    def calls(self):
        return len((self.folder / "calls").read_text().split())

    def test_two_checkouts_that_race_make_it_once_and_share_it(self):
        racing = [self.start(clone, "sleep 0.5; echo \"#!$1/bin/python\" > $1/bin/tool") for clone in self.clones]
        for process in racing:
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.calls(), 1)
        folders = {(clone / ".venv-serve").resolve() for clone in self.clones}
        self.assertEqual(len(folders), 1)
        tool = folders.pop() / "bin/tool"
        self.assertEqual(tool.read_text(), f"#!{tool.parent}/python\n")

    def test_one_that_breaks_is_not_used_and_is_made_again(self):
        process = self.start(self.clones[0], "false")
        process.communicate()
        self.assertNotEqual(process.returncode, 0)
        self.assertFalse((self.clones[0] / ".venv-serve").exists())
        process = self.start(self.clones[0], "true")
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertTrue((self.clones[0] / ".venv-serve/pyvenv.cfg").exists())

    def test_other_pins_are_another_environment(self):
        self.start(self.clones[0], "true").communicate()
        with open(self.clones[1] / "scripts/requirements-client.txt", "a") as pins:
            pins.write("# one more line\n")
        self.start(self.clones[1], "true").communicate()
        self.assertNotEqual(*[(clone / ".venv-serve").resolve() for clone in self.clones])

    # A stand-in for the wheels: torch first, then a library that lies in a folder that torch's wheels have filled too.
    WHEELS = """case $2 in
        *-whole.txt) mkdir -p "$1/nvidia/lib"; echo 2 > "$1/nvidia/lib/dnn"; echo 3 > "$1/nvidia/lib/blas" ;;
        *) mkdir -p "$1/torch" "$1/nvidia/lib"; echo 1 > "$1/nvidia/lib/runtime" ;;
    esac"""

    def libraries(self):
        [folder] = (self.folder / "cache").glob("libtorch-*")
        return sorted(path.name for path in (folder / "nvidia/lib").iterdir())

    def test_what_serving_installed_is_where_the_tests_find_it_and_is_completed_there(self):
        for step, count, libraries in (("make_libtorch", 1, ["runtime"]),
                                       ("make_libtorch whole", 2, ["blas", "dnn", "runtime"]),
                                       ("make_libtorch whole; make_libtorch", 2, ["blas", "dnn", "runtime"])):
            process, errors = self.run_script(self.clones[0], self.WHEELS, step)
            self.assertEqual(process.returncode, 0, errors)
            self.assertEqual((self.calls(), self.libraries()), (count, libraries))

    def test_libtorch_that_breaks_while_it_is_completed_still_serves_and_is_completed_later(self):
        breaks = self.WHEELS.replace("echo 3", "false; echo 3")
        process, _ = self.run_script(self.clones[0], breaks, "make_libtorch whole")
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(self.libraries(), ["runtime"])
        process, errors = self.run_script(self.clones[1], self.WHEELS, "make_libtorch whole")
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.libraries(), ["blas", "dnn", "runtime"])

    def test_the_environments_of_serving_and_testing_have_one_libtorch(self):
        make = """make_libtorch; LIBTORCH=$(libtorch_folder) make_environment {} {} requirements-client.txt
                  libtorch_of_environments >> {}/found"""
        link = 'if [[ -n ${LIBTORCH:-} ]]; then ln -s "../${LIBTORCH##*/}" "$1/libtorch"; fi'
        for name, environment in (("serve", ".venv-serve"), ("test", ".venv")):
            script = make.format(name, environment, self.folder)
            process, errors = self.run_script(self.clones[0], f"{self.WHEELS}; {link}", script)
            self.assertEqual(process.returncode, 0, errors)
        found = (self.folder / "found").read_text().split()
        self.assertEqual(len(found), 2)
        self.assertEqual(found[0], found[1])
        self.assertTrue((self.clones[0] / ".venv").resolve() != (self.clones[0] / ".venv-serve").resolve())


class Packages(Folder):
    def setUp(self):
        super().setUp()
        self.clone = self.folder / "clone"
        copy_tree(self.clone)

    def script(self, *command):
        return subprocess.run([self.clone / command[0], *command[1:]], capture_output=True, text=True, cwd=self.folder)

    def test_serving_from_a_package_says_which_it_lacks(self):
        done = self.script("scripts/serve", "--package", "--once")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no wheel in build/packages", done.stderr)
        done = self.script("scripts/serve", "--package", "nowhere.whl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere.whl", done.stderr)

    def test_an_unknown_package_is_named(self):
        done = self.script("scripts/package", "rpm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not 'rpm'", done.stderr)

    def test_what_the_client_is_made_with_is_made_again_only_when_its_sources_change(self):
        made = self.clone / "clients/python/hearth/protocol.binpb"
        self.assertEqual(self.script("clients/python/make_protocol").returncode, 0)
        [line] = [line for line in (ROOT / "jit/support/version.h").read_text().splitlines() if "kVersion" in line]
        self.assertEqual((made.parent / "VERSION").read_text().strip(), line.split('"')[1])
        first = made.stat().st_mtime_ns
        self.script("clients/python/make_protocol")
        self.assertEqual(made.stat().st_mtime_ns, first)
        with open(self.clone / "proto/hearth.proto", "a") as source:
            source.write("message Another {}\n")
        self.script("clients/python/make_protocol")
        self.assertIn(b"Another", made.read_bytes())
        self.assertEqual(sorted(path.name for path in made.parent.glob(".new*")), [])


@unittest.skipUnless(shutil.which("ccache"), "ccache is not installed")
class CompilerCache(Folder):
    def test_a_clone_in_another_folder_compiles_nothing_again_the_precompiled_header_included(self):
        libtorch = subprocess.run(["bash", "-c", f"source {ROOT}/scripts/lib.sh; libtorch_of_environments"], check=True,
                                  capture_output=True, text=True).stdout.strip()
        environment = {**os.environ, "CCACHE_DIR": str(self.folder / "ccache"), "HEARTH_LIBTORCH": libtorch,
                       "HEARTH_ONEDNN": os.environ.get("HEARTH_ONEDNN", str(ROOT / ".onednn"))}
        results = []
        for name in ("one", "another/folder"):
            clone, log = self.folder / name, self.folder / (name.replace("/", "-") + ".log")
            copy_tree(clone)
            environment["CCACHE_STATSLOG"] = str(log)
            for command in (["cmake", "-S", clone, "--preset", "release"],
                            ["ninja", "-C", clone / "build/release", "hearth_support"]):
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            results.append([line for line in log.read_text().split() if not line.startswith("#")])
        compiled, found = (sum(line == what for line in lines)
                           for lines, what in zip(results, ("cache_miss", "direct_cache_hit")))
        self.assertGreaterEqual(compiled, 3)
        self.assertEqual(found, compiled)
        self.assertNotIn("cache_miss", results[1])


if __name__ == "__main__":
    unittest.main()
