#include "server/security/watched_files.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// What tells one state of the files from another.
std::string Stamp(const std::vector<std::string>& files) {
  std::string stamp;
  for (const std::string& file : files) {
    struct stat entry {};
    if (stat(file.c_str(), &entry) != 0) entry = {};
    absl::StrAppend(&stamp, entry.st_dev, ":", entry.st_ino, ":", entry.st_size, ":", entry.st_mtim.tv_sec, ".",
                    entry.st_mtim.tv_nsec, ":", entry.st_ctim.tv_sec, ".", entry.st_ctim.tv_nsec, " ");
  }
  return stamp;
}

}  // namespace

WatchedFiles::~WatchedFiles() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WatchedFiles::Add(std::vector<std::string> files, std::function<void()> changed) {
  std::string seen = Stamp(files);
  groups_.push_back({std::move(files), std::move(changed), std::move(seen)});
}

void WatchedFiles::Start() {
  if (!groups_.empty()) thread_ = std::thread([this] { Run(); });
}

void WatchedFiles::Reload() {
  {
    std::lock_guard lock(mutex_);
    reload_ = true;
  }
  wake_.notify_all();
}

void WatchedFiles::Run() {
  while (true) {
    bool reload = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, period_, [this] { return ending_ || reload_; });
      if (ending_) return;
      reload = std::exchange(reload_, false);
    }
    for (Group& group : groups_) {
      std::string now = Stamp(group.files);
      if (now == group.seen && !reload) continue;
      group.seen = std::move(now);
      group.changed();
    }
  }
}

}  // namespace hearth::server
