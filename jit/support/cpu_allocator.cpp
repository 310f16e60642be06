#include "jit/support/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

void Free(void* memory) {
  if (memory == nullptr) return;
  if (MemoryAccount::Current() != nullptr) MemoryAccount::Freed(malloc_usable_size(memory));
  c10::free_cpu(memory);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    MemoryAccount::RequireRoom(bytes);
    void* memory = c10::alloc_cpu(bytes);
    if (memory != nullptr && MemoryAccount::Current() != nullptr) {
      MemoryAccount::Allocated(malloc_usable_size(memory));
    }
    return {memory, memory, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void InstallCountingAllocator() {
  // LibTorch keeps the allocator of highest priority for as long as the process lives.
  [[maybe_unused]] static const bool installed = [] {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
    return true;
  }();
}

}  // namespace hearth
