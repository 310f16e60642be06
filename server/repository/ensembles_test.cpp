// Ensembles in a repository: what of them waits for what. Their calls are tested where they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "server/repository/ensemble_graph.h"
#include "server/repository/repository_testing.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// An ensemble whose steps are looked for, and nothing else.
class LookedUpEnsemble final : public OpaqueModel<EnsembleModel> {
 public:
  LookedUpEnsemble(const Repository& repository, const inference::ModelConfig& config)
      : repository_(repository), steps_(StepModels(config)), model_("ensemble", &gate_) {}

  absl::Status CheckSteps() const override {
    for (const std::string& step : steps_) {
      const auto found = repository_.Find(step, "");
      if (!found.ok() && !IsIdle(found.status())) return found.status();
    }
    return absl::OkStatus();
  }

  std::vector<MethodInfo> methods() const override { return model_.methods(); }
  const c10::FunctionSchema* FindMethod(std::string_view name) const override { return model_.FindMethod(name); }
  absl::StatusOr<std::string> SideEffect(std::string_view) const override { return std::string(); }
  absl::StatusOr<BatchProof> ProveBatch(std::string_view, std::span<const BatchArgument>) const override {
    return BatchProof{};
  }
  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view) const override { return std::string(); }
  bool LeavesArguments(std::string_view) const override { return true; }
  bool RunsOnCaller(std::string_view) const override { return false; }
  std::shared_ptr<CallHandle> CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override {
    return model_.CallAsync(method, std::move(args), std::move(kwargs), std::move(options), std::move(callback));
  }
  absl::StatusOr<c10::IValue> Call(std::string_view, Arguments, KeywordArguments, CallOptions) override {
    return c10::IValue("ensemble");
  }
  absl::StatusOr<c10::IValue> CallModule(Arguments, KeywordArguments, CallOptions) override {
    return c10::IValue("ensemble");
  }
  PlanCounts plan_counts() const override { return {}; }
  uint64_t weight_bytes() const override { return 0; }
  uint64_t code_bytes() const override { return 0; }
  MemoryUse memory_use() const override { return {}; }

 private:
  const Repository& repository_;
  const std::set<std::string> steps_;
  Gate gate_;
  FakeModel model_;
};

std::string StepsText(const std::vector<std::string>& steps) {
  std::string text =
      "platform: 'ensemble' input { name: 'x' data_type: TYPE_FP32 dims: 1 } "
      "output { name: 'y' data_type: TYPE_FP32 dims: 1 } ensemble_scheduling { ";
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string from = i == 0 ? "x" : "t" + std::to_string(i);
    const std::string to = i + 1 == steps.size() ? "y" : "t" + std::to_string(i + 1);
    text += "step { model_name: '" + steps[i] + "' model_version: -1 input_map { key: 'x' value: '" + from +
            "' } output_map { key: 'y' value: '" + to + "' } } ";
  }
  return text + "}";
}

