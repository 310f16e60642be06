#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

#include "server/repository/idle_unloader.h"
#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Of a FakeModel.
constexpr uint64_t kOfOneModel = 1200;

class IdleModelsTest : public RepositoryTest {
 protected:
  IdleModelsTest() { options_.room_wait = std::chrono::milliseconds(0); }

  std::future<absl::Status> BeginToLoadIdle(const std::string& name) {
    auto done = std::make_shared<std::promise<absl::Status>>();
    repository_->LoadIdle(name, waiting_, [done](absl::Status status) { done->set_value(std::move(status)); });
    return done->get_future();
  }
  absl::Status LoadIdle(const std::string& name) { return BeginToLoadIdle(name).get(); }
  absl::Status StatusOf(const std::string& name, const std::string& version = "") {
    return repository_->Find(name, version).status();
  }

  std::shared_ptr<const void> waiting_ = std::make_shared<int>();
};

TEST_F(IdleModelsTest, AModelThatNobodyUsesIsUnloadedUntilItIsAskedFor) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(hours(1)), 0) << "it was loaded just now";
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_EQ(repository_->budget().held().host, 0);
  EXPECT_EQ(StatusOf("m").code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(IsIdle(StatusOf("m")));
  EXPECT_EQ(Answer("m"), "model 'm' is unloaded: idle for 0 s; an inference has it loaded again");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE unloaded: idle for 0 s"));
  EXPECT_THAT(IndexLines(/*ready_only=*/true), IsEmpty());
  ASSERT_EQ(repository_->Versions().size(), 1);
  EXPECT_TRUE(repository_->Versions()[0].idle);
  EXPECT_EQ(repository_->Versions()[0].reason, "unloaded: idle for 0 s");
  // Requests for it are answered.
  EXPECT_TRUE(repository_->CheckReady("m", "").ok());
  EXPECT_TRUE(repository_->AllReady());

  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_EQ(repository_->budget().held().host, kOfOneModel);
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY "));
  EXPECT_EQ(repository_->idle_counts().unloaded_for_time, 1);
  EXPECT_EQ(repository_->idle_counts().loaded_again, 1);
  EXPECT_TRUE(LoadIdle("m").ok()) << "it serves already";
  EXPECT_EQ(repository_->idle_counts().loaded_again, 1);
}

TEST_F(IdleModelsTest, ALoadThatARequestWaitsForGivesWayToNone) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok one");
  StartAndLoad();
  {
    const auto held = repository_->Choose("n", "");
    EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  }
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_FALSE(runtime_.last_load_in_background());
  EXPECT_TRUE(Load("m").ok());
  EXPECT_TRUE(runtime_.last_load_in_background());
}

TEST_F(IdleModelsTest, AModelIsUsedWhileARequestHasIt) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  {
    const auto held = repository_->Choose("m", "");
    EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 0);
    EXPECT_EQ(Answer("m"), "one");
  }
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
}

TEST_F(IdleModelsTest, AModelIsUsedWhileAnotherVersionOfItIsLoaded) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  runtime_.load_gate.Shut();
  std::promise<absl::Status> loaded;
  repository_->Load("m", std::nullopt, [&](absl::Status status) { loaded.set_value(std::move(status)); });
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 0);
  runtime_.load_gate.Open();
  EXPECT_TRUE(loaded.get_future().get().ok());
}

TEST_F(IdleModelsTest, WhatServedServesAgainWhateverItsConfigurationCameFrom) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  StartAndLoad();
  ASSERT_TRUE(Load("m", R"({"version_policy": {"all": {}},
                            "parameters": {"version_labels": {"string_value": "old=1"}}})")
                  .ok());
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_TRUE(IsIdle(StatusOf("m", "old")));
  EXPECT_TRUE(IsIdle(StatusOf("m", "2")));
  const absl::Status other = StatusOf("m", "3");
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(other.message(), "model 'm' does not serve version 3, only 1, 2");
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m", "old"), "one");
  EXPECT_EQ(Answer("m"), "two");
}

TEST_F(IdleModelsTest, AVersionThatWasRolledBackToServesAgain) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY rolled back from 2", "m/2 UNAVAILABLE unloaded"));
  EXPECT_TRUE(RollBack("m").ok()) << "and its way back is still there";
  EXPECT_EQ(Answer("m"), "two");
}

