// What this process uses of the machine.
#pragma once

#include <cstdint>

namespace hearth::server {

// Its resident memory.
uint64_t ResidentBytes();

// Processor time that it took since it began, of all of its threads.
double ProcessorSeconds();

}  // namespace hearth::server