class EnsemblesTest : public RepositoryTest {
 protected:
  void PutEnsemble(const std::string& name, const std::vector<std::string>& steps) {
    Put("a/" + name + "/config.pbtxt", StepsText(steps));
  }
  void StartServing(ModelControl control, std::vector<std::string> load_models = {}) {
    Start({root_ / "a"}, control, std::move(load_models));
    repository_->ServeEnsembles([repository = repository_.get()](const inference::ModelConfig& config) {
      return absl::StatusOr<std::shared_ptr<EnsembleModel>>(std::make_shared<LookedUpEnsemble>(*repository, config));
    });
    std::promise<void> loaded;
    ASSERT_TRUE(repository_->LoadAll([&] { loaded.set_value(); }).ok());
    loaded.get_future().wait();
  }
  bool IsReady(const std::string& name) { return repository_->CheckReady(name, "").ok(); }
  const std::shared_ptr<const void> who_asks_ = std::make_shared<int>();
  void Eventually(const std::function<bool()>& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST_F(EnsemblesTest, AtTheStartTheyWaitForTheirStepsWhateverTheNames) {
  PutEnsemble("a_first", {"m_nested", "z_last"});
  PutEnsemble("m_nested", {"z_last"});
  Put("a/z_last/1/model.pt", "ok z");
  options_.load_threads = 1;
  StartServing(ModelControl::kAll);
  EXPECT_THAT(IndexLines(), ::testing::ElementsAre("a_first/1 READY ", "m_nested/1 READY ", "z_last/1 READY "));
}

TEST_F(EnsemblesTest, OneWithoutAStepFailsWithItsNameAndIsLoadedWhenItComes) {
  PutEnsemble("e", {"m", "n"});
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kAll);
  EXPECT_THAT(IndexLines(), IsSupersetOf({std::string("m/1 READY ")}));
  EXPECT_THAT(std::string(repository_->CheckReady("e", "").message()), HasSubstr("unknown model 'n'"));
  Put("a/n/1/model.pt", "ok n");
  ASSERT_TRUE(Load("n").ok());
  Eventually([&] { return IsReady("e"); });
}

TEST_F(EnsemblesTest, TheyWaitForAStepThatIsIdleAndLoadedAgain) {
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kExplicit, {"m"});
  for (const bool is_there : {true, false}) {
    PutEnsemble("e", {"m"});
    if (!is_there) Put("a/m/1/model.pt", "bad broken");
    ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
    runtime_.load_gate.Shut();
    std::promise<absl::Status> again, loaded;
    repository_->LoadIdle("m", who_asks_, [&](absl::Status status) { again.set_value(std::move(status)); });
    repository_->Load("e", std::nullopt, [&](absl::Status status) { loaded.set_value(std::move(status)); });
    Eventually([&] {
      const auto lines = IndexLines();
      return std::ranges::any_of(lines, [](const auto& line) { return line.starts_with("e/"); });
    });
    // Long enough for it to wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    runtime_.load_gate.Open();
    EXPECT_EQ(again.get_future().get().ok(), is_there);
    EXPECT_EQ(loaded.get_future().get().ok(), is_there);
  }
}

TEST_F(EnsemblesTest, TheyWaitForAStepThatIsRolledBack) {
  Put("a/m/1/model.pt", "ok m");
  Put("a/m/config.pbtxt", "version_policy { specific { versions: 1 } }");
  StartServing(ModelControl::kAll);
  Put("a/m/2/model.pt", "ok m2");
  Put("a/m/config.pbtxt", "version_policy { specific { versions: 2 } }");
  ASSERT_TRUE(Load("m").ok());
  ASSERT_EQ(repository_->UnloadIdle(std::chrono::seconds(0)), 1);
  PutEnsemble("e", {"m"});
  runtime_.load_gate.Shut();
  std::promise<absl::Status> rolled_back, loaded;
  repository_->RollBack("m", 1, [&](absl::Status status) { rolled_back.set_value(std::move(status)); });
  repository_->Load("e", std::nullopt, [&](absl::Status status) { loaded.set_value(std::move(status)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  runtime_.load_gate.Open();
  const absl::Status status = rolled_back.get_future().get();
  EXPECT_EQ(loaded.get_future().get().ok(), status.ok()) << status;
}

TEST_F(EnsemblesTest, TheyAreRolledBackWithoutAFolderOfTheirVersion) {
  PutEnsemble("e", {"m"});
  Put("a/m/1/model.pt", "ok m");
  Put("a/n/1/model.pt", "ok n");
  StartServing(ModelControl::kAll);
  PutEnsemble("e", {"n"});
  ASSERT_TRUE(Load("e").ok());
  ASSERT_TRUE(RollBack("e").ok());
  const auto served = repository_->Find("e", "");
  ASSERT_TRUE(served.ok());
  EXPECT_EQ(StepModels((*served)->config), std::set<std::string>{"m"});
}

TEST_F(EnsemblesTest, OneThatWasUnloadedDoesNotComeBackByItself) {
  PutEnsemble("e", {"n"});
  StartServing(ModelControl::kAll);
  ASSERT_TRUE(Unload("e").ok());
  Put("a/n/1/model.pt", "ok n");
  ASSERT_TRUE(Load("n").ok());
  // Comes behind a load of it, and changes nothing.
  EXPECT_FALSE(RollBack("e").ok());
  EXPECT_FALSE(IsReady("e"));
}

TEST_F(EnsemblesTest, AnExplicitLoadLoadsTheStepsAndFailsWithThem) {
  PutEnsemble("e", {"m", "inner"});
  PutEnsemble("inner", {"n"});
  Put("a/m/1/model.pt", "ok m");
  Put("a/n/1/model.pt", "bad broken");
  StartServing(ModelControl::kExplicit);
  EXPECT_THAT(std::string(Load("e").message()), HasSubstr("inner"));
  EXPECT_TRUE(IsReady("m"));
  Put("a/n/1/model.pt", "ok n");
  EXPECT_TRUE(Load("e").ok());
  EXPECT_TRUE(IsReady("inner"));
}

TEST_F(EnsemblesTest, TheModelsOfTheStartAreLoadedWithTheirSteps) {
  PutEnsemble("e", {"m"});
  Put("a/m/1/model.pt", "ok m");
  Put("a/other/1/model.pt", "ok other");
  StartServing(ModelControl::kExplicit, {"e"});
  EXPECT_TRUE(IsReady("e"));
  EXPECT_TRUE(IsReady("m"));
  EXPECT_FALSE(IsReady("other"));
}

TEST_F(EnsemblesTest, OnesThatAreStepsOfEachOtherFailAndTheStartGoesOn) {
  PutEnsemble("a", {"b"});
  PutEnsemble("b", {"c"});
  PutEnsemble("c", {"a"});
  StartServing(ModelControl::kAll);
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(IsReady(name)) << name;
}

TEST_F(EnsemblesTest, TheyAreReadyWhileTheirStepsAre) {
  PutEnsemble("e", {"m"});
  PutEnsemble("outer", {"e"});
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kAll);
  ASSERT_TRUE(Unload("m").ok());
  EXPECT_FALSE(IsReady("e"));
  EXPECT_THAT(IndexLines()[0], HasSubstr("e/1 UNAVAILABLE"));
  EXPECT_TRUE(IndexLines(/*ready_only=*/true).size() == 1);
  ASSERT_TRUE(Load("m").ok());
  EXPECT_TRUE(IsReady("e"));
}

TEST_F(EnsemblesTest, AReloadThatFailsLeavesWhatServed) {
  PutEnsemble("e", {"m"});
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kAll);
  PutEnsemble("e", {"gone"});
  EXPECT_FALSE(Load("e").ok());
  EXPECT_TRUE(IsReady("e"));
}

TEST_F(EnsemblesTest, UnloadsOfAModelThatWaitsComeAfterItsLoad) {
  PutEnsemble("e", {"m"});
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kExplicit);
  runtime_.load_gate.Shut();
  std::promise<absl::Status> loaded, unloaded;
  repository_->Load("e", std::nullopt, [&](absl::Status status) { loaded.set_value(std::move(status)); });
  Eventually([&] {
    const auto lines = IndexLines();
    return std::ranges::any_of(lines,
                               [](const auto& line) { return line.starts_with("m/") && line.ends_with("LOADING "); });
  });
  repository_->Unload("e", [&](absl::Status status) { unloaded.set_value(std::move(status)); });
  runtime_.load_gate.Open();
  EXPECT_TRUE(loaded.get_future().get().ok());
  EXPECT_TRUE(unloaded.get_future().get().ok());
  EXPECT_FALSE(IsReady("e"));
  EXPECT_TRUE(IsReady("m"));
}

