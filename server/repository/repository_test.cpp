#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(RepositoryTest, TheLatestVersionAnswers) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  StartAndLoad();
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_EQ(Answer("m", "2"), "two");
  EXPECT_TRUE(repository_->AllReady());
  EXPECT_EQ(repository_->Find("m", "1").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RepositoryTest, BeforeItHasLookedForModelsNoneIsUnknown) {
  Put("a/m/1/model.pt", "ok one");
  Start({root_ / "a"});
  EXPECT_EQ(repository_->Find("m", "").status().code(), absl::StatusCode::kUnavailable);
  StartAndLoad();
  EXPECT_EQ(repository_->Find("n", "").status().code(), absl::StatusCode::kNotFound);
  StartWith(ModelControl::kExplicit);
  EXPECT_EQ(repository_->Find("m", "").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RepositoryTest, AVersionWhoseWarmUpFailsIsNotSwappedIn) {
  Put("a/m/1/model.pt", "ok old");
  StartAndLoad();
  Put("a/m/1/model.pt", "ok new");
  const absl::Status status = Load("m", R"({"model_warmup": [{"name": "good"}, {"name": "bad"}]})");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("version 1 of 'm': the warm-up sample 'bad' failed: no such input"));
  EXPECT_EQ(Answer("m"), "old");
  EXPECT_TRUE(Load("m", R"({"model_warmup": [{"name": "good", "count": 3}]})").ok());
  EXPECT_EQ(Answer("m"), "new");
}

TEST_F(RepositoryTest, ALoadGivesWayToRequestsOnceTheServerHasStartedAndAModelServes) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/config.pbtxt", "model_warmup { name: 'w' }");
  Put("a/n/1/model.pt", "ok one");
  const auto gives_way = [&](const std::string& name) {
    const ServablePtr servable = *repository_->Find(name, "");
    return dynamic_cast<const FakeModel&>(*servable->model).in_background();
  };
  options_.load_threads = 1;
  StartAndLoad();
  EXPECT_FALSE(runtime_.last_load_in_background()) << "the server starts, though m serves already";
  EXPECT_FALSE(gives_way("m"));

  ASSERT_TRUE(Load("m").ok());
  EXPECT_TRUE(runtime_.last_load_in_background());
  EXPECT_TRUE(gives_way("m")) << "the warm-up";

  ASSERT_TRUE(Unload("m").ok());
  ASSERT_TRUE(Unload("n").ok());
  ASSERT_TRUE(Load("m").ok());
  EXPECT_FALSE(runtime_.last_load_in_background()) << "there is nothing to disturb";
  EXPECT_FALSE(gives_way("m"));
}

TEST_F(RepositoryTest, AModelIsPutOnTheGpusThatItsConfigurationNames) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/config.pbtxt", "instance_group { kind: KIND_GPU gpus: [ 2, 0 ] }");
  StartAndLoad();
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(runtime_.last_gpus(), IsEmpty()) << "there are none";
  runtime_.gpu_numbers = {0, 1, 2};
  Put("a/m/1/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_THAT(runtime_.last_gpus(), ElementsAre(0, 2));
}

TEST_F(RepositoryTest, AnExceptionFailsItsLoadAlone) {
  Put("a/m/1/model.pt", "ok old");
  StartAndLoad();
  EXPECT_EQ(Load("m", R"({"model_warmup": [{"name": "throws"}]})").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Answer("m"), "old");
  EXPECT_TRUE(Load("m").ok());
}

TEST_F(RepositoryTest, AllVersionsServeWhenThePolicySaysSo) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  StartAndLoad();
  EXPECT_EQ(Answer("m", "1"), "one");
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_THAT(repository_->ServedVersions("m"), ElementsAre(1, 2));
}

// A configuration of version_policy { all {} }.
std::string Routed(const std::string& labels, const std::string& split) {
  const auto parameter = [](const std::string& name, const std::string& value) {
    return value.empty() ? "" : "parameters { key: '" + name + "' value { string_value: '" + value + "' } }\n";
  };
  return "version_policy { all {} }\n" + parameter("version_labels", labels) + parameter("traffic_split", split);
}

