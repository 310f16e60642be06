// Tells when files have changed: looks at each once a second, by name, so that a link that is made to point elsewhere
// (as Kubernetes replaces what it mounts) is a change of the file as well.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::server {

class WatchedFiles {
 public:
  explicit WatchedFiles(std::chrono::milliseconds period = std::chrono::seconds(1)) : period_(period) {}
  ~WatchedFiles();

  // Before Start: has `changed` called, from the thread of this object, when any of the files is another one than it
  // was when last looked at.
  void Add(std::vector<std::string> files, std::function<void()> changed);
  void Start();
  // Has everything called as if all files had changed, from the same thread, soon.
  void Reload();

 private:
  struct Group {
    std::vector<std::string> files;
    std::function<void()> changed;
    std::string seen;
  };

  void Run();

  const std::chrono::milliseconds period_;
  std::vector<Group> groups_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  bool reload_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
