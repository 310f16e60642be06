"""The suites. A module here has NAME, TITLE (what it holds, for the report) and cases(folder, quick), which makes what it
needs below `folder`, keeping what is there from the last time, and gives its Cases. `quick` asks for a sample: fixed, and
small enough for scripts/test.

A suite whose cases are not archives beside inputs has judged(cases, hearth) as well, which runs them itself: it gives
(case, {"verdict", "reason"}) of each, with the verdicts of oracle.py."""
