// What models say of copies of themselves, and what calls are told when their device fails.
#include "jit/loaded_model.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/executor/code_builder.h"
#include "jit/frontend/source_importer.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string WhyNot(const std::function<void(torch::jit::Module&)>& define) {
  torch::jit::Module module("M");
  define(module);
  const auto file = std::filesystem::temp_directory_path() / ("loaded_model_test." + std::to_string(getpid()) + ".pt");
  module.save(file.string());
  const auto runtime = Runtime::Create({});
  const auto model = (*runtime)->Load(file.string(), {});
  std::filesystem::remove(file);
  if (!model.ok()) return model.status().ToString();
  return dynamic_cast<const LoadedModel&>(**model).WhyNotSpread();
}

TEST(LoadedModelTest, AModelThatOnlyAnswersMayHaveCopies) {
  EXPECT_EQ(WhyNot([](torch::jit::Module& module) {
              module.register_buffer("weight", at::ones({1}));
              module.define("def forward(self, x: List[Tensor]):\n  return x[0] * self.weight + torch.rand([1])\n");
            }),
            "");
}

TEST(LoadedModelTest, AModelThatWritesItsStateMayHaveNone) {
  const std::string why = WhyNot([](torch::jit::Module& module) {
    module.register_buffer("calls", at::zeros({1}));
    module.define("def look(self):\n  return self.calls + 0\n");
    module.define("def forward(self, x):\n  self.calls.add_(1)\n  return x + self.calls\n");
  });
  EXPECT_THAT(why, AllOf(StartsWith("forward writes the model's state"), HasSubstr("each copy would have its own")));
}

// A model of a file with these functions, as it is on a device that `probe` speaks for.
class OnADevice {
 public:
  OnADevice(const std::string& source, DeviceHealth::Probe probe) {
    const auto parts = std::make_shared<DeviceParts>();
    parts->health = std::make_shared<DeviceHealth>(c10::kCPU, std::move(probe), nullptr);
    parts->streams = std::make_shared<StreamPool>(c10::kCPU);
    ImportedModule imported;
    imported.unit = CompilationUnit::Create();
    SourceImporter importer(imported.unit, std::make_shared<const Source>(source, "model.py"));
    const std::vector<Function*> functions = importer.LoadFunctions();
    importer.DefineAll();
    CodeBuilder builder(*imported.unit, std::nullopt);
    const auto executor = std::make_shared<ModelExecutor>(imported.unit, functions, builder, &pool_);
    model_ = std::make_unique<LoadedModel>(executor, pool_, background_, std::move(imported), parts,
                                           LoadedModel::Limits(), 0, traffic_, nullptr);
  }

  absl::Status Call(c10::IValue number) { return model_->Call("f", {std::move(number)}, {}, {}).status(); }
  const LoadedModel& model() const { return *model_; }

 private:
  Traffic traffic_;
  ThreadPool pool_{1};
  ThreadPool background_{1};
  std::unique_ptr<LoadedModel> model_;
};

constexpr const char* kRaises =
    "def f(number: int) -> int:\n"
    "    if number > 9:\n"
    "        raise RuntimeError('out of range')\n"
    "    return number\n";

TEST(LoadedModelTest, TheCallThatMeetsAFailureIsToldWhatHappenedAndOthersThatThereIsNoDevice) {
  std::string error;
  OnADevice on(kRaises, [&] { return error; });
  EXPECT_TRUE(on.Call(int64_t{1}).ok());
  EXPECT_EQ(on.Call(int64_t{10}).code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(on.Call(int64_t{10}).message()), Not(HasSubstr("has failed")));

  error = "device-side assert triggered";
  const absl::Status met = on.Call(int64_t{10});
  EXPECT_EQ(met.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(met.message()),
              AllOf(HasSubstr("out of range"), HasSubstr("cpu has failed"), HasSubstr("device-side assert triggered")));

  const absl::Status after = on.Call(int64_t{1});
  EXPECT_EQ(after.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(after.message()), AllOf(HasSubstr("cpu has failed"), Not(HasSubstr("out of range"))));
}

TEST(LoadedModelTest, TheCallersMistakesAreNoReasonToAskTheDevice) {
  int asked = 0;
  OnADevice on(kRaises, [&] {
    ++asked;
    return std::string();
  });
  EXPECT_EQ(on.Call("one").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(on.Call(int64_t{10}).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(asked, 1);
}

TEST(LoadedModelTest, AMethodThatTakesObjectsOfTheArchivesClassesHasNoCopies) {
  OnADevice on(
      "class Range:\n"
      "    def __init__(self, end: int):\n"
      "        self.end = end\n"
      "\n"
      "def f(ranges: List[Range]) -> int:\n"
      "    return ranges[0].end\n",
      [] { return std::string(); });
  EXPECT_THAT(on.model().WhyNotSpread(), AllOf(StartsWith("f takes ranges, a "), HasSubstr("classes")));
}

}  // namespace
}  // namespace hearth