TEST_F(IdleModelsTest, WhatIsKeptForARollbackGoesToo) {
  Put("a/m/config.pbtxt", R"(parameters { key: "keep_previous" value { string_value: "true" } })");
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(repository_->budget().held().host, 2 * kOfOneModel);
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_EQ(repository_->budget().held().host, 0);
  EXPECT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(IdleModelsTest, AModelThatCannotBeLoadedAgainIsToldSoAndRests) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  Put("a/m/1/model.pt", "bad half");
  EXPECT_EQ(LoadIdle("m").message(), "the idle model 'm' cannot be loaded again: version 1 of 'm': bad archive: half");
  EXPECT_FALSE(IsIdle(StatusOf("m"))) << "requests have it loaded again no sooner than in a while";
  EXPECT_THAT(Answer("m"), HasSubstr("model 'm' failed to load; version 1: bad archive: half"));
  EXPECT_FALSE(repository_->CheckReady("m", "").ok());
  Put("a/m/1/model.pt", "ok whole");
  EXPECT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "whole");
}

TEST_F(IdleModelsTest, ThatAModelHasRestedIsAChange) {
  options_.rest_after_failure = std::chrono::milliseconds(50);
  Put("a/m/1/model.pt", "ok one");
  std::promise<void> ready;
  std::atomic<bool> looks{false};
  changed_ = [&] {
    if (looks && repository_->CheckReady("m", "").ok() && looks.exchange(false)) ready.set_value();
  };
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  Put("a/m/1/model.pt", "bad half");
  looks = true;
  EXPECT_FALSE(LoadIdle("m").ok());
  EXPECT_EQ(ready.get_future().wait_for(seconds(30)), std::future_status::ready);
  repository_.reset();
}

TEST_F(IdleModelsTest, AModelWhoseFolderIsGoneIsNotLoadedAgain) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  fs::remove_all(root_ / "a/m");
  EXPECT_THAT(LoadIdle("m").message(), HasSubstr("no model repository has a model 'm'"));
}

TEST_F(IdleModelsTest, WhoUnloadsAnIdleModelHasNobodyLoadItAgain) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_TRUE(Unload("m").ok());
  EXPECT_FALSE(IsIdle(StatusOf("m")));
  EXPECT_EQ(Answer("m"), "model 'm' is unloaded");
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m"), "model 'm' is unloaded");
}

TEST_F(IdleModelsTest, ThoseWhoAskForAModelShareItsLoadAndAreBounded) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  runtime_.load_gate.Shut();
  std::vector<std::future<absl::Status>> asked;
  for (size_t i = 0; i < kMostWaitingForLoad; ++i) asked.push_back(BeginToLoadIdle("m"));
  EXPECT_EQ(LoadIdle("m").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(IsIdle(StatusOf("m"))) << "who comes while it is loaded waits with the others";
  runtime_.load_gate.Open();
  for (auto& each : asked) EXPECT_TRUE(each.get().ok());
  EXPECT_EQ(repository_->idle_counts().loaded_again, 1);
}

TEST_F(IdleModelsTest, WhoIsGoneKeepsNobodyFromWaiting) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  runtime_.load_gate.Shut();
  {
    const auto gone = std::make_shared<int>();
    for (size_t i = 0; i < kMostWaitingForLoad; ++i) repository_->LoadIdle("m", gone, [](const absl::Status&) {});
  }
  auto asked = BeginToLoadIdle("m");
  runtime_.load_gate.Open();
  EXPECT_TRUE(asked.get().ok());
  EXPECT_EQ(repository_->idle_counts().loaded_again, 1);
}

TEST_F(IdleModelsTest, WhoWaitsForAModelHasHeardThatTheServerEndsWhenItStopsLoading) {
  options_.load_threads = 1;
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok two");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 2);
  // The only thread that loads is busy with what does not stop.
  std::promise<void> busy, go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  repository_->Load("n", std::nullopt, [&busy, gone_on](const absl::Status&) {
    busy.set_value();
    gone_on.wait();
  });
  busy.get_future().wait();
  auto asked = BeginToLoadIdle("m");
  repository_->StopLoading();
  EXPECT_EQ(asked.wait_for(seconds(0)), std::future_status::ready);
  auto late = BeginToLoadIdle("m");
  EXPECT_EQ(late.wait_for(seconds(0)), std::future_status::ready);
  go_on.set_value();
  EXPECT_EQ(asked.get().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(late.get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(IdleModelsTest, WhoLooksOnDoesNotUseAModel) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  const auto versions = repository_->Versions();
  const auto serving = repository_->Serving();
  ASSERT_NE(versions[0].serving, nullptr);
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  EXPECT_EQ(versions[0].serving->name, "m") << "it is there as long as somebody looks";
  EXPECT_EQ(serving[0]->name, "m");
}

TEST_F(IdleModelsTest, AVersionThatGoesOnServingIsNotKeptForARollbackToo) {
  Put("a/m/config.pbtxt", R"(version_policy { all {} }
                             parameters { key: "keep_previous" value { string_value: "true" } })");
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kPoll);
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Refresh("m").ok());
  EXPECT_EQ(Answer("m", "1"), "one");
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
}

