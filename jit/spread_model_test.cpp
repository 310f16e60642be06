// How calls are spread over copies that answer when the test says so.
#include "jit/spread_model.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth {
namespace {

using ::testing::ElementsAre;

// Keeps the callbacks of its calls.
class HeldModel final : public Model {
 public:
  struct Held : CallHandle {
    void Cancel() override { cancelled = true; }
    Callback callback;
    bool cancelled = false;
  };

  std::vector<MethodInfo> methods() const override { return {}; }
  const c10::FunctionSchema* FindMethod(std::string_view) const override { return nullptr; }
  absl::StatusOr<std::string> SideEffect(std::string_view) const override { return std::string(); }
  absl::StatusOr<BatchProof> ProveBatch(std::string_view, std::span<const BatchArgument>) const override {
    return BatchProof();
  }
  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view) const override { return std::string(); }
  bool RunsOnCaller(std::string_view) const override { return false; }
  std::shared_ptr<CallHandle> CallAsync(std::string_view, Arguments, KeywordArguments, CallOptions,
                                        Callback callback) override {
    auto held = std::make_shared<Held>();
    held->callback = std::move(callback);
    calls.push_back(held);
    return held;
  }
  absl::StatusOr<c10::IValue> Call(std::string_view, Arguments, KeywordArguments, CallOptions) override {
    ++waited_calls;
    return c10::IValue();
  }
  absl::StatusOr<c10::IValue> CallModule(Arguments, KeywordArguments, CallOptions) override {
    ++waited_calls;
    return c10::IValue();
  }
  std::vector<AttributeInfo> attributes() const override { return {}; }
  std::vector<int> operator_threads() const override { return {1}; }
  std::vector<PlanInfo> plans(bool) const override { return {PlanInfo{.method = name}}; }
  std::vector<FrequentCall> frequent_calls(size_t) const override { return frequent; }
  std::vector<CompilationInfo> compilations() const override { return {}; }
  PlanCounts plan_counts() const override { return counts; }
  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override {
    warm = std::move(done);
    return std::make_shared<int>();
  }
  std::vector<OperatorUse> operators() const override { return {}; }
  absl::StatusOr<std::string> GraphText(std::string_view, GraphStage) const override { return std::string(); }
  std::vector<std::pair<std::string, std::string>> sources() const override { return {}; }
  uint64_t weight_bytes() const override { return 100; }
  uint64_t code_bytes() const override { return 10; }
  MemoryUse memory_use() const override { return {.host = 10, .gpus = {{gpu, 100}}}; }
  std::shared_ptr<MemoryAccount> NewAccount(int64_t) const override { return nullptr; }

  // Of the oldest call.
  void Answer(absl::StatusOr<c10::IValue> answer) {
    const auto held = calls.front();
    calls.erase(calls.begin());
    held->callback(std::move(answer));
  }

  std::string name;
  int gpu = 0;  // that it is on
  std::vector<std::shared_ptr<Held>> calls;
  int waited_calls = 0;
  std::vector<FrequentCall> frequent;
  PlanCounts counts;
  std::function<void()> warm;
};

c10::Device GpuNumber(size_t number) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(number)}; }

// Says that it is there, where no GPU is needed for that; nobody looks at its elements.
at::Tensor TensorOn(c10::Device device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, device));
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                  caffe2::TypeMeta::Make<float>());
}

class SpreadModelTest : public ::testing::Test {
 protected:
  static constexpr size_t kCopies = 3;

  SpreadModelTest() {
    std::vector<SpreadModel::Copy> copies;
    for (size_t i = 0; i < kCopies; ++i) {
      models_.push_back(std::make_shared<HeldModel>());
      models_.back()->gpu = static_cast<int>(i);
      models_.back()->name = "copy " + std::to_string(i);
      health_.push_back(std::make_shared<DeviceHealth>(
          GpuNumber(i), [] { return std::string("broken"); }, nullptr));
      copies.push_back({models_.back(), GpuNumber(i), health_.back()});
    }
    spread_.emplace(std::move(copies));
  }

  std::shared_ptr<CallHandle> Call(Arguments args = {}, CallOptions options = {}) {
    return spread_->CallAsync("forward", std::move(args), {}, std::move(options),
                              [this](absl::StatusOr<c10::IValue> answer) { answers_.push_back(std::move(answer)); });
  }
  std::vector<size_t> UnderWay() const {
    std::vector<size_t> counts;
    for (const auto& model : models_) counts.push_back(model->calls.size());
    return counts;
  }

  std::vector<std::shared_ptr<HeldModel>> models_;
  std::vector<std::shared_ptr<DeviceHealth>> health_;
  std::optional<SpreadModel> spread_;
  std::vector<absl::StatusOr<c10::IValue>> answers_;
};

