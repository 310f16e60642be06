// How much memory a run may come to hold: the bytes that its threads allocate less those that they free, while they
// work for it, against a limit.
//
// The program's operator new and delete count for the account that is on the thread, and so does LibTorch's CPU
// allocator (cpu_allocator.h): tensors, lists, strings, dicts, objects and the interpreter's own frames alike, whoever
// makes them. A thread without an account counts nothing and pays one comparison. Memory that the run was given and
// frees is in its favour; what it leaves to others (its answer) no longer matters when it has ended.
//
// A tensor, or another allocation of a mebibyte or more, that would pass the limit throws MemoryLimitError at once.
// Smaller ones are only counted, since code that cannot pass an exception on makes small allocations too; the
// interpreter asks between instructions (Check). An account that was passed once stays so: everything that works on it
// ends.
//
// Not counted: what the worker threads of LibTorch's parallel regions allocate for themselves, and what libraries take
// from malloc directly.
//
// An account is thread-safe and outlives its Scopes; a Scope belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace hearth {

// A std::bad_alloc, so that operator new may throw it.
class MemoryLimitError : public std::bad_alloc {
 public:
  // `asked` is 0 where many small allocations made up what is `held`. The message lacks its subject: "asked for ...".
  MemoryLimitError(int64_t asked, int64_t held, int64_t limit) noexcept;
  const char* what() const noexcept override { return message_; }

 private:
  char message_[128];
};

class MemoryAccount {
 public:
  explicit MemoryAccount(int64_t limit) : limit_(limit) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  int64_t limit() const { return limit_; }
  // What is held now, but for a few kilobytes that other threads have not yet told.
  int64_t held() const;
  // Throws MemoryLimitError if the limit is or was passed.
  void Check();

  // Puts an account on this thread until the end of the scope; null counts nothing. Scopes nest.
  class Scope {
   public:
    explicit Scope(MemoryAccount* account) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryAccount* outer_;
  };

  // The thread's account, or null.
  static MemoryAccount* Current() noexcept { return thread_.account; }
  // Check of the thread's account, if it has one.
  static void CheckThread();
  // Throws MemoryLimitError if the thread's account has no room for so many bytes more.
  static void RequireRoom(size_t bytes) {
    if (MemoryAccount* account = thread_.account) {
      const int64_t room = account->limit_ - account->held_.load(std::memory_order_relaxed) - thread_.pending;
      if (room < 0 || bytes > static_cast<size_t>(room)) account->Refuse(bytes);
    }
  }
  // Counts for the thread's account, which it must have.
  static void Allocated(size_t bytes) noexcept {
    thread_.pending += static_cast<int64_t>(bytes);
    if (thread_.pending > kPendingBytes) Flush();
  }
  static void Freed(size_t bytes) noexcept {
    thread_.pending -= static_cast<int64_t>(bytes);
    if (thread_.pending < -kPendingBytes) Flush();
  }

 private:
  struct ThreadCount {
    MemoryAccount* account;
    int64_t pending;  // not yet told to the account
  };
  // Threads of one account tell it so many bytes at a time, so that they seldom meet.
  static constexpr int64_t kPendingBytes = 64 << 10;

  static void Flush() noexcept;
  [[noreturn]] void Refuse(size_t bytes);

  static constinit thread_local ThreadCount thread_;

  const int64_t limit_;
  std::atomic<int64_t> held_{0};
  std::atomic<bool> passed_{false};
};

}  // namespace hearth
