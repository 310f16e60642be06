// LibTorch's CPU allocator with memory counted for the account of the thread that asks (memory_account.h). Made of
// LibTorch's own functions, so that alignment, huge pages and filling with noise are as everywhere. What has a place
// already (placed_allocation.h) gets that.
#pragma once

#include <cstddef>

namespace hearth {

// Makes it the allocator of every CPU tensor made from now on. Idempotent; thread-safe.
void InstallCountingAllocator();

// Up to so many bytes of blocks of 32 MiB or more that tensors have freed are kept for other tensors (kept_memory.h);
// at first none. Thread-safe, as what follows.
void KeepFreedMemory(size_t limit);
// Gives all of that back now.
void ReleaseKeptMemory();
size_t KeptMemoryBytes();
// The same, with what malloc keeps: for when a model, or code that did not become one, has freed much in small pieces.
void ReturnFreedMemory();
// Of what malloc keeps, that which this thread freed: for when a request was refused for what it made.
void ReturnFreedMemoryOfThread();

}  // namespace hearth