TEST_F(SpreadModelTest, ACallGoesWhereTheFewestAreUnderWay) {
  for (int i = 0; i < 6; ++i) Call();
  EXPECT_THAT(UnderWay(), ElementsAre(2, 2, 2));
  models_[1]->Answer(c10::IValue(1));
  models_[1]->Answer(c10::IValue(2));
  models_[2]->Answer(c10::IValue(3));
  Call();
  EXPECT_THAT(UnderWay(), ElementsAre(2, 1, 1));
  Call();
  Call();
  EXPECT_THAT(UnderWay(), ElementsAre(2, 2, 2));
  ASSERT_EQ(answers_.size(), 3U);
  EXPECT_EQ(answers_[2]->toInt(), 3);
}

TEST_F(SpreadModelTest, CallsOneAtATimeTakeTheCopiesInTurn) {
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(spread_->Call("forward", {}, {}, {}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(spread_->CallModule({}, {}, {}).ok());
  for (const auto& model : models_) EXPECT_EQ(model->waited_calls, 3);
}

TEST_F(SpreadModelTest, ACallGoesWhereItsTensorIs) {
  const at::Tensor there = TensorOn(GpuNumber(2));
  for (int i = 0; i < 3; ++i) Call({c10::IValue(1), c10::ivalue::Tuple::create(1.5, there)});
  EXPECT_THAT(UnderWay(), ElementsAre(0, 0, 3));
  Call({at::empty({1})});
  EXPECT_THAT(UnderWay(), ElementsAre(1, 0, 3));
}

TEST_F(SpreadModelTest, ACopyWhoseDeviceHasFailedGetsNoCallsAsLongAsThereIsAnother) {
  health_[0]->Examine("");
  const at::Tensor there = TensorOn(GpuNumber(0));
  for (int i = 0; i < 4; ++i) Call({there});
  EXPECT_THAT(UnderWay(), ElementsAre(0, 2, 2));
  health_[1]->Examine("");
  health_[2]->Examine("");
  Call();
  EXPECT_EQ(UnderWay()[0], 1U);
}

TEST_F(SpreadModelTest, CallsMayOutliveTheModel) {
  Call();
  spread_.reset();
  models_[0]->Answer(absl::InternalError("it raised"));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status(), absl::InternalError("it raised"));
}

TEST_F(SpreadModelTest, AWarmUpIsACallOfEachCopyAndItsErrorThatOfAny) {
  Call({}, {.is_warmup = true});
  EXPECT_THAT(UnderWay(), ElementsAre(1, 1, 1));
  models_[1]->Answer(absl::InternalError("it raised"));
  models_[0]->Answer(c10::IValue(0));
  EXPECT_TRUE(answers_.empty());
  models_[2]->Answer(c10::IValue(2));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status(), absl::InternalError("it raised"));

  const auto handle = Call({}, {.is_warmup = true});
  handle->Cancel();
  for (const auto& model : models_) EXPECT_TRUE(model->calls[0]->cancelled);
  for (int i = 2; i >= 0; --i) models_[static_cast<size_t>(i)]->Answer(c10::IValue(i));
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[1]->toInt(), 0);
}

TEST_F(SpreadModelTest, ItIsWarmWhenAllCopiesAre) {
  int warm = 0;
  const auto wait = spread_->WhenWarm([&] { ++warm; });
  models_[2]->warm();
  models_[0]->warm();
  EXPECT_EQ(warm, 0);
  models_[1]->warm();
  EXPECT_EQ(warm, 1);
}

TEST_F(SpreadModelTest, PlansCountsAndMemoryAreThoseOfAllCopies) {
  for (size_t i = 0; i < kCopies; ++i) {
    models_[i]->counts.exact = i + 1;
    models_[i]->counts.calls[2] = 10 * i;
  }
  EXPECT_EQ(spread_->plan_counts().exact, 6U);
  EXPECT_EQ(spread_->plan_counts().calls[2], 30U);
  EXPECT_EQ(spread_->weight_bytes(), 300U);
  EXPECT_EQ(spread_->code_bytes(), 30U);
  EXPECT_EQ(spread_->memory_use(), (MemoryUse{.host = 30, .gpus = {{0, 100}, {1, 100}, {2, 100}}}));
  const std::vector<PlanInfo> plans = spread_->plans(false);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[2].method, "copy 2");
}

TEST_F(SpreadModelTest, CallsThatAreFrequentOnSeveralCopiesAreCountedTogether) {
  models_[0]->frequent = {{"forward", "[2]", 10, {}}, {"forward", "[3]", 4, {}}};
  models_[1]->frequent = {{"forward", "[4]", 9, {}}, {"encode", "[2]", 8, {}}};
  models_[2]->frequent = {{"forward", "[3]", 7, {}}};
  std::vector<std::string> found;
  for (const FrequentCall& call : spread_->frequent_calls(3)) {
    found.push_back(call.method + call.sizes + ": " + std::to_string(call.calls));
  }
  EXPECT_THAT(found, ElementsAre("forward[3]: 11", "forward[2]: 10", "forward[4]: 9"));
}

}  // namespace
}  // namespace hearth
