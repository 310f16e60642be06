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
    """make_environment with a stand-in for pip that notes each call and takes a while."""

    def setUp(self):
        super().setUp()
        self.clones = [self.folder / "one", self.folder / "two"]
        for clone in self.clones:
            (clone / "scripts").mkdir(parents=True)
            for name in ("lib.sh", "requirements-serve.txt", "requirements-client.txt"):
                shutil.copy2(ROOT / "scripts" / name, clone / "scripts" / name)

    def start(self, clone, fill):
        script = f"""
            set -euo pipefail
            source {clone}/scripts/lib.sh
            fill_environment() {{ echo call >> {self.folder}/calls; mkdir -p "$1/bin"; {fill}; touch "$1/pyvenv.cfg"; }}
            make_environment serve .venv-serve requirements-serve.txt requirements-client.txt
        """
        return subprocess.Popen(["bash", "-c", script], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "HEARTH_CACHE": str(self.folder / "cache")})

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


@unittest.skipUnless(shutil.which("ccache"), "ccache is not installed")
class CompilerCache(Folder):
    def test_a_clone_in_another_folder_compiles_nothing_again_the_precompiled_header_included(self):
        libtorch = subprocess.run(["bash", "-c", f"source {ROOT}/scripts/lib.sh; libtorch_of_environments"], check=True,
                                  capture_output=True, text=True).stdout.strip()
        environment = {**os.environ, "CCACHE_DIR": str(self.folder / "ccache"), "HEARTH_LIBTORCH": libtorch}
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