TEST_F(RepositoryTest, ALabelNamesItsVersion) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", Routed("stable=1, canary=2", ""));
  StartAndLoad();
  EXPECT_EQ(Answer("m", "stable"), "one");
  EXPECT_EQ(Answer("m", "canary"), "two");
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_THAT(Answer("m", "other"), HasSubstr("has no version label 'other' (its labels: canary, stable)"));
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_EQ(Answer("m", "canary"), "the label 'canary', version 2 of model 'm', is unloaded");
}

TEST_F(RepositoryTest, RequestsWithoutAVersionAreSplit) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", Routed("stable=1", "stable=75,2=25"));
  StartAndLoad();
  const auto count = [&](const std::string& version) {
    std::map<int64_t, int> chosen;
    for (int i = 0; i < 200; ++i) ++chosen[(*repository_->Choose("m", version))->version];
    return chosen;
  };
  EXPECT_THAT(count(""), ElementsAre(Pair(1, 150), Pair(2, 50)));
  EXPECT_THAT(count("2"), ElementsAre(Pair(2, 200)));
  EXPECT_THAT(count("stable"), ElementsAre(Pair(1, 200)));
  // Whoever asks about the model hears of the version that answers most.
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(RepositoryTest, APartOfTheSplitThatDoesNotServeFallsToTheOthers) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "bad truncated");
  Put("a/m/config.pbtxt", Routed("canary=2", "1=50,canary=50"));
  StartAndLoad();
  for (int i = 0; i < 4; ++i) EXPECT_EQ((*repository_->Choose("m", ""))->version, 1);
  EXPECT_THAT(Answer("m", "canary"),
              HasSubstr("the label 'canary', version 2 of model 'm', failed to load; version 2"));
  EXPECT_EQ(repository_->Choose("m", "canary").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY ",
                                        "m/2 UNAVAILABLE bad archive: truncated; its 50 % of the "
                                        "requests go to the versions that serve"));
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_NE((*repository_->Choose("m", ""))->version, (*repository_->Choose("m", ""))->version);
}

TEST_F(RepositoryTest, ALabelOfAVersionThatIsNotChosenFailsTheLoad) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/config.pbtxt", Routed("canary=2", ""));
  const absl::Status status = Load("m");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("the label 'canary' is version 2, but the version policy chooses 1"));
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(RepositoryTest, ANewSplitIsTakenUpWithoutLoadingAgain) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", Routed("", "1=100,2=0"));
  StartAndLoad();
  const auto model = (*repository_->Find("m", "2"))->model;
  Put("a/m/config.pbtxt", Routed("", "1=0,2=100"));
  ASSERT_TRUE(Refresh("m").ok());
  const ServablePtr chosen = *repository_->Choose("m", "");
  EXPECT_EQ(chosen->model, model);
  EXPECT_EQ(chosen->config.parameters().at("traffic_split").string_value(), "1=0,2=100");
}

TEST_F(RepositoryTest, ARollbackHasWhatServedBeforeServeAgain) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(RollBack("m").message(), "nothing of model 'm' served before what serves now; name a version");
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  // What changes nothing is nothing to go back from.
  ASSERT_TRUE(Load("m").ok());
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY rolled back from 2", "m/2 UNAVAILABLE unloaded"));
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "two");
  // A load is as the files say again.
  ASSERT_TRUE(RollBack("m").ok());
  ASSERT_TRUE(Load("m").ok());
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 READY "));
  EXPECT_EQ(RollBack("none").code(), absl::StatusCode::kNotFound);
}

TEST_F(RepositoryTest, ARollbackGoesBackToTheConfigurationToo) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", "max_batch_size: 3 " + Routed("", "1=100,2=0"));
  StartAndLoad();
  Put("a/m/config.pbtxt", "max_batch_size: 4 " + Routed("", "1=0,2=100"));
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ((*repository_->Choose("m", ""))->version, 2);
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ((*repository_->Choose("m", ""))->version, 1);
  EXPECT_EQ((*repository_->Find("m", "2"))->config.max_batch_size(), 3);
}

TEST_F(RepositoryTest, AnArchiveThatWasReplacedIsNoWayBack) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/1/model.pt.new", "ok other");
  fs::rename(root_ / "a/m/1/model.pt.new", root_ / "a/m/1/model.pt");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(RollBack("m").message(), "version 1 of 'm': its archive was replaced since it served");
  EXPECT_EQ(Answer("m"), "other");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY "));
}

