#include "server/repository/repository_poller.h"

#include <exception>
#include <utility>

#include "jit/support/logging.h"
#include "server/repository/file_stamp.h"

namespace hearth::server {
namespace {

spdlog::logger& PollerLog() {
  static spdlog::logger& log = LoggerOf("repository/poller");
  return log;
}

}  // namespace

RepositoryPoller::RepositoryPoller(Repository& repository, std::vector<std::filesystem::path> roots,
                                   std::chrono::duration<double> interval)
    : repository_(repository),
      roots_(std::move(roots)),
      interval_(interval),
      tracker_(StampModels(roots_).value_or(ChangeTracker::Stamps())),
      thread_([this] { Run(); }) {}

RepositoryPoller::~RepositoryPoller() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void RepositoryPoller::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, interval_, [this] { return stopping_; })) {
    lock.unlock();
    try {
      Look();
    } catch (const std::exception& error) {
      PollerLog().error("cannot look at the model repositories: {}", error.what());
    }
    lock.lock();
  }
}

void RepositoryPoller::Look() {
  const auto stamps = StampModels(roots_);
  const bool was_readable = std::exchange(readable_, stamps.ok());
  if (!stamps.ok()) {
    if (was_readable) PollerLog().warn("{}; models stay as they are", std::string(stamps.status().message()));
    return;
  }
  for (const std::string& name : tracker_.Look(*stamps)) {
    PollerLog().info("the files of model {} have changed", name);
    // The repository logs what becomes of it.
    repository_.Refresh(name, [](const absl::Status&) {});
  }
}

}  // namespace hearth::server
