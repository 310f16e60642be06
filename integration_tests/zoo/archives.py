"""Archives of the models that tests serve (served_models.py), their inputs, and what torch.jit answers. Made once into a folder of the cache, shared by every checkout:

    NAME/model.pt      the archive
    NAME/inputs.pt     torch.save of the tuple of arguments
    NAME/expected.pt   torch.save of torch.jit.load(model.pt)(*inputs), in plain containers
    NAME/names.json    "inputs": the arguments' names; "outputs": the paths of the answer's leaves, named tuples by field

`python -m integration_tests.zoo.archives` makes what is missing and prints the folder.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from integration_tests import networks
from integration_tests.networks import SEED, silence
from integration_tests.values import as_tensor, leaves, plain
from integration_tests.zoo import recipe, served_models, torchvision_models

ZOO = {each.name: each for each in served_models.recipes()}


@dataclass(frozen=True)
class Model:
    """A member of the zoo on disk."""

    name: str
    folder: Path

    @property
    def archive(self):
        return self.folder / "model.pt"

    @property
    def inputs_file(self):
        return self.folder / "inputs.pt"

    @property
    def recipe(self):
        return ZOO[self.name]

    def inputs(self):
        return torch.load(self.inputs_file, weights_only=True)

    def expected(self):
        return torch.load(self.folder / "expected.pt", weights_only=True)

    def names(self):
        return json.loads((self.folder / "names.json").read_text())

    def served(self, answer):
        """The named tensors that a server gives for `answer`. One that is a tensor itself is called OUTPUT__0."""
        tensors = [as_tensor(leaf) for _, leaf in leaves(answer)]
        return {path or "OUTPUT__0": tensor for path, tensor in zip(self.names()["outputs"], tensors)}


def make(name, folder):
    torch.manual_seed(SEED)
    module, inputs = ZOO[name].make()
    module.eval()
    torch.jit.save(module, folder / "model.pt")
    torch.save(tuple(inputs), folder / "inputs.pt")
    oracle = torch.jit.load(folder / "model.pt")
    with torch.no_grad():
        answer = oracle(*torch.load(folder / "inputs.pt", weights_only=True))
    if found := silence(answer, ZOO[name].at_least):
        raise AssertionError(f"{name}: {found}")
    torch.save(plain(answer), folder / "expected.pt")
    names = {
        "inputs": [argument.name for argument in oracle.forward.schema.arguments][1:],
        "outputs": [path for path, _ in leaves(answer)],
    }
    (folder / "names.json").write_text(json.dumps(names))


def cache_folder():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hearth"
    return Path(os.environ.get("HEARTH_CACHE") or default)


def zoo_folder():
    made_by = [Path(__file__), *(Path(module.__file__) for module in (recipe, served_models, torchvision_models, networks))]
    key = b"".join(path.read_bytes() for path in made_by) + torch.__version__.encode()
    return cache_folder() / f"zoo-{hashlib.sha256(key).hexdigest()[:12]}"


def ensure(names=None, progress=lambda text: None):
    """The zoo's members (all, or those named), made if they are not there yet. Safe for several processes at once."""
    folder = zoo_folder()
    folder.mkdir(parents=True, exist_ok=True)
    models = {name: Model(name, folder / name) for name in (names or ZOO)}
    if all(model.folder.is_dir() for model in models.values()):
        return models
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, model in models.items():
            if model.folder.is_dir():
                continue
            start = time.monotonic()
            making = folder / f".making-{name}"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make(name, making)
            making.rename(model.folder)
            progress(f"{name}: made in {time.monotonic() - start:.1f} s")
    return models


def repository(models, folder):
    """Lays `models` out below `folder` as a daemon's repository."""
    for name, model in models.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.pt").symlink_to(model.archive)
    return folder


def operator_library():
    """The file that registers torchvision's operators."""
    import torchvision

    return next(Path(torchvision.__file__).parent.glob("_C*.so"))


if __name__ == "__main__":
    ensure(sys.argv[1:] or None, progress=lambda text: print(text, file=sys.stderr))
    print(zoo_folder())
