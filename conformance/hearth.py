"""Many cases through `hearth run --cases`: what it says of each, and the file it writes."""

from pathlib import Path

import command_line


class Hearth:
    """The binary under test. Thread-safe."""

    def __init__(self, binary=None, device="cpu"):
        self.binary = Path(binary) if binary else command_line.HEARTH
        self.device = device

    def run(self, cases, folder):
        """(line, output file) of each case. A crash or a hang is the line of its case, and another process goes on."""
        outputs = [folder / f"{index}.out.pt" for index in range(len(cases))]
        for output in outputs:
            output.unlink(missing_ok=True)
        rows = [
            (case.archive, case.inputs, output, case.method, case.seed) for case, output in zip(cases, outputs)
        ]
        timeout = max(case.timeout for case in cases)
        extra = ["--with-arguments", "--device", self.device]
        lines = command_line.run_cases(rows, timeout, extra, self.binary, limited=self.device == "cpu")
        return list(zip(lines, outputs))