TEST_F(RepositoryTest, WhatIsKeptServesAtOnceWhateverTheDiskHas) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/config.pbtxt", "parameters { key: 'keep_previous' value { string_value: 'true' } }");
  StartAndLoad();
  const Model* const first = (*repository_->Find("m", ""))->model.get();
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE kept for a rollback", "m/2 READY "));
  fs::remove_all(root_ / "a/m");
  ASSERT_TRUE(RollBack("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_EQ((*repository_->Find("m", ""))->model.get(), first);
  ASSERT_TRUE(RollBack("m", 2).ok());
  EXPECT_EQ(Answer("m"), "two");
  // An unload keeps nothing.
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 UNAVAILABLE unloaded"));
  EXPECT_EQ(RollBack("m", 1).message(), "model 'm' does not serve; load it");
}

TEST_F(RepositoryTest, ARollbackToAVersionLeavesItAloneAndLabelsNameIt) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/3/model.pt", "ok three");
  Put("a/m/config.pbtxt",
      "version_policy { latest { num_versions: 2 } } parameters { key: 'version_labels' value { "
      "string_value: 'stable=2, canary=3' } }");
  StartAndLoad();
  ASSERT_TRUE(RollBack("m", 1).ok());
  EXPECT_THAT(repository_->ServedVersions("m"), ElementsAre(1));
  EXPECT_EQ(Answer("m", "canary"), "one");
  EXPECT_EQ((*repository_->Find("m", ""))->config.parameters().at("version_labels").string_value(),
            "canary=1, stable=1");
  EXPECT_EQ(RollBack("m", 7).message(), "version 7 of 'm': it is not on disk, only 1, 2, 3");
  EXPECT_EQ(RollBack("m", 7).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_EQ(IndexLines().size(), 3u);
}

TEST_F(RepositoryTest, ARollbackThatFailsChangesNothing) {
  Put("a/m/1/model.pt", "bad truncated");
  Put("a/m/2/model.pt", "ok two");
  StartAndLoad();
  EXPECT_EQ(RollBack("m", 1).message(), "version 1 of 'm': bad archive: truncated");
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_EQ(repository_->Versions().size(), 1u);
  EXPECT_TRUE(repository_->Failures().empty());
}

TEST_F(RepositoryTest, AfterARollbackTheFilesWinWhenTheyChange) {
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kPoll);
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Refresh("m").ok());
  const Model* const second = (*repository_->Find("m", ""))->model.get();
  ASSERT_TRUE(RollBack("m", 1).ok());
  EXPECT_EQ(Answer("m"), "one");
  const Model* const first = (*repository_->Find("m", ""))->model.get();
  EXPECT_NE(first, second);
  // What is bad is taken away: what serves goes on, now because the files say so.
  fs::remove_all(root_ / "a/m/2");
  ASSERT_TRUE(Refresh("m").ok());
  EXPECT_EQ((*repository_->Find("m", ""))->model.get(), first);
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY ", "m/2 UNAVAILABLE unloaded"));
  Put("a/m/3/model.pt", "ok three");
  ASSERT_TRUE(Refresh("m").ok());
  EXPECT_EQ(Answer("m"), "three");
}

TEST_F(RepositoryTest, NobodyRollsBackWhereNothingMayChange) {
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kNone);
  EXPECT_EQ(RollBack("m").code(), absl::StatusCode::kUnavailable);
}