TEST_F(IdleModelsTest, WhatServedBeforeItWasIdleIsWhatALoadTakesThePlaceOf) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY rolled back from 2", "m/2 UNAVAILABLE unloaded"));
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  ASSERT_TRUE(RollBack("m", 2).ok()) << "to a version that is named";
  EXPECT_EQ(Answer("m"), "two");
}

TEST_F(IdleModelsTest, VersionsThatCanBeLoadedAgainServe) {
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  StartAndLoad();
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  Put("a/m/2/model.pt", "bad half");
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m", "1"), "one");
  EXPECT_THAT(Answer("m", "2"), HasSubstr("failed to load; version 2: bad archive: half"));
}

TEST_F(IdleModelsTest, AModelOfWhichAVersionHasNoRoomStaysIdleAndRests) {
  options_.memory_budget = {.host = 3000};
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/n/1/model.pt", "ok n");
  StartWith(ModelControl::kExplicit, {"m"});
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  ASSERT_TRUE(Load("n").ok());
  const absl::Status full = LoadIdle("m");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("version 2 of 'm': it needs 1200 bytes"));
  EXPECT_EQ(repository_->budget().held().host, kOfOneModel) << "version 1 is not loaded alone";
  EXPECT_EQ(repository_->idle_counts().loaded_again, 0);
  EXPECT_FALSE(IsIdle(StatusOf("m"))) << "version 1 was loaded in vain";
  EXPECT_FALSE(repository_->Versions()[0].idle) << "requests do not have it loaded now";
}

