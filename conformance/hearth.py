"""Many cases through `hearth run --cases`: what it says of each, and the file it writes."""

from pathlib import Path

import command_line


class Hearth:
    """The binary under test: the build's, one that is named, or that of a folder that scripts/bundle made. Thread-safe."""

    def __init__(self, path=None, device="cpu", tiers=()):
        """`tiers` are `hearth run`'s options for what runs the calls."""
        self.path = Path(path) if path else command_line.HEARTH
        self.binary = self.path
        self.program = [self.binary]
        if self.binary.is_dir():
            self.program = [self.binary / "run", "hearth"]
            self.binary = self.binary / "bin" / "hearth"
        self.device = device
        self.tiers = list(tiers)

    def run(self, cases, folder):
        """(line, output file) of each case. A crash or a hang is the line of its case, and another process goes on."""
        outputs = [folder / f"{index}.out.pt" for index in range(len(cases))]
        for output in outputs:
            output.unlink(missing_ok=True)
        rows = [
            (case.archive, case.inputs, output, case.method, case.seed) for case, output in zip(cases, outputs)
        ]
        timeout = max(case.timeout for case in cases)
        extra = ["--with-arguments", "--device", self.device, *self.tiers]
        lines = command_line.run_cases(rows, timeout, extra, self.program, limited=self.device == "cpu")
        return list(zip(lines, outputs))
