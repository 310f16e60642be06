// Keeps what models are called with for the next process: writes it into a ProfileStore now and then, and when a model
// goes; and has plans compiled for what a model that is loaded was called with in processes before.
//
// A thread of its own writes: whoever calls a model never waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jit/archive/importer.h"
#include "jit/executor/model_executor.h"
#include "jit/profile_store/profile_store.h"
#include "jit/support/large_stack.h"

namespace hearth {

// Thread-safe.
class ProfileKeeper {
 public:
  ProfileKeeper(const std::filesystem::path& folder, std::chrono::nanoseconds interval);
  // Writes all that is new.
  ~ProfileKeeper();
  ProfileKeeper(const ProfileKeeper&) = delete;
  ProfileKeeper& operator=(const ProfileKeeper&) = delete;

  // A model that was loaded: asks for the plans of what is known of it, and keeps what is added from now on. `executor`
  // has tiers.
  void Adopt(const std::shared_ptr<ModelExecutor>& executor, const ZipReader& archive, c10::Device device);
  // A model that goes: writes what is known of it.
  void Release(const std::shared_ptr<ModelExecutor>& executor);

 private:
  struct Kept {
    std::weak_ptr<ModelExecutor> executor;
    std::string key;
    std::vector<SpecProfile> read;  // of the store when it was adopted, but for profiles and shapes
    uint64_t calls_written;         // of all specs together
  };

  void Work();
  // With the lock held, which requests never take:
  void WriteAll();
  void Write(Kept& kept, const ModelExecutor& executor);

  const ProfileStore store_;
  const std::chrono::nanoseconds interval_;
  std::mutex mutex_;
  std::condition_variable closed_;
  bool closing_ = false;
  std::vector<Kept> kept_;
  std::optional<LargeStackThread> thread_;
};

}  // namespace hearth
