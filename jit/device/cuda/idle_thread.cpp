#include "jit/device/cuda/idle_thread.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <utility>

namespace hearth {
namespace {

constexpr size_t kMostWaiting = 1024;
constexpr int kLeastPriority = 19;

}  // namespace

void IdleThread::Add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_ || waiting_.size() == kMostWaiting) return;
    waiting_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  changed_.notify_one();
}

void IdleThread::Run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLeastPriority);
  const c10::cuda::CUDAStreamGuard on_stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_));
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
    if (is_ending_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {
      // What it was to make better stays as it is.
    }
    lock.lock();
  }
}

void IdleThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace hearth
