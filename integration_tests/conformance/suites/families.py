"""One model of each family that timm has, traced, float32, on one picture of the size that it was made for, or of 128 by 128
where it takes any. Compared as the suite `models` is."""

import functools

from integration_tests.conformance import model_cases

NAME = "families"
TITLE = "Families: one model of each family that timm has"

MODULES = ("timm_families",)
QUICK = 16  # models of a sample


def cases(folder, quick, device="cpu", sample=None):
    return model_cases.cases(MODULES, folder, sample or (QUICK if quick else None), device)


MADE_BY = model_cases.made_by(MODULES)
judged = functools.partial(model_cases.judged, MODULES)
