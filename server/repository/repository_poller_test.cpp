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
using ::testing::ElementsAre;

class CallOfNothing : public CallInterface {
 public:
  absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup&, const DataFiles&) const override {
    return BoundArguments();
  }
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

  void Start(std::chrono::duration<double> interval = std::chrono::milliseconds(5)) {
    repository_ = std::make_unique<Repository>(
        Repository::Options{.roots = {root_}, .control = ModelControl::kPoll}, runtime_,
        [](const Model&, const inference::ModelConfig&, const DataFiles&) {
          return std::make_unique<const CallOfNothing>();
        },
        [] {});
    poller_ = std::make_unique<RepositoryPoller>(*repository_, std::vector{root_}, interval);
    ASSERT_TRUE(repository_->LoadAll([this] { loaded_.set_value(); }, poller_->unsettled()).ok());
    poller_->Start();
  }

  void StartAndWait() {
    Start();
    loaded_.get_future().wait();
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
  std::promise<void> loaded_;  // whatever lay there at the start
};

TEST_F(RepositoryPollerTest, ModelsAndVersionsComeChangeAndGo) {
  Put("m/1/model.pt", "ok one");
  StartAndWait();
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

TEST_F(RepositoryPollerTest, LabelsThatChangeAreReadAndTheModelGoesOnServing) {
  Put("m/1/model.pt", "ok one");
  Put("m/config.pbtxt", R"(output { name: "y" data_type: TYPE_FP32 dims: 2 label_filename: "l.txt" })");
  Put("m/l.txt", "cat\ndog\n");
  StartAndWait();
  const ServablePtr before = *repository_->Find("m", "");
  EXPECT_THAT(before->labels.at("y"), ElementsAre("cat", "dog"));
  Put("m/l.txt", "cat\nhorse\n");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  ServablePtr now = before;
  while (now->labels == before->labels && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    now = *repository_->Find("m", "");
  }
  EXPECT_THAT(now->labels.at("y"), ElementsAre("cat", "horse"));
  EXPECT_EQ(now->model, before->model);
}

TEST_F(RepositoryPollerTest, ALoadThatFailsLeavesWhatServesAndTheNextOneFollows) {
  Put("m/1/model.pt", "ok one");
  StartAndWait();
  Put("m/2/model.pt", "bad half");
  Put("n/1/model.pt", "ok after");
  Await("n", "after");
  EXPECT_EQ(Answer("m"), "one");
  Put("m/2/model.pt", "ok whole");
  Await("m", "whole");
}

TEST_F(RepositoryPollerTest, WhatTheOldVersionAnswersIsAnsweredWhileTheNewOneLoads) {
  Put("m/1/model.pt", "ok one");
  StartAndWait();
  const ServablePtr held = *repository_->Find("m", "");
  Put("m/1/model.pt", "ok other");
  Await("m", "other");
  EXPECT_EQ(held->model->Call("forward", {}, {}).value().toStringRef(), "one");
}

TEST_F(RepositoryPollerTest, ARootThatCannotBeReadForAWhileChangesNothing) {
  Put("m/1/model.pt", "ok one");
  StartAndWait();
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

TEST_F(RepositoryPollerTest, WhatIsBeingWrittenAtTheStartIsLoadedWhenItIsWhole) {
  Put("m/1/model.pt", "bad half");
  Put("gone/1/model.pt", "bad half");
  // Its files were written less than so long ago, and are changed before the first look.
  Start(std::chrono::milliseconds(500));
  EXPECT_EQ(poller_->unsettled(), (std::set<std::string>{"gone", "m"}));
  EXPECT_EQ(Answer("m"), "model 'm' is loading");
  EXPECT_FALSE(repository_->AllReady());
  Put("m/1/model.pt", "ok whole");
  fs::remove_all(root_ / "gone");
  loaded_.get_future().wait();
  EXPECT_EQ(Answer("m"), "whole");
  EXPECT_EQ(Answer("gone"), "model 'gone' is unloaded");
  EXPECT_THAT(repository_->Failures(), testing::IsEmpty());
}

TEST_F(RepositoryPollerTest, AnEndBeforeWhatIsBeingWrittenIsWholeIsNotWaitedFor) {
  Put("m/1/model.pt", "bad half");
  Start(std::chrono::hours(1));
  poller_.reset();
  repository_->StopLoading();
  loaded_.get_future().wait();
}

}  // namespace
}  // namespace hearth::server
