#include "jit/interpreter/arena.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <chrono>

#include "jit/support/memory_account.h"
#include "jit/support/thread_number.h"

namespace hearth {
namespace {

using Sizes = c10::SmallVector<int64_t, 8>;

Sizes SizesOf(const ArenaLayout::Place& place, const std::vector<int64_t>& numbers) {
  Sizes sizes;
  for (const uint32_t number : place.sizes) sizes.push_back(numbers[number]);
  return sizes;
}

uint64_t HashOf(std::span<const int64_t> numbers) {
  uint64_t hash = 0;
  for (const int64_t number : numbers) hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u;
  return hash;
}

}  // namespace

Arena::Arena(const ArenaLayout& layout, std::atomic<size_t>* count) : layout_(layout), count_(count) {
  count_->fetch_add(1, std::memory_order_relaxed);
}

Arena::~Arena() { count_->fetch_sub(1, std::memory_order_relaxed); }

void Arena::FitTo(std::span<const int64_t> given) {
  layout_.Compute(given, &numbers_);
  bytes_ = layout_.Arrange(numbers_, &extents_);
  tensors_.resize(layout_.places.size());
  tensors_at_.reset();
}

void Arena::Acquire() {
  MemoryAccount* const account = MemoryAccount::Current();
  if (keeps_memory()) {
    if (account != nullptr) MemoryAccount::RequireRoom(bytes_);
    if (!tensors_at_) {
      const MemoryAccount::Scope uncounted(nullptr);
      if (capacity() < bytes_) Allocate(nullptr);
      SetTensors();
    }
    if (account != nullptr) MemoryAccount::Allocated(bytes_);
    return;
  }
  const MemoryAccount::Scope uncounted(nullptr);
  if (account != nullptr && account->held() > account->limit() - static_cast<int64_t>(bytes_)) return GoWithout();
  Allocate(account);
  SetTensors();
}

void Arena::Release() {
  if (memory_ == nullptr) return;
  if (keeps_memory()) {
    if (MemoryAccount::Current() != nullptr) MemoryAccount::Freed(bytes_);
  } else {
    memory_->data.clear();
    memory_->bytes = 0;
  }
}

void Arena::Leave() {
  // All of what it kept counts as the run's when it is freed.
  if (keeps_memory() && MemoryAccount::Current() != nullptr) MemoryAccount::Allocated(capacity() - bytes_);
}

void Arena::Allocate(MemoryAccount* account) {
  if (capacity() != 0) memory_->data.clear();
  if (memory_ == nullptr) memory_ = c10::make_intrusive<Memory>();
  memory_->bytes = 0;
  const MemoryAccount::Scope counted(account);
  memory_->data = c10::GetCPUAllocator()->allocate(bytes_);
  memory_->bytes = bytes_;
}

void Arena::GoWithout() {
  memory_ = nullptr;
  std::ranges::fill(tensors_, c10::IValue());
  tensors_at_.reset();
}

// Memory that is given out again is mostly where it was.
void Arena::SetTensors() {
  void* const at = memory_ ? memory_->data.get() : nullptr;
  if (at == tensors_at_) return;
  const c10::InferenceMode usual(false);  // so that runs of any mode may write them
  for (size_t place = 0; place < tensors_.size(); ++place) SetTensor(place);
  tensors_at_ = at;
}

void Arena::SetTensor(size_t place) {
  const ArenaLayout::Place& what = layout_.places[place];
  const ArenaLayout::Extent extent = extents_[place];
  c10::IValue& tensor = tensors_[place];
  if (extent.bytes == 0 || !what.has_tensor) {
    tensor = c10::IValue();
    return;
  }
  const Sizes sizes = SizesOf(what, numbers_);
  if (tensor.isNone()) {
    c10::Storage storage(c10::Storage::use_byte_size_t(), extent.bytes, PartAt(extent.offset), c10::GetCPUAllocator(),
                         /*resizable=*/true);
    tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                      c10::scalarTypeToTypeMeta(what.dtype));
  } else {
    const c10::Storage& storage = tensor.toTensor().storage();
    storage.set_data_ptr_noswap(PartAt(extent.offset));
    storage.set_nbytes(extent.bytes);
  }
  tensor.toTensor().unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
}

