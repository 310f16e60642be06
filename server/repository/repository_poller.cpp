#include "server/repository/repository_poller.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "jit/support/logging.h"
#include "server/repository/file_stamp.h"

namespace hearth::server {
namespace {

constexpr std::chrono::duration<double> kSettling = std::chrono::seconds(2);

spdlog::logger& PollerLog() {
  static spdlog::logger& log = LoggerOf("repository/poller");
  return log;
}

}  // namespace

RepositoryPoller::RepositoryPoller(Repository& repository, std::vector<std::filesystem::path> roots,
                                   std::chrono::duration<double> interval, Fetch fetch)
    : repository_(repository),
      roots_(std::move(roots)),
      interval_(interval),
      fetch_(std::move(fetch)),
      settling_(std::min(interval, kSettling)),
      unsettled_(ModelsChangedSince(
          roots_, std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::nanoseconds>(settling_))),
      waiting_(unsettled_),
      tracker_(StampModels(roots_).value_or(ChangeTracker::Stamps()), unsettled_) {}

void RepositoryPoller::Start() {
  for (const std::string& name : unsettled_) {
    PollerLog().info("model {} has just been written to, and is loaded when that has ended", name);
  }
  thread_ = std::thread([this] { Run(); });
}

RepositoryPoller::~RepositoryPoller() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_fetching_.request_stop();
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RepositoryPoller::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, waiting_.empty() ? interval_ : settling_, [this] { return stopping_; })) {
    lock.unlock();
    try {
      FetchFiles();
      Look();
    } catch (const std::exception& error) {
      PollerLog().error("cannot look at the model repositories: {}", error.what());
    }
    lock.lock();
  }
}

void RepositoryPoller::FetchFiles() {
  if (fetch_ == nullptr) return;
  const absl::Status status = fetch_(stop_fetching_.get_token());
  const bool was_fetched = std::exchange(fetched_, status.ok());
  if (!status.ok() && was_fetched && !stop_fetching_.stop_requested()) {
    PollerLog().warn("{}; until that ends, models change no more than they have", std::string(status.message()));
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
    if (waiting_.erase(name) == 0) PollerLog().info("the files of model {} have changed", name);
    // The repository logs what becomes of it.
    repository_.Refresh(name, [](const absl::Status&) {});
  }
}

}  // namespace hearth::server
