// Runs jobs on a few threads of its own: jobs of one key in the order given and never two at once, jobs of different
// keys side by side. Loads and unloads go through it, keyed by model, so that they neither overtake each other nor run
// on a thread that serves requests. Thread-safe; jobs must not throw.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::server {

class KeyedExecutor {
 public:
  explicit KeyedExecutor(int threads);
  // Runs what was posted, then joins. Must not be called from a job.
  ~KeyedExecutor();

  void Post(const std::string& key, std::function<void()> job);

 private:
  struct Lane {
    std::deque<std::function<void()>> jobs;
    bool running = false;
  };

  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Lane> lanes_;
  std::deque<std::string> ready_;  // keys that have jobs and none running
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::server
