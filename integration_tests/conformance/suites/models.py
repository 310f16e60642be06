"""Models that nobody here wrote: all of torchvision scripted, and architectures of timm and transformers traced. How their
answers are compared, and when a plan's may be farther away: model_cases.py."""

import functools

from integration_tests.conformance import model_cases

NAME = "models"
TITLE = "Models: torchvision scripted, timm and transformers traced"

MODULES = ("torchvision_models", "timm_models", "transformers_models")
QUICK = 12  # models of a sample


def cases(folder, quick, device="cpu", sample=None):
    return model_cases.cases(MODULES, folder, sample or (QUICK if quick else None), device)


MADE_BY = model_cases.made_by(MODULES)
judged = functools.partial(model_cases.judged, MODULES)
