#include "jit/support/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <string>
#include <thread>

#include "jit/support/kept_memory.h"
#include "jit/support/memory_account.h"
#include "jit/support/placed_allocation.h"

// jemalloc's, in a program that is linked with it.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                                             size_t new_size);

namespace hearth {
namespace {

// Never destroyed: tensors of static storage are freed late.
KeptMemory& Kept() {
  static KeptMemory& kept = *new KeptMemory(&c10::free_cpu);
  return kept;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  const size_t usable = malloc_usable_size(memory);
  if (MemoryAccount::Current() != nullptr) MemoryAccount::Freed(usable);
  if (usable < KeptMemory::kLeastBytes) return c10::free_cpu(memory);
  Kept().Give(memory, usable);
}

void* Allocate(size_t bytes) {
  if (bytes < KeptMemory::kLeastBytes) return c10::alloc_cpu(bytes);
  if (void* kept = Kept().Take(bytes)) return kept;
  try {
    return c10::alloc_cpu(Kept().SizeFor(bytes));
  } catch (const c10::Error&) {
    // Where there is too little memory, none of it lies idle.
    Kept().Release();
    return c10::alloc_cpu(bytes);
  }
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (c10::DataPtr place = PlacedAllocation::Take(bytes)) return place;
    MemoryAccount::RequireRoom(bytes);
    void* memory = Allocate(bytes);
    if (memory != nullptr && MemoryAccount::Current() != nullptr) {
      MemoryAccount::Allocated(malloc_usable_size(memory));
    }
    return {memory, memory, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

// Back to the system: of one of jemalloc's arenas, or, where malloc is glibc's, of all of its own.
void ReturnFreedMemoryOf(unsigned arena) {
  constexpr size_t kKeep = size_t{16} << 20;
  if (mallctl != nullptr) {
    (void)mallctl(("arena." + std::to_string(arena) + ".purge").c_str(), nullptr, nullptr, nullptr, 0);
  } else {
    malloc_trim(kKeep);
  }
}

}  // namespace

void InstallCountingAllocator() {
  // LibTorch keeps the allocator of highest priority for as long as the process lives.
  [[maybe_unused]] static const bool installed = [] {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
    return true;
  }();
}

void KeepFreedMemory(size_t limit) {
#if defined(__SANITIZE_ADDRESS__)
  limit = 0;  // memory that was freed is to be seen as such
#endif
  Kept().SetLimit(limit);
  if (limit == 0) return;
  [[maybe_unused]] static const bool prepared = [] {
    // As malloc itself would have them once it has freed a block just below: it learns from what it gets back.
    mallopt(M_MMAP_THRESHOLD, KeptMemory::kLeastBytes);
    mallopt(M_TRIM_THRESHOLD, 2 * KeptMemory::kLeastBytes);
    std::thread([] { Kept().KeepTime(); }).detach();
    return true;
  }();
}

void ReleaseKeptMemory() { Kept().Release(); }

void ReturnFreedMemory() {
  constexpr unsigned kAllArenas = 4096;  // MALLCTL_ARENAS_ALL
  ReleaseKeptMemory();
  ReturnFreedMemoryOf(kAllArenas);
}

void ReturnFreedMemoryOfThread() {
  unsigned arena = 0;
  size_t size = sizeof(arena);
  if (mallctl != nullptr && mallctl("thread.arena", &arena, &size, nullptr, 0) != 0) return;
  ReturnFreedMemoryOf(arena);
}

size_t KeptMemoryBytes() { return Kept().bytes(); }

}  // namespace hearth