TEST_F(RepositoryTest, AnUnknownModelVersionOrNumberIsTold) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_EQ(repository_->Find("n", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(repository_->Find("m", "0").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(repository_->Find("m", "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Answer("m", "7"), HasSubstr("does not serve version 7, only 1"));
}

TEST_F(RepositoryTest, AFailedModelKeepsItsReasonAndLeavesOthersServing) {
  Put("a/good/1/model.pt", "ok yes");
  Put("a/bad/1/model.pt", "bad truncated");
  Put("a/empty/README", "x");
  Put("a/wrong/config.pbtxt", "nonsense: 1");
  StartAndLoad();
  EXPECT_EQ(Answer("good"), "yes");
  EXPECT_EQ(repository_->Find("bad", "").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Answer("bad"), HasSubstr("bad archive: truncated"));
  EXPECT_THAT(Answer("wrong"), HasSubstr("nonsense"));
  EXPECT_FALSE(repository_->AllReady());
  EXPECT_TRUE(repository_->started());
  const auto lines = IndexLines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "bad/1 UNAVAILABLE bad archive: truncated");
  EXPECT_THAT(lines[1], HasSubstr("empty/ UNAVAILABLE no version folder"));
  EXPECT_EQ(lines[2], "good/1 READY ");
  EXPECT_THAT(IndexLines(true), ElementsAre("good/1 READY "));
}

TEST_F(RepositoryTest, AReloadSwapsAndTheOldVersionLivesUntilItsLastRequestEnds) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  ServablePtr held = *repository_->Find("m", "");
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "two");
  EXPECT_EQ(held->model->Call("forward", {}, {}).value().toStringRef(), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNLOADING ", "m/2 READY "));
  held.reset();
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/2 READY "));
}

TEST_F(RepositoryTest, WhileANewVersionLoadsTheOldOneServes) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/1/model.pt", "ok other");
  runtime_.load_gate.Shut();
  std::promise<absl::Status> done;
  repository_->Load("m", std::nullopt, [&](absl::Status status) { done.set_value(status); });
  EXPECT_EQ(Answer("m"), "one");
  runtime_.load_gate.Open();
  ASSERT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(Answer("m"), "other");
}

TEST_F(RepositoryTest, AReloadThatFailsLeavesTheOldVersionServing) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  Put("a/m/1/model.pt", "bad flipped");
  const absl::Status status = Load("m");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 1 of 'm': bad archive: flipped"));
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY bad archive: flipped"));
}

TEST_F(RepositoryTest, AModelThatIsStillLoadingIsUnavailable) {
  Put("a/m/1/model.pt", "ok one");
  runtime_.load_gate.Shut();
  Start({root_ / "a"});
  std::promise<void> loaded;
  ASSERT_TRUE(repository_->LoadAll([&] { loaded.set_value(); }).ok());
  EXPECT_EQ(repository_->Find("m", "").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Answer("m"), HasSubstr("is loading"));
  EXPECT_FALSE(repository_->started());
  runtime_.load_gate.Open();
  loaded.get_future().wait();
  EXPECT_EQ(Answer("m"), "one");
}

// Asks for loads or unloads until one is refused, and counts those that are not.
class Flood {
 public:
  Repository::Done Done() {
    ++asked_;
    return [this](const absl::Status& status) {
      std::lock_guard lock(mutex_);
      ++ended_;
      last_ = status;
      changed_.notify_all();
    };
  }
  // Of the one that was refused at once.
  absl::Status refusal() {
    std::lock_guard lock(mutex_);
    return ended_ > 0 ? last_ : absl::OkStatus();
  }
  int admitted() {
    std::lock_guard lock(mutex_);
    return asked_ - ended_;
  }
  void WaitForAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ == asked_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
  int ended_ = 0;
  absl::Status last_;
};

TEST_F(RepositoryTest, NoMoreLoadsOfAModelWaitThanMay) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok two");
  StartAndLoad();
  runtime_.load_gate.Shut();
  Flood flood;
  while (flood.refusal().ok() && flood.admitted() < 1000) repository_->Load("m", std::nullopt, flood.Done());
  EXPECT_EQ(flood.refusal().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(flood.refusal().message(), HasSubstr("too many loads wait"));
  // One more may be under way.
  EXPECT_GE(flood.admitted(), 16);
  EXPECT_LE(flood.admitted(), 17);
  Flood unloads;
  repository_->Unload("m", unloads.Done());
  if (flood.admitted() == 17) {
    EXPECT_EQ(unloads.refusal().code(), absl::StatusCode::kResourceExhausted);
  }
  runtime_.load_gate.Open();
  flood.WaitForAll();
  unloads.WaitForAll();
  EXPECT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 READY ", "n/1 READY "));
}

