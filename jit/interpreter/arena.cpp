#include "jit/interpreter/arena.h"

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

size_t BytesOf(const ArenaLayout::Slot& slot) {
  size_t bytes = c10::elementSize(slot.dtype);
  for (const int64_t size : slot.sizes) bytes *= static_cast<size_t>(size);
  return bytes;
}

}  // namespace

size_t ArenaLayout::bytes() const {
  size_t bytes = 0;
  for (const Slot& slot : slots) bytes = std::max(bytes, slot.offset + BytesOf(slot));
  return bytes;
}

Arena::Arena(const ArenaLayout& layout) {
  const c10::InferenceMode usual(false);  // so that runs of any mode may write them
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  const size_t bytes = layout.bytes();
  storage_ = c10::Storage(c10::Storage::use_byte_size_t(), bytes, allocator->allocate(bytes), allocator,
                          /*resizable=*/false);
  tensors_.reserve(layout.slots.size());
  for (const ArenaLayout::Slot& slot : layout.slots) {
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage_), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(slot.dtype));
    c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_contiguous(slot.sizes);
    impl->set_storage_offset(static_cast<int64_t>(slot.offset / c10::elementSize(slot.dtype)));
    tensors_.emplace_back(std::move(tensor));
  }
}

bool Arena::IsFree() const {
  if (storage_.use_count() != tensors_.size() + 1) return false;
  return std::ranges::all_of(tensors_, [](const c10::IValue& tensor) { return tensor.use_count() == 1; });
}

Arenas::~Arenas() {
  for (std::atomic<Arena*>& kept : kept_) delete kept.load();
}

std::unique_ptr<Arena> Arenas::Take() const {
  MemoryAccount::RequireRoom(bytes_);
  std::unique_ptr<Arena> arena;
  for (std::atomic<Arena*>& kept : kept_) {
    if (kept.load(std::memory_order_relaxed) == nullptr) continue;
    arena.reset(kept.exchange(nullptr, std::memory_order_acquire));
    if (arena != nullptr) break;
  }
  if (arena == nullptr) {
    const MemoryAccount::Scope uncounted(nullptr);
    arena = std::make_unique<Arena>(layout_);
  }
  if (MemoryAccount::Current() != nullptr) MemoryAccount::Allocated(bytes_);
  return arena;
}

void Arenas::Give(std::unique_ptr<Arena> arena) const {
  if (!arena->IsFree()) return;
  if (MemoryAccount::Current() != nullptr) MemoryAccount::Freed(bytes_);
  for (std::atomic<Arena*>& kept : kept_) {
    Arena* none = nullptr;
    if (kept.compare_exchange_strong(none, arena.get(), std::memory_order_release, std::memory_order_relaxed)) {
      (void)arena.release();
      return;
    }
  }
  const MemoryAccount::Scope uncounted(nullptr);
  arena.reset();
}

}  // namespace hearth
