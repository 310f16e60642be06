"""Models of transformers and torchaudio that no other suite names. Compared as the suite `models` is."""

import functools

from integration_tests.conformance import model_cases

NAME = "strangers"
TITLE = "Strangers: models of transformers and torchaudio that no other suite names"

MODULES = ("strangers",)
QUICK = 8  # models of a sample


def cases(folder, quick, device="cpu", sample=None):
    return model_cases.cases(MODULES, folder, sample or (QUICK if quick else None), device)


MADE_BY = model_cases.made_by(MODULES)
judged = functools.partial(model_cases.judged, MODULES)
