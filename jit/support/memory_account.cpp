#include "jit/support/memory_account.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

namespace hearth {

constinit thread_local MemoryAccount::ThreadCount MemoryAccount::thread_{nullptr, 0};

MemoryLimitError::MemoryLimitError(int64_t asked, int64_t held, int64_t limit, Of of) noexcept {
  const bool one = of == Of::kOne;
  const char* const holder = one ? "it" : of == Of::kModel ? "all requests of the model" : "all requests";
  const char* const whose = one ? "its" : "their";
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  if (asked > 0) {
    std::snprintf(message_, sizeof message_,
                  "asked for %lld bytes while %s held %lld, beyond %s memory limit of %lld bytes", number(asked),
                  holder, number(held), whose, number(limit));
  } else if (!one) {
    std::snprintf(message_, sizeof message_, "ends, since %s held %lld bytes, beyond their memory limit of %lld bytes",
                  holder, number(held), number(limit));
  } else {
    std::snprintf(message_, sizeof message_, "held %lld bytes, beyond its memory limit of %lld bytes", number(held),
                  number(limit));
  }
}

MemoryAccount::~MemoryAccount() {
  const int64_t told = told_.load(std::memory_order_relaxed);
  if (told != 0) within_->Add(-told);
}

void MemoryAccount::Flush() noexcept {
  thread_.account->Add(thread_.pending);
  thread_.pending = 0;
}

void MemoryAccount::Add(int64_t bytes) noexcept {
  const int64_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (within_ == nullptr) return;
  int64_t told = told_.load(std::memory_order_relaxed);
  const int64_t untold = held - told;
  if (std::abs(untold) < kUntoldBytes || !told_.compare_exchange_strong(told, held, std::memory_order_relaxed)) return;
  within_->Add(untold);
}

void MemoryAccount::Charge(size_t bytes) {
  RequireRoomFor(bytes, 0);
  Add(static_cast<int64_t>(bytes));
}

void MemoryAccount::RequireRoomFor(size_t bytes, int64_t pending) {
  const int64_t room = limit_ - held_.load(std::memory_order_relaxed) - pending;
  if (room < 0 || bytes > static_cast<size_t>(room)) Refuse(bytes);
  for (const MemoryAccount* all = within_; all != nullptr; all = all->within_) {
    const int64_t held = all->held_.load(std::memory_order_relaxed) + pending;
    if (held > all->limit_ || bytes > static_cast<size_t>(all->limit_ - held)) {
      throw MemoryLimitError(static_cast<int64_t>(bytes), held, all->limit_, all->shared_by_);
    }
  }
}

int64_t MemoryAccount::held() const {
  const int64_t pending = thread_.account == this ? thread_.pending : 0;
  return held_.load(std::memory_order_relaxed) + pending;
}

void MemoryAccount::CheckThread() {
  if (MemoryAccount* account = thread_.account) account->Check();
}

void MemoryAccount::Check() {
  const int64_t now = held();
  if (now > limit_) passed_.store(true, std::memory_order_relaxed);
  if (passed_.load(std::memory_order_relaxed)) throw MemoryLimitError(0, now, limit_);
  for (const MemoryAccount* all = within_; all != nullptr; all = all->within_) {
    const int64_t held_by_all = all->held();
    if (held_by_all > all->limit_ && now > all->limit_ / kLargePart) {
      throw MemoryLimitError(0, held_by_all, all->limit_, all->shared_by_);
    }
  }
}

MemoryAccount::Scope::Scope(MemoryAccount* account) noexcept : outer_(thread_.account) {
  if (account == outer_) return;
  if (outer_ != nullptr) Flush();
  thread_.account = account;
}

MemoryAccount::Scope::~Scope() {
  if (thread_.account == outer_) return;
  if (thread_.account != nullptr) Flush();
  thread_.account = outer_;
}

void MemoryAccount::Refuse(size_t bytes) {
  const int64_t now = held();
  passed_.store(true, std::memory_order_relaxed);
  throw MemoryLimitError(static_cast<int64_t>(bytes), now, limit_);
}

namespace {

constexpr size_t kLargeBytes = 1 << 20;

// What C++ asks of operator new: another try after each call of the new-handler, and never null.
template <typename Allocate>
void* NewWith(size_t bytes, Allocate allocate) {
  if (bytes >= kLargeBytes) MemoryAccount::RequireRoom(bytes);
  for (;;) {
    if (void* made = allocate()) {
      if (MemoryAccount::Current() != nullptr) MemoryAccount::Allocated(malloc_usable_size(made));
      return made;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* New(size_t bytes) {
  // malloc(0) may give null, operator new(0) must not.
  return NewWith(bytes, [size = bytes == 0 ? 1 : bytes] { return std::malloc(size); });
}

void* NewAligned(size_t bytes, std::align_val_t alignment) {
  const size_t step = static_cast<size_t>(alignment);
  // aligned_alloc wants a multiple of the alignment.
  const size_t size = bytes == 0 ? step : (bytes + step - 1) / step * step;
  if (size < bytes) throw std::bad_alloc();
  return NewWith(bytes, [=] { return std::aligned_alloc(step, size); });
}

template <typename Allocate>
void* OrNull(Allocate allocate) noexcept {
  try {
    return allocate();
  } catch (...) {
    return nullptr;
  }
}

void Delete(void* memory) noexcept {
  if (MemoryAccount::Current() != nullptr && memory != nullptr) MemoryAccount::Freed(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace
std::shared_ptr<MemoryAccount> MakeMemoryAccount(int64_t limit, std::shared_ptr<MemoryAccount> within,
                                                 MemoryLimitError::Of shared_by) {
  if (limit <= 0 && within == nullptr) return nullptr;
  // What it is within lives as long as it does.
  struct Nested {
    Nested(int64_t most, std::shared_ptr<MemoryAccount> around, MemoryLimitError::Of shared)
        : within(std::move(around)), account(most, within.get(), shared) {}
    const std::shared_ptr<MemoryAccount> within;
    MemoryAccount account;
  };
  const int64_t most = limit > 0 ? limit : std::numeric_limits<int64_t>::max();
  const auto nested = std::make_shared<Nested>(most, std::move(within), shared_by);
  return {nested, &nested->account};
}

}  // namespace hearth

// Every form that the language has: libstdc++'s own come back to the first two, but a library with an allocator, as
// jemalloc, brings forms that do not, whose memory nobody would count.
void* operator new(size_t bytes) { return hearth::New(bytes); }
void* operator new[](size_t bytes) { return hearth::New(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) { return hearth::NewAligned(bytes, alignment); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return hearth::NewAligned(bytes, alignment); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return hearth::OrNull([=] { return hearth::New(bytes); });
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return hearth::OrNull([=] { return hearth::New(bytes); });
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return hearth::OrNull([=] { return hearth::NewAligned(bytes, alignment); });
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return hearth::OrNull([=] { return hearth::NewAligned(bytes, alignment); });
}
void operator delete(void* memory) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory) noexcept { hearth::Delete(memory); }
void operator delete(void* memory, size_t) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory, size_t) noexcept { hearth::Delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { hearth::Delete(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { hearth::Delete(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { hearth::Delete(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { hearth::Delete(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { hearth::Delete(memory); }
