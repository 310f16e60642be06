// Unloads the models of a repository that have been unused for some time (Repository::UnloadIdle), on a thread of its
// own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/repository/repository.h"

namespace hearth::server {

class IdleUnloader {
 public:
  // Looks often enough that a model is unloaded within a tenth more than `idle`, or a second. `repository` outlives it.
  IdleUnloader(Repository& repository, std::chrono::duration<double> idle);
  ~IdleUnloader();

 private:
  void Run();

  Repository& repository_;
  const std::chrono::duration<double> idle_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hearth::server