TEST_F(IdleModelsTest, AModelThatIsFoundToHaveNoRoomOnlyWhenItIsLoadedRests) {
  options_.memory_budget = {.host = 2000};
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok n");
  StartWith(ModelControl::kExplicit, {"m"});
  EXPECT_EQ(repository_->UnloadIdle(seconds(0)), 1);
  ASSERT_TRUE(Load("n").ok());
  EXPECT_EQ(LoadIdle("m").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(IsIdle(StatusOf("m"))) << "what it needs is known, and nothing was loaded";
  EXPECT_EQ(repository_->idle_counts().loaded_again, 0);
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 0", "n/1 0"));
  // Another archive is measured anew.
  Put("a/m/1/model.pt", "ok another");
  EXPECT_EQ(LoadIdle("m").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(IsIdle(StatusOf("m")));
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 1", "n/1 0"));
}

TEST_F(IdleModelsTest, AModelThatDoesNotFitIntoTheBudgetIsRefused) {
  options_.memory_budget = {.host = 2000};
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/n/1/model.pt", "ok two");
  const absl::Status measured = Load("n");
  EXPECT_EQ(measured.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(measured.message(),
            "version 1 of 'n': it needs 1200 bytes of memory; the models' budget is 2000 bytes, of which "
            "1200 are held: version 1 of 'm' 1200");
  // The size of an archive is known before it is loaded.
  Put("a/n/1/model.pt", "ok " + std::string(900, 'n'));
  EXPECT_THAT(Load("n").message(), HasSubstr("needs 903 bytes"));
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_EQ(repository_->budget().held().host, kOfOneModel);
}

TEST_F(IdleModelsTest, AVersionInPlaceOfAnotherNeedsRoomBesideIt) {
  options_.memory_budget = {.host = 2000};
  options_.unload_idle_models = true;
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(Load("m").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(IdleModelsTest, TheLeastRecentlyUsedModelMakesRoom) {
  options_.memory_budget = {.host = 3000};
  options_.unload_idle_models = true;
  for (const char* name : {"m", "n", "o"}) Put(std::string("a/") + name + "/1/model.pt", std::string("ok ") + name);
  StartWith(ModelControl::kExplicit, {});
  ASSERT_TRUE(Load("m").ok());
  ASSERT_TRUE(Load("n").ok());
  ASSERT_TRUE(Load("o").ok());
  EXPECT_TRUE(IsIdle(StatusOf("m")));
  EXPECT_THAT(IndexLines()[0], AllOf(HasSubstr("m/1 UNAVAILABLE unloaded: idle for "),
                                     HasSubstr(" s, to make room for version 1 of 'o'")));
  EXPECT_EQ(Answer("n"), "n");
  EXPECT_EQ(Answer("o"), "o");
  EXPECT_EQ(repository_->idle_counts().unloaded_for_room, 1);

  // One that is used is not unloaded, and nothing is unloaded in vain.
  {
    const auto used = repository_->Choose("n", "");
    const auto also_used = repository_->Choose("o", "");
    const absl::Status full = LoadIdle("m");
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(full.message(), HasSubstr("needs 1200 bytes")) << "which is known from before";
    EXPECT_TRUE(IsIdle(StatusOf("m"))) << "the next request tries again";
  }
  EXPECT_TRUE(LoadIdle("m").ok());
  EXPECT_EQ(Answer("m"), "m");
  EXPECT_EQ(repository_->idle_counts().unloaded_for_room, 2);
}

TEST_F(IdleModelsTest, WhatWouldNotBeEnoughIsNotUnloaded) {
  options_.memory_budget = {.host = 3000};
  options_.unload_idle_models = true;
  Put("a/m/1/model.pt", "ok m");
  Put("a/large/1/model.pt", "ok " + std::string(4000, 'n'));
  StartWith(ModelControl::kExplicit, {});
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(Load("large").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Answer("m"), "m");
}

TEST_F(IdleModelsTest, ALoadWaitsForThoseWhoUseAModelToLetItGo) {
  options_.memory_budget = {.host = 2000};
  options_.unload_idle_models = true;
  options_.room_wait = seconds(60);
  Put("a/m/1/model.pt", "ok m");
  Put("a/n/1/model.pt", "ok n");
  StartWith(ModelControl::kExplicit, {"m"});
  auto used = repository_->Choose("m", "");
  ASSERT_TRUE(used.ok());
  auto loaded = std::async(std::launch::async, [this] { return Load("n"); });
  EXPECT_EQ(loaded.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(Answer("m"), "m");
  used = absl::UnavailableError("it has ended");
  EXPECT_TRUE(loaded.get().ok());
  EXPECT_TRUE(IsIdle(StatusOf("m")));
  // What does not fit beside nobody is refused at once.
  Put("a/large/1/model.pt", "ok " + std::string(4000, 'n'));
  EXPECT_EQ(Load("large").code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(IdleModelsTest, LoadsWaitForOthersThatMayBeUnloadedThen) {
  options_.memory_budget = {.host = 2000};
  options_.unload_idle_models = true;
  options_.load_threads = 2;
  options_.room_wait = seconds(1);
  const std::string archive = "ok " + std::string(1500, 'm');
  Put("a/m/1/model.pt", archive);
  Put("a/n/1/model.pt", archive);
  runtime_.load_gate.Shut();
  auto started = std::async(std::launch::async, [this] { StartAndLoad(); });
  EXPECT_EQ(started.wait_for(std::chrono::milliseconds(1'500)), std::future_status::timeout);
  runtime_.load_gate.Open();
  started.get();
  EXPECT_NE(IsIdle(StatusOf("m")), IsIdle(StatusOf("n"))) << "one of them had to make room, and none has failed";
  EXPECT_TRUE(repository_->AllReady());
}

TEST_F(IdleModelsTest, RoomOnAGpuIsMadeByWhatIsThere) {
  runtime_.gpu_numbers = {0, 1};
  options_.memory_budget = {.each_gpu = 1500};
  options_.unload_idle_models = true;
  const auto on_gpu = [](int gpu) { return "instance_group { kind: KIND_GPU gpus: " + std::to_string(gpu) + " }"; };
  Put("a/first/config.pbtxt", on_gpu(0));
  Put("a/first/1/model.pt", "ok first");
  Put("a/second/config.pbtxt", on_gpu(1));
  Put("a/second/1/model.pt", "ok second");
  Put("a/third/config.pbtxt", on_gpu(1));
  Put("a/third/1/model.pt", "ok third");
  StartWith(ModelControl::kExplicit, {});
  ASSERT_TRUE(Load("first").ok());
  ASSERT_TRUE(Load("second").ok());
  EXPECT_EQ(repository_->budget().held(), (MemoryUse{.host = 400, .gpus = {{0, 1000}, {1, 1000}}}));
  ASSERT_TRUE(Load("third").ok());
  EXPECT_TRUE(IsIdle(StatusOf("second")));
  EXPECT_EQ(Answer("first"), "first") << "its room would not have helped, though nobody used it for longer";
  options_.unload_idle_models = false;
}

TEST_F(IdleModelsTest, AThreadUnloadsWhatWasNotUsedForSoLong) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  const IdleUnloader unloader(*repository_, std::chrono::milliseconds(1));
  const auto end = std::chrono::steady_clock::now() + seconds(30);
  while (!IsIdle(StatusOf("m")) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(IsIdle(StatusOf("m")));
}

}  // namespace
}  // namespace hearth::server