TEST_F(EnsemblesTest, WithDependentsStepsOfNoOtherEnsembleAreUnloadedToo) {
  PutEnsemble("e", {"m", "n"});
  PutEnsemble("outer", {"e"});
  PutEnsemble("other", {"n"});
  Put("a/m/1/model.pt", "ok m");
  Put("a/n/1/model.pt", "ok n");
  StartServing(ModelControl::kAll);
  std::promise<void> unloaded;
  repository_->Unload(
      "outer", [&](const absl::Status&) { unloaded.set_value(); }, Repository::Dependents::kToo);
  unloaded.get_future().wait();
  EXPECT_FALSE(IsReady("outer"));
  EXPECT_FALSE(IsReady("e"));
  EXPECT_FALSE(IsReady("m"));
  EXPECT_TRUE(IsReady("n"));
  EXPECT_TRUE(IsReady("other"));
}

TEST_F(EnsemblesTest, AnEndOfTheServerEndsLoadsThatWait) {
  PutEnsemble("e", {"m"});
  Put("a/m/1/model.pt", "ok m");
  StartServing(ModelControl::kExplicit);
  runtime_.load_gate.Shut();
  std::promise<absl::Status> loaded;
  repository_->Load("e", std::nullopt, [&](absl::Status status) { loaded.set_value(std::move(status)); });
  Eventually([&] {
    const auto lines = IndexLines();
    return std::ranges::any_of(lines,
                               [](const auto& line) { return line.starts_with("m/") && line.ends_with("LOADING "); });
  });
  repository_->StopLoading();
  EXPECT_EQ(loaded.get_future().get().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace hearth::server
