// Destroys things on a thread of its own: models, and plans with the weights that are packed for them. Their last
// reference may go anywhere, on a thread that answers requests too, where a request would wait for a file to be
// written, a compiler's thread to stop or gigabytes to be given back. Here the last reference only hands them over.
//
// What is destroyed may hold others that are handed over in turn, and may be nested deeply (large_stack.h). Its memory
// counts for no account. Everything is thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "jit/support/large_stack.h"

namespace hearth {

// What owners hold, who may live longer than the thread: they then destroy things where the last reference goes.
class DisposalQueue : public std::enable_shared_from_this<DisposalQueue> {
 public:
  // The object, which will be destroyed over there by `object`'s own deleter.
  template <typename T, typename Deleter>
  std::shared_ptr<T> Own(std::unique_ptr<T, Deleter> object) {
    Deleter destroy = object.get_deleter();
    return {object.release(), [queue = shared_from_this(), destroy](T* last) {
              queue->Dispose([last, destroy]() mutable { destroy(last); });
            }};
  }

 private:
  friend class DisposalThread;

  void Dispose(std::function<void()> destroy);
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool closing_ = false;
  bool closed_ = false;
};

class DisposalThread {
 public:
  DisposalThread() : thread_(std::in_place, [queue = queue_] { queue->Work(); }) {}
  // Waits until all that was handed over is destroyed.
  ~DisposalThread();
  DisposalThread(const DisposalThread&) = delete;
  DisposalThread& operator=(const DisposalThread&) = delete;

  const std::shared_ptr<DisposalQueue>& queue() const { return queue_; }

 private:
  const std::shared_ptr<DisposalQueue> queue_ = std::make_shared<DisposalQueue>();
  std::optional<LargeStackThread> thread_;
};

}  // namespace hearth
