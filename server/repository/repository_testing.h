// For tests: a repository in a folder of its own, of models that FakeRuntime loads.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/repository/fake_runtime.h"
#include "server/repository/repository.h"

namespace hearth::server {

// Takes any sample but those called "bad" and "throws".
class AnyCall : public CallInterface {
 public:
  absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup& sample, const DataFiles&) const override {
    if (sample.name() == "throws") throw std::bad_alloc();
    if (sample.name() == "bad") return absl::InvalidArgumentError("no such input");
    return BoundArguments();
  }
  std::shared_ptr<ObservedCalls> ObservedAfter(std::shared_ptr<ObservedCalls> before) const override {
    return before != nullptr ? before : std::make_shared<ObservedCalls>("", 1, 1);
  }
};

class RepositoryTest : public ::testing::Test {
 protected:
  RepositoryTest() : root_(std::filesystem::temp_directory_path() / ("repository_test." + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "a");
    std::filesystem::create_directories(root_ / "b");
  }
  ~RepositoryTest() override {
    repository_.reset();
    std::filesystem::remove_all(root_);
  }

  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  void Start(std::vector<std::filesystem::path> roots, ModelControl control = ModelControl::kAll,
             std::vector<std::string> load_models = {}) {
    Repository::Options options = options_;
    options.roots = std::move(roots);
    options.control = control;
    options.load_models = std::move(load_models);
    repository_ = std::make_unique<Repository>(
        std::move(options), runtime_,
        [](const Model&, const inference::ModelConfig&, const DataFiles&) { return std::make_unique<const AnyCall>(); },
        [this] { changed_(); });
  }
  // With the models of the start loaded.
  void StartWith(ModelControl control, std::vector<std::string> load_models = {}) {
    Start({root_ / "a"}, control, std::move(load_models));
    std::promise<void> loaded;
    ASSERT_TRUE(repository_->LoadAll([&] { loaded.set_value(); }).ok());
    loaded.get_future().wait();
  }
  void StartAndLoad() { StartWith(ModelControl::kAll); }

  absl::Status Load(const std::string& name, std::optional<std::string> config = std::nullopt) {
    std::promise<absl::Status> done;
    repository_->Load(name, config, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }
  absl::Status RollBack(const std::string& name, int64_t version = 0) {
    std::promise<absl::Status> done;
    repository_->RollBack(name, version, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }
  absl::Status Refresh(const std::string& name) {
    std::promise<absl::Status> done;
    repository_->Refresh(name, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }
  absl::Status Unload(const std::string& name) {
    std::promise<absl::Status> done;
    repository_->Unload(name, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }

  // What the model that a request would get answers.
  std::string Answer(const std::string& name, const std::string& version = "") {
    auto servable = repository_->Find(name, version);
    if (!servable.ok()) return std::string(servable.status().message());
    return (*servable)->model->Call("forward", {}, {}).value().toStringRef();
  }

  std::vector<std::string> IndexLines(bool ready_only = false) {
    std::vector<std::string> lines;
    for (const IndexEntry& entry : repository_->Index(ready_only)) {
      lines.push_back(entry.name + "/" + entry.version + " " + ModelStateName(entry.state) + " " + entry.reason);
    }
    return lines;
  }

  // "m/1 2": two loads of the version have failed.
  std::vector<std::string> LoadFailures() {
    std::vector<std::string> lines;
    for (const VersionStatus& version : repository_->Versions()) {
      lines.push_back(version.name + "/" + version.version + " " +
                      std::to_string(version.statistics->snapshot().load_failures));
    }
    return lines;
  }

  std::filesystem::path root_;
  Repository::Options options_;  // but for what Start is given
  std::function<void()> changed_ = [] {};
  FakeRuntime runtime_;
  std::unique_ptr<Repository> repository_;
};

}  // namespace hearth::server
