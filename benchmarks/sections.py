"""Reports that are made section by section: printed as they come, and written into a file at the end."""

import multiprocessing
import sys


def make_apart(make, folder, benchmark):
    """Runs `make(folder)` in a process of its own: torch's threads must not stay in one that forks."""
    maker = multiprocessing.get_context("spawn").Process(target=make, args=(folder,))
    maker.start()
    maker.join()
    if maker.exitcode != 0:
        sys.exit(f"{benchmark}: the archives were not made")


def tell(sections, output):
    """`output` is a file's path, or None."""
    told = []
    for section in sections:
        print(section + "\n", flush=True)
        told.append(section)
    if output:
        output.write_text("\n\n".join(told) + "\n")
