#include "server/repository/repository_poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <future>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

class CallOfNothing : public CallInterface {
 public:
  absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup&) const override { return BoundArguments(); }
  std::shared_ptr<ObservedCalls> ObservedAfter(std::shared_ptr<ObservedCalls>) const override { return nullptr; }
};

class RepositoryPollerTest : public ::testing::Test {
 protected:
  RepositoryPollerTest() : root_(fs::temp_directory_path() / ("repository_poller_test." + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~RepositoryPollerTest() override {
    poller_.reset();
    repository_.reset();
    fs::remove_all(root_);
  }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  void Start() {
    repository_ = std::make_unique<Repository>(
        Repository::Options{.roots = {root_}, .control = ModelControl::kPoll}, runtime_,
        [](const Model&, const inference::ModelConfig&) { return std::make_unique<const CallOfNothing>(); }, [] {});
    poller_ = std::make_unique<RepositoryPoller>(*repository_, std::vector{root_}, std::chrono::milliseconds(5));
    std::promise<void> loaded;
    ASSERT_TRUE(repository_->LoadAll([&] { loaded.set_value(); }).ok());
    loaded.get_future().wait();
  }

  std::string Answer(const std::string& name) {
    auto servable = repository_->Find(name, "");
    if (!servable.ok()) return std::string(servable.status().message());
    return (*servable)->model->Call("forward", {}, {}).value().toStringRef();
  }

  // Until it is so, which it is in some look to come.
  void Await(const std::string& name, const std::string& answer) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Answer(name) != answer && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(Answer(name), answer);
  }

  const fs::path root_;
  FakeRuntime runtime_;
  std::unique_ptr<Repository> repository_;
  std::unique_ptr<RepositoryPoller> poller_;
};

TEST_F(RepositoryPollerTest, ModelsAndVersionsComeChangeAndGo) {
  Put("m/1/model.pt", "ok one");
  Start();
  EXPECT_EQ(Answer("m"), "one");
  Put("n/1/model.pt", "ok new");
  Await("n", "new");
  Put("m/2/model.pt", "ok two");
  Await("m", "two");
  Put("m/2/model.pt", "ok changed");
  Await("m", "changed");
  fs::remove_all(root_ / "m/2");
  Await("m", "one");
  fs::remove_all(root_ / "n");
  Await("n", "model 'n' is unloaded");
  Put("n/1/model.pt", "ok again");
  Await("n", "again");
}

TEST_F(RepositoryPollerTest, ALoadThatFailsLeavesWhatServesAndTheNextOneFollows) {
  Put("m/1/model.pt", "ok one");
  Start();
  Put("m/2/model.pt", "bad half");
  Put("n/1/model.pt", "ok after");
  Await("n", "after");
  EXPECT_EQ(Answer("m"), "one");
  Put("m/2/model.pt", "ok whole");
  Await("m", "whole");
}

TEST_F(RepositoryPollerTest, WhatTheOldVersionAnswersIsAnsweredWhileTheNewOneLoads) {
  Put("m/1/model.pt", "ok one");
  Start();
  const ServablePtr held = *repository_->Find("m", "");
  Put("m/1/model.pt", "ok other");
  Await("m", "other");
  EXPECT_EQ(held->model->Call("forward", {}, {}).value().toStringRef(), "one");
}

TEST_F(RepositoryPollerTest, ARootThatCannotBeReadForAWhileChangesNothing) {
  Put("m/1/model.pt", "ok one");
  Start();
  const fs::path aside = root_.string() + ".aside";
  fs::rename(root_, aside);
  // Long enough for several looks; the answer may not change in any.
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Answer("m"), "one");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fs::rename(aside, root_);
  Put("n/1/model.pt", "ok new");
  Await("n", "new");
  EXPECT_EQ(Answer("m"), "one");
}

}  // namespace
}  // namespace hearth::server
