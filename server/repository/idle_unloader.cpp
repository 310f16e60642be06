#include "server/repository/idle_unloader.h"

#include <algorithm>
#include <exception>

#include "server/repository/repository_log.h"

namespace hearth::server {

IdleUnloader::IdleUnloader(Repository& repository, std::chrono::duration<double> idle)
    : repository_(repository), idle_(idle), thread_([this] { Run(); }) {}

IdleUnloader::~IdleUnloader() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void IdleUnloader::Run() {
  const auto interval =
      std::clamp<std::chrono::duration<double>>(idle_ / 10, std::chrono::milliseconds(10), std::chrono::seconds(1));
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, interval, [this] { return stopping_; })) {
    lock.unlock();
    try {
      repository_.UnloadIdle(idle_);
    } catch (const std::exception& error) {
      RepositoryLog().error("cannot unload idle models: {}", error.what());
    }
    lock.lock();
  }
}

}  // namespace hearth::server