TEST_F(RepositoryTest, NoMoreLoadsWaitInAllThanMay) {
  StartAndLoad();
  Put("a/m/1/model.pt", "ok one");
  runtime_.load_gate.Shut();
  Flood blocked;
  for (int i = 0; i < 2; ++i) {
    Put("a/blocked" + std::to_string(i) + "/1/model.pt", "ok one");
    repository_->Load("blocked" + std::to_string(i), std::nullopt, blocked.Done());
  }
  Flood flood;
  for (int i = 0; flood.refusal().ok() && i < 1000; ++i) {
    repository_->Load("nowhere" + std::to_string(i), std::nullopt, flood.Done());
  }
  EXPECT_EQ(flood.refusal().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LE(flood.admitted(), 256);
  runtime_.load_gate.Open();
  flood.WaitForAll();
  blocked.WaitForAll();
  EXPECT_TRUE(Load("m").ok());
}

TEST_F(RepositoryTest, ConfigurationsOfLoadsThatWaitAreBoundedTogether) {
  for (int i = 0; i < 200; ++i) Put("a/m" + std::to_string(i) + "/1/model.pt", "ok one");
  Start({root_ / "a"});
  runtime_.load_gate.Shut();
  // A text of 0.9 MiB each.
  const std::string config = R"({"parameters": {"k": {"string_value": ")" + std::string(900'000, 'v') + R"("}}})";
  Flood flood;
  for (int i = 0; flood.refusal().ok() && i < 200; ++i) {
    repository_->Load("m" + std::to_string(i), config, flood.Done());
  }
  EXPECT_EQ(flood.refusal().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(flood.refusal().message(), HasSubstr("take too much memory"));
  EXPECT_LE(flood.admitted(), 75);
  EXPECT_GE(flood.admitted(), 30);
  runtime_.load_gate.Open();
  flood.WaitForAll();
  // Room is given back.
  EXPECT_TRUE(Load("m0", config).ok());
}

TEST_F(RepositoryTest, LoadsThatAreUnderWayOrWaitEndWhenTheServerDoes) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok two");
  StartAndLoad();
  runtime_.load_gate.Shut();
  std::vector<std::promise<absl::Status>> ends(6);
  for (size_t i = 0; i < ends.size(); ++i) {
    repository_->Load(i % 2 == 0 ? "m" : "n", std::nullopt, [&, i](absl::Status status) { ends[i].set_value(status); });
  }
  repository_->StopLoading();
  for (std::promise<absl::Status>& end : ends) {
    const absl::Status status = end.get_future().get();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("the server is shutting down"));
  }
  EXPECT_EQ(Load("m").code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 0", "n/1 0"));
  // What served still does, for what is in flight.
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(RepositoryTest, AWarmUpEndsWhenTheServerDoes) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  runtime_.call_gate.Shut();
  std::promise<absl::Status> end;
  repository_->Load("m", R"({"model_warmup": [{"name": "good", "count": 3}]})",
                    [&](absl::Status status) { end.set_value(status); });
  repository_->StopLoading();
  EXPECT_EQ(end.get_future().get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RepositoryTest, AnUnloadedModelIsUnavailableUntilItIsLoadedAgain) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(Answer("m"), HasSubstr("is unloaded"));
  EXPECT_THAT(IndexLines(), ElementsAre("m/1 UNAVAILABLE unloaded"));
  EXPECT_TRUE(repository_->AllReady());
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_EQ(Unload("n").code(), absl::StatusCode::kNotFound);
}

TEST_F(RepositoryTest, WhatWasObservedOutlivesAReloadAndAnUnload) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  const auto observed = (*repository_->Find("m", ""))->observed;
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ((*repository_->Find("m", ""))->observed, observed);
  ASSERT_TRUE(Unload("m").ok());
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ((*repository_->Find("m", ""))->observed, observed);
}

TEST_F(RepositoryTest, VersionsThatShouldServeAreListedWhateverBecameOfThem) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "bad two");
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/wrong/config.pbtxt", "nonsense");
  Put("a/wrong/1/model.pt", "ok");
  StartAndLoad();
  const auto lines = [&] {
    std::vector<std::string> lines;
    for (const VersionStatus& version : repository_->Versions()) {
      lines.push_back(version.name + " " + version.version + (version.serving != nullptr ? " serves" : ""));
    }
    return lines;
  };
  EXPECT_THAT(lines(), ElementsAre("m 1 serves", "m 2", "wrong "));
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(lines(), ElementsAre("m 1", "m 2", "wrong "));
  // The policy no longer wants version 1.
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", "version_policy { latest { num_versions: 1 } }");
  ASSERT_TRUE(Load("m").ok());
  EXPECT_THAT(lines(), ElementsAre("m 2 serves", "wrong "));
}

