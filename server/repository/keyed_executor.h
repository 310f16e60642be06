// Runs jobs on a few threads of its own: jobs of one key in the order given and never two at once, jobs of different
// keys side by side. Loads and unloads go through it, keyed by model, so that they neither overtake each other nor run
// on a thread that serves requests. Thread-safe; jobs must not throw.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  // How many jobs of TryPost may wait.
  struct Limits {
    size_t of_key = SIZE_MAX;
    size_t all = SIZE_MAX;
  };

  explicit KeyedExecutor(int threads) : KeyedExecutor(threads, Limits()) {}
  KeyedExecutor(int threads, Limits limits);
  // Finish.
  ~KeyedExecutor();

  // Runs what was posted, and what that posts, then joins. Must not be called from a job.
  void Finish();

  void Post(const std::string& key, std::function<void()> job);
  // Jobs that come before all of their key that wait.
  void PostFirst(const std::string& key, std::vector<std::function<void()>> jobs);
  // As Post, unless as many wait as may: of that key, or in all but for those of Post. Says whether it is posted.
  bool TryPost(const std::string& key, std::function<void()> job);

 private:
  struct Job {
    std::function<void()> run;
    bool counted;  // in waiting_
  };
  struct Lane {
    std::deque<Job> jobs;
    bool running = false;
  };

  void Work();
  // Under the lock. Whether a thread is to be woken.
  bool Add(const std::string& key, Job job);
  // The same for a lane that has got jobs; `before`: how many it had.
  bool MakeReady(const std::string& key, const Lane& lane, size_t before);

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Lane> lanes_;
  std::deque<std::string> ready_;  // keys that have jobs and none running
  size_t waiting_ = 0;             // jobs of TryPost that wait
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::server