at::DataPtr Arena::PartAt(size_t offset) const {
  const auto release = [](void* memory) { c10::raw::intrusive_ptr::decref(static_cast<Memory*>(memory)); };
  Memory* const memory = memory_.get();
  c10::raw::intrusive_ptr::incref(memory);
  return {static_cast<char*>(memory->data.get()) + offset, memory, release, memory->data.device()};
}

at::Tensor Arena::Make(size_t place) const {
  const ArenaLayout::Place& what = layout_.places[place];
  return at::Tensor(at::detail::empty_cpu(SizesOf(what, numbers_), what.dtype));
}

bool Arena::IsFree() const {
  if (memory_ == nullptr) return true;
  size_t referrers = 1;
  for (const c10::IValue& tensor : tensors_) {
    if (tensor.isNone()) continue;
    if (tensor.use_count() != 1 || tensor.toTensor().storage().use_count() != 1) return false;
    ++referrers;
  }
  return memory_.use_count() == referrers;
}

Arenas::~Arenas() {
  for (Kept& kept : kept_) delete kept.arena.load();
}

std::unique_ptr<Arena> Arenas::Take(std::span<const int64_t> given) const {
  std::unique_ptr<Arena> arena = Find(given);
  if (arena == nullptr) {
    const MemoryAccount::Scope uncounted(nullptr);
    if (made_.load(std::memory_order_relaxed) >= kMost) arena = TakeOldest();
    if (arena == nullptr) arena = std::make_unique<Arena>(layout_, &made_);
    arena->FitTo(given);
  }
  try {
    arena->Acquire();
  } catch (...) {
    Keep(std::move(arena));
    throw;
  }
  return arena;
}

Arenas::Kept& Arenas::FromOwn(size_t i) const { return kept_[(NumberOfThread<Arenas>() + i) % kMost]; }

std::unique_ptr<Arena> Arenas::Find(std::span<const int64_t> given) const {
  const uint64_t hash = HashOf(given);
  for (size_t i = 0; i < kMost; ++i) {
    Kept& kept = FromOwn(i);
    if (kept.arena.load(std::memory_order_relaxed) == nullptr) {
      if (i == 0 && made_.load(std::memory_order_relaxed) < kMost) return nullptr;  // one is made for this thread
      continue;
    }
    if (kept.hash.load(std::memory_order_relaxed) != hash) continue;
    std::unique_ptr<Arena> arena(kept.arena.exchange(nullptr, std::memory_order_acquire));
    if (arena == nullptr) continue;
    if (!std::ranges::equal(arena->given(), given)) {
      const MemoryAccount::Scope uncounted(nullptr);
      arena->FitTo(given);
    }
    return arena;
  }
  return nullptr;
}

std::unique_ptr<Arena> Arenas::TakeOldest() const {
  for (;;) {
    Kept* oldest = nullptr;
    uint64_t when = UINT64_MAX;
    for (Kept& kept : kept_) {
      const uint64_t time = kept.time.load(std::memory_order_relaxed);
      if (kept.arena.load(std::memory_order_relaxed) == nullptr || time >= when) continue;
      oldest = &kept;
      when = time;
    }
    if (oldest == nullptr) return nullptr;
    std::unique_ptr<Arena> arena(oldest->arena.exchange(nullptr, std::memory_order_acquire));
    if (arena != nullptr) return arena;
  }
}

void Arenas::Give(std::unique_ptr<Arena> arena) const {
  if (!arena->IsFree()) return Leave(std::move(arena));
  arena->Release();
  Keep(std::move(arena));
}

void Arenas::Leave(std::unique_ptr<Arena> arena) const { arena->Leave(); }

void Arenas::Keep(std::unique_ptr<Arena> arena) const {
  const MemoryAccount::Scope uncounted(nullptr);
  const uint64_t hash = HashOf(arena->given());
  for (size_t i = 0; i < kMost; ++i) {
    Kept& kept = FromOwn(i);
    Arena* none = nullptr;
    if (kept.arena.load(std::memory_order_relaxed) != nullptr) continue;
    if (!kept.arena.compare_exchange_strong(none, arena.get(), std::memory_order_release, std::memory_order_relaxed)) {
      continue;
    }
    (void)arena.release();
    kept.hash.store(hash, std::memory_order_relaxed);
    if (layout_.num_given != 0) {
      // Not a number that all threads count up: they would wait for each other's turn to write it.
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      kept.time.store(static_cast<uint64_t>(now.count()), std::memory_order_relaxed);
    }
    return;
  }
}

}  // namespace hearth
