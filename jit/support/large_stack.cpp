#include "jit/support/large_stack.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "jit/support/processors.h"

namespace hearth {
namespace {

constexpr size_t kUnlimited = size_t{16} << 30;
constexpr size_t kLeast = size_t{8} << 20;
constexpr size_t kGuard = size_t{64} << 10;
// A page so deep that ordinary work does not get there is filled with a mark, by which it shows that something did.
constexpr size_t kOrdinaryDepth = size_t{4} << 20;
constexpr size_t kMarkBytes = 4096;
constexpr int kMark = 0xa5;

thread_local char* stack_bottom = nullptr;  // the lowest usable address
thread_local char* mark = nullptr;

size_t StackSize() {
#if defined(__SANITIZE_ADDRESS__) || defined(HEARTH_THREAD_SANITIZER)
  return size_t{64} << 20;  // a sanitizer keeps books of every byte
#else
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  // A quarter of the address space for the threads that there may be, and never less than a small part of it.
  const size_t threads = static_cast<size_t>(UsableProcessors()) + 2;
  const size_t share = std::max<size_t>(limit.rlim_cur / 64, limit.rlim_cur / 4 / threads);
  return std::clamp(share / kGuard * kGuard, kLeast, kUnlimited);
#endif
}

// The address range, with a guard at its lower end; as large as there is one.
void* Reserve(size_t* size) {
  for (; *size >= kLeast; *size /= 2) {
    void* stack =
        mmap(nullptr, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) continue;
    mprotect(stack, kGuard, PROT_NONE);
    return stack;
  }
  throw std::bad_alloc();
}

void SetMark() { std::memset(mark, kMark, kMarkBytes); }

}  // namespace

LargeStackThread::LargeStackThread(std::function<void()> body) : body_(std::move(body)), size_(StackSize()) {
  stack_ = Reserve(&size_);
  // A huge page for the first word would be memory for nothing.
  madvise(stack_, size_, MADV_NOHUGEPAGE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, static_cast<char*>(stack_) + kGuard, size_ - kGuard);
  const int error = pthread_create(&thread_, &attributes, &Enter, this);
  pthread_attr_destroy(&attributes);
  if (error == 0) return;
  munmap(stack_, size_);
  throw std::system_error(error, std::generic_category(), "no thread");
}

LargeStackThread::~LargeStackThread() {
  pthread_join(thread_, nullptr);
  munmap(stack_, size_);
}

void* LargeStackThread::Enter(void* self) {
  auto* const thread = static_cast<LargeStackThread*>(self);
  stack_bottom = static_cast<char*>(thread->stack_) + kGuard;
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  here = (here - kOrdinaryDepth) / kMarkBytes * kMarkBytes;
  if (here > reinterpret_cast<uintptr_t>(stack_bottom)) {
    mark = reinterpret_cast<char*>(here);
    SetMark();
  }
  thread->body_();
  return nullptr;
}

void TrimStack() {
  if (mark == nullptr) return;
  // A recursion that came by has written some word of the page.
  const bool intact = mark[0] == static_cast<char>(kMark) && std::memcmp(mark, mark + 1, kMarkBytes - 1) == 0;
  if (intact) return;
  madvise(stack_bottom, static_cast<size_t>(mark - stack_bottom), MADV_DONTNEED);
  SetMark();
}

}  // namespace hearth
