#include "jit/support/disposal_thread.h"

#include <pthread.h>

#include "jit/support/memory_account.h"

namespace hearth {

void DisposalQueue::Dispose(std::function<void()> destroy) {
  const MemoryAccount::Scope nobody(nullptr);
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      waiting_.push_back(std::move(destroy));
      changed_.notify_one();
      return;
    }
  }
  const LargeStackThread here(std::move(destroy));
}

void DisposalQueue::Work() {
  pthread_setname_np(pthread_self(), "hearth-disposal");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    const std::function<void()> destroy = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    destroy();
    TrimStack();
    lock.lock();
  }
  closed_ = true;
}

DisposalThread::~DisposalThread() {
  {
    const std::lock_guard lock(queue_->mutex_);
    queue_->closing_ = true;
  }
  queue_->changed_.notify_one();
  thread_.reset();
}

}  // namespace hearth