TEST_F(RepositoryTest, CountersOutliveAReload) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  (*repository_->Find("m", ""))->statistics->Refused(FailureReason::kOther, {});
  ASSERT_TRUE(Load("m").ok());
  EXPECT_EQ((*repository_->Find("m", ""))->statistics->snapshot().failure.count, 1u);
}

TEST_F(RepositoryTest, LoadsThatFailAreCountedOverReloadsAndUnloads) {
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "bad two");
  StartAndLoad();
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 0", "m/2 1"));
  Put("a/m/1/model.pt", "bad flipped");
  EXPECT_FALSE(Load("m").ok());
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 1", "m/2 2"));
  Put("a/m/1/model.pt", "ok other");
  Put("a/m/2/model.pt", "ok two");
  ASSERT_TRUE(Load("m").ok());
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 1", "m/2 2"));
}

TEST_F(RepositoryTest, ALoadThatFailsForItsConfigurationIsAFailureOfEachVersion) {
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/wrong/config.pbtxt", "nonsense");
  StartAndLoad();
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 0", "m/2 0", "wrong/ 1"));
  Put("a/m/config.pbtxt", "nonsense");
  EXPECT_FALSE(Load("m").ok());
  EXPECT_FALSE(Load("wrong").ok());
  EXPECT_FALSE(Load("nowhere").ok());
  EXPECT_THAT(LoadFailures(), ElementsAre("m/1 1", "m/2 1", "wrong/ 2"));
}

TEST_F(RepositoryTest, AConfigurationInTheRequestTakesTheFilesPlace) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/m/config.pbtxt", "nonsense: 1");
  StartAndLoad();
  ASSERT_TRUE(Load("m", R"({"version_policy": {"specific": {"versions": [1]}}})").ok());
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(RepositoryTest, NamesOutsideTheRepositoryAreRefusedAndLeaveNoTrace) {
  Put("secret/1/model.pt", "ok secret");
  StartAndLoad();
  EXPECT_EQ(Load("../secret").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Load("nowhere").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(IndexLines(), IsEmpty());
}

TEST_F(RepositoryTest, AModelInTwoRepositoriesIsNotGuessed) {
  Put("a/m/1/model.pt", "ok one");
  Put("b/m/1/model.pt", "ok two");
  Start({root_ / "a", root_ / "b"});
  EXPECT_EQ(Load("m").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Answer("m"), HasSubstr("more than one model repository"));
}

TEST_F(RepositoryTest, ClientsLoadAndUnloadOnlyWhereTheyMay) {
  Put("a/m/1/model.pt", "ok one");
  for (const ModelControl control : {ModelControl::kNone, ModelControl::kPoll}) {
    StartWith(control);
    for (const absl::Status& status : {Load("m"), Unload("m")}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(status.message(), HasSubstr("explicit model load / unload is not allowed if polling is enabled"));
    }
    EXPECT_EQ(Answer("m"), "one");
  }
  StartWith(ModelControl::kAll);
  EXPECT_TRUE(Load("m").ok());
}

TEST_F(RepositoryTest, ExplicitControlLoadsWhatIsNamedAlone) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/n/1/model.pt", "ok two");
  StartWith(ModelControl::kExplicit);
  EXPECT_TRUE(repository_->started());
  EXPECT_THAT(IndexLines(true), IsEmpty());
  EXPECT_TRUE(Load("n").ok());
  EXPECT_EQ(Answer("n"), "two");
  StartWith(ModelControl::kExplicit, {"m"});
  EXPECT_THAT(IndexLines(true), ElementsAre("m/1 READY "));
  StartWith(ModelControl::kExplicit, {"*"});
  EXPECT_THAT(IndexLines(true), ElementsAre("m/1 READY ", "n/1 READY "));
}

