"""One thing to run in torch.jit and in hearth."""

from dataclasses import asdict, dataclass
from typing import Optional


@dataclass(frozen=True)
class Case:
    name: str  # unique in its suite
    group: str  # what the report counts by: an operator, a family of models
    archive: str  # what torch.jit.save wrote, or a .py with functions that torch.jit.script takes
    inputs: str  # what torch.save wrote: a tuple of arguments, or a dict with "args" and "kwargs"
    method: str = ""  # "" is module(*args, **kwargs)
    seed: int = 0  # of the random operators
    skip: tuple = ()  # what is not compared, of compare.ASPECTS
    tolerance: Optional[tuple] = None  # (relative, absolute), where that of the dtype does not fit
    timeout: int = 60  # seconds
    raises: str = ""  # "Class: message" that hearth raises where torch.jit cannot be asked, because it would crash or hang

    def to_json(self):
        return asdict(self)

    @staticmethod
    def from_json(fields):
        return Case(**{**fields, "skip": tuple(fields["skip"]), "tolerance": fields["tolerance"] and tuple(fields["tolerance"])})
