// Looks at the roots of a repository again and again, on a thread of its own, and has models loaded, loaded again or
// unloaded as they come, change and go (ChangeTracker says when). It waits for no load: those of one model run in the
// order in which they were asked for. A root that cannot be read changes nothing. Where files come from elsewhere, they
// are fetched before each look.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/repository/change_tracker.h"
#include "server/repository/repository.h"

namespace hearth::server {

class RepositoryPoller {
 public:
  // Has the roots' files be what they are elsewhere. On an error they are what they were, or in part.
  using Fetch = std::function<absl::Status(const std::stop_token& stop)>;

  // What lies in the roots now counts as loaded, but for unsettled(): make the poller before Repository::LoadAll.
  // `repository` outlives it. `fetch` is null where nothing is to be fetched.
  RepositoryPoller(Repository& repository, std::vector<std::filesystem::path> roots,
                   std::chrono::duration<double> interval, Fetch fetch = nullptr);
  // The models that somebody may still have been writing to, which are for Repository::LoadAll to leave to this.
  const std::set<std::string>& unsettled() const { return unsettled_; }
  // After LoadAll. Begins to look, more often than told to until no model is unsettled.
  void Start();
  // Looks no more; does not wait for loads.
  ~RepositoryPoller();

 private:
  void Run();
  void Look();
  void FetchFiles();

  Repository& repository_;
  const std::vector<std::filesystem::path> roots_;
  const std::chrono::duration<double> interval_;
  const Fetch fetch_;
  // How long nobody may have written to a model that is to be loaded at the start.
  const std::chrono::duration<double> settling_;
  const std::set<std::string> unsettled_;
  std::set<std::string> waiting_;  // of these
  ChangeTracker tracker_;
  bool readable_ = true;  // at the last look
  bool fetched_ = true;   // before it
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::stop_source stop_fetching_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hearth::server