TEST_F(RepositoryTest, AModelOfTheStartThatIsNowhereIsAFailure) {
  StartWith(ModelControl::kExplicit, {"nowhere"});
  EXPECT_FALSE(repository_->AllReady());
  EXPECT_THAT(repository_->Failures(), ElementsAre("nowhere: no model repository has a model 'nowhere'"));
  Start({root_ / "a"}, ModelControl::kExplicit, {"../a"});
  EXPECT_EQ(repository_->LoadAll([] {}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RepositoryTest, AFailedLoadBesideAVersionThatServesIsAFailureAndNoReasonNotToBeReady) {
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  EXPECT_THAT(repository_->Failures(), IsEmpty());
  Put("a/m/2/model.pt", "bad half");
  EXPECT_FALSE(Load("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  EXPECT_TRUE(repository_->AllReady());
  EXPECT_THAT(repository_->Failures(), ElementsAre("m version 2: bad archive: half"));
}

TEST_F(RepositoryTest, ARefreshLoadsOnlyWhatHasChanged) {
  Put("a/m/config.pbtxt", "version_policy { all {} }");
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kPoll);
  const ServablePtr first = *repository_->Find("m", "1");
  Put("a/m/2/model.pt", "ok two");
  EXPECT_TRUE(Refresh("m").ok());
  EXPECT_EQ(*repository_->Find("m", "1"), first);
  EXPECT_EQ(Answer("m", "2"), "two");
  Put("a/m/1/model.pt", "ok another");
  EXPECT_TRUE(Refresh("m").ok());
  EXPECT_EQ(Answer("m", "1"), "another");
  // Another configuration is another version, of the same archive.
  const ServablePtr second = *repository_->Find("m", "2");
  Put("a/m/config.pbtxt", "version_policy { all {} } max_batch_size: 4");
  EXPECT_TRUE(Refresh("m").ok());
  EXPECT_NE(*repository_->Find("m", "2"), second);
}

TEST_F(RepositoryTest, ARefreshReadsTheFilesAgainThatSequencesBeginWith) {
  Put("a/m/config.pbtxt", R"(
    input { name: 'x' data_type: TYPE_FP32 dims: 1 } output { name: 'y' data_type: TYPE_FP32 dims: 1 }
    sequence_batching { state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: 1
                                initial_state { data_type: TYPE_FP32 dims: 1 data_file: 'f' } } })");
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kPoll);
  const ServablePtr before = *repository_->Find("m", "1");
  EXPECT_TRUE(Refresh("m").ok());
  EXPECT_NE(*repository_->Find("m", "1"), before);
}

TEST_F(RepositoryTest, AModelsMetricsAreAsTheConfigurationThatServesSays) {
  Put("a/m/config.pbtxt", "metric_tags { key: 'team' value: 'a' }");
  Put("a/m/1/model.pt", "ok one");
  StartAndLoad();
  const auto labels = [&] { return (*repository_->Find("m", "1"))->statistics->snapshot().labels; };
  EXPECT_THAT(labels(), ElementsAre(Pair("_team", "a")));
  Put("a/m/config.pbtxt", "metric_tags { key: 'team' value: 'b' }");
  Put("a/m/1/model.pt", "bad");
  EXPECT_FALSE(Load("m").ok());
  EXPECT_THAT(labels(), ElementsAre(Pair("_team", "a")));
  Put("a/m/1/model.pt", "ok two");
  EXPECT_TRUE(Load("m").ok());
  EXPECT_THAT(labels(), ElementsAre(Pair("_team", "b")));
}

TEST_F(RepositoryTest, ARefreshDropsWhatIsGone) {
  Put("a/m/1/model.pt", "ok one");
  Put("a/m/2/model.pt", "ok two");
  Put("a/n/1/model.pt", "ok n");
  StartWith(ModelControl::kPoll);
  fs::remove_all(root_ / "a/m/2");
  EXPECT_TRUE(Refresh("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  fs::remove_all(root_ / "a/n");
  EXPECT_TRUE(Refresh("n").ok());
  EXPECT_THAT(Answer("n"), HasSubstr("is unloaded"));
}

TEST_F(RepositoryTest, ARefreshThatFailsLeavesWhatServes) {
  Put("a/m/1/model.pt", "ok one");
  StartWith(ModelControl::kPoll);
  Put("a/m/2/model.pt", "bad half");
  EXPECT_FALSE(Refresh("m").ok());
  EXPECT_EQ(Answer("m"), "one");
  fs::remove_all(root_ / "a/m/1");
  fs::remove_all(root_ / "a/m/2");
  EXPECT_EQ(Refresh("m").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Answer("m"), "one");
}

TEST_F(RepositoryTest, ARepositoryThatCannotBeReadIsNamed) {
  Start({root_ / "nowhere"});
  const absl::Status status = repository_->LoadAll([] {});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace hearth::server
