#include "server/repository/keyed_executor.h"

#include <utility>

namespace hearth::server {

KeyedExecutor::KeyedExecutor(int threads, Limits limits) : limits_(limits) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

KeyedExecutor::~KeyedExecutor() { Finish(); }

void KeyedExecutor::Finish() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void KeyedExecutor::Post(const std::string& key, std::function<void()> job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    wake = Add(key, {std::move(job), /*counted=*/false});
  }
  if (wake) changed_.notify_one();
}

void KeyedExecutor::PostFirst(const std::string& key, std::vector<std::function<void()>> jobs) {
  if (jobs.empty()) return;
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    Lane& lane = lanes_[key];
    const size_t before = lane.jobs.size();
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
      lane.jobs.push_front({std::move(*job), /*counted=*/false});
    }
    wake = MakeReady(key, lane, before);
  }
  if (wake) changed_.notify_one();
}

bool KeyedExecutor::TryPost(const std::string& key, std::function<void()> job) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    const auto lane = lanes_.find(key);
    if (waiting_ >= limits_.all || (lane != lanes_.end() && lane->second.jobs.size() >= limits_.of_key)) return false;
    ++waiting_;
    wake = Add(key, {std::move(job), /*counted=*/true});
  }
  if (wake) changed_.notify_one();
  return true;
}

bool KeyedExecutor::Add(const std::string& key, Job job) {
  Lane& lane = lanes_[key];
  lane.jobs.push_back(std::move(job));
  return MakeReady(key, lane, lane.jobs.size() - 1);
}

bool KeyedExecutor::MakeReady(const std::string& key, const Lane& lane, size_t before) {
  if (lane.running || before > 0) return false;  // queued already, or will be when the running job ends
  ready_.push_back(key);
  return true;
}

void KeyedExecutor::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    // A lane that runs may still make a key ready, so a stopping executor waits until every lane is empty.
    changed_.wait(lock, [this] { return !ready_.empty() || (stopping_ && lanes_.empty()); });
    if (ready_.empty()) return;
    const std::string key = std::move(ready_.front());
    ready_.pop_front();
    Lane& lane = lanes_.at(key);
    if (lane.jobs.front().counted) --waiting_;
    std::function<void()> job = std::move(lane.jobs.front().run);
    lane.jobs.pop_front();
    lane.running = true;

    lock.unlock();
    job();
    job = nullptr;
    lock.lock();

    lane.running = false;
    if (lane.jobs.empty()) {
      lanes_.erase(key);
      if (stopping_) changed_.notify_all();
    } else {
      ready_.push_back(key);
      changed_.notify_one();
    }
  }
}

}  // namespace hearth::server
