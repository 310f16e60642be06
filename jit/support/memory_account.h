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
// An account may be one of several within another one, as requests are within their model and models within the
// process: what it holds counts there, too, until it is destroyed. Where all of them together pass that one's limit,
// whoever asks for a mebibyte or more is refused, and so does the next Check of those that hold a large part of it
// (kLargePart); the others go on.
//
// Not counted: what the worker threads of LibTorch's parallel regions allocate for themselves, and what libraries take
// from malloc directly.
//
// An account is thread-safe and outlives its Scopes; a Scope belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

namespace hearth {

// A std::bad_alloc, so that operator new may throw it.
class MemoryLimitError : public std::bad_alloc {
 public:
  // Whose limit it is: the account's own, or that of all requests, of one model or of all, which it is one of.
  enum class Of : uint8_t { kOne, kModel, kAll };

  // `asked` is 0 where many small allocations made up what is `held`. The message lacks its subject: "asked for ...".
  MemoryLimitError(int64_t asked, int64_t held, int64_t limit, Of of = Of::kOne) noexcept;
  const char* what() const noexcept override { return message_; }

 private:
  char message_[160];
};

class MemoryAccount {
 public:
  // Of the limit of an account that others are within: who holds more than this part of it must end if it is passed.
  static constexpr int64_t kLargePart = 16;

  // `within`, which may be null, outlives this. `shared_by` says in errors of those within this one whose limit it is.
  explicit MemoryAccount(int64_t limit, MemoryAccount* within = nullptr,
                         MemoryLimitError::Of shared_by = MemoryLimitError::Of::kAll)
      : limit_(limit), within_(within), shared_by_(shared_by) {}
  ~MemoryAccount();
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  int64_t limit() const { return limit_; }
  // What is held now, but for a few kilobytes that other threads have not yet told.
  int64_t held() const;
  // Throws MemoryLimitError if the limit is or was passed.
  void Check();
  // Counts what no allocation of this program shows: memory that the account's owner makes others hold. Throws
  // MemoryLimitError, and counts nothing, if there is no room for it.
  void Charge(size_t bytes);

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
    if (MemoryAccount* account = thread_.account) account->RequireRoomFor(bytes, thread_.pending);
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
  // What an account holds and the one that it is within does not know of: small requests leave that alone.
  static constexpr int64_t kUntoldBytes = 128 << 10;

  static void Flush() noexcept;
  void Add(int64_t bytes) noexcept;
  void RequireRoomFor(size_t bytes, int64_t pending);
  [[noreturn]] void Refuse(size_t bytes);

  static constinit thread_local ThreadCount thread_;

  const int64_t limit_;
  MemoryAccount* const within_;
  const MemoryLimitError::Of shared_by_;
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> told_{0};  // of that, what `within_` was told of
  std::atomic<bool> passed_{false};
};

// An account of its own within another one, which it keeps, and of no limit if that is 0. Null for a limit of 0 that is
// within nothing.
std::shared_ptr<MemoryAccount> MakeMemoryAccount(int64_t limit, std::shared_ptr<MemoryAccount> within = nullptr,
                                                 MemoryLimitError::Of shared_by = MemoryLimitError::Of::kAll);

}  // namespace hearth
