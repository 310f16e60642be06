// LibTorch's CPU allocator with memory counted for the account of the thread that asks (memory_account.h). Made of
// LibTorch's own functions, so that alignment, huge pages and filling with noise are as everywhere.
#pragma once

namespace hearth {

// Makes it the allocator of every CPU tensor made from now on. Idempotent; thread-safe.
void InstallCountingAllocator();

}  // namespace hearth
