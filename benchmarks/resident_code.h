// So that a latency is nobody's wait for the disk: what a machine's page cache has lost of a library is read again when
// some request is the first to run it, which may take seconds.
#pragma once

#include <cstdint>

namespace hearth::benchmarks {

// Reads in the code and constants of this program and of all libraries that it has by now. Does nothing before
// Linux 5.14.
void ReadInCode();

// How often this process has waited for a page from a disk.
uint64_t MajorFaults();

}  // namespace hearth::benchmarks
