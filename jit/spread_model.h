// Several loads of one archive behind one Model, each on a GPU of its own: calls are spread over them.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/device/device_health.h"
#include "jit/runtime.h"

namespace hearth {

// Thread-safe, as Model. A call goes to the copy with the fewest calls under way, and to each in turn where several
// have as few; one with a tensor on a copy's device goes to that copy, whose input need not be moved. A copy whose
// device has failed gets calls only when all have failed. A warm-up is a call of every copy. What there is to see of a
// copy's code is the first one's, since all are alike; plans and memory are those of all.
class SpreadModel final : public Model {
 public:
  struct Copy {
    std::shared_ptr<Model> model;
    c10::Device device;
    std::shared_ptr<const DeviceHealth> health;  // null: it cannot fail
  };

  // At least one, of the same archive. They copy the arguments of calls before they use them, as models on GPUs do.
  explicit SpreadModel(std::vector<Copy> copies);

  const std::vector<Copy>& copies() const { return copies_; }

  std::vector<MethodInfo> methods() const override { return first().methods(); }
  const c10::FunctionSchema* FindMethod(std::string_view name) const override { return first().FindMethod(name); }
  absl::StatusOr<std::string> SideEffect(std::string_view method) const override { return first().SideEffect(method); }
  bool LeavesArguments(std::string_view method) const override { return first().LeavesArguments(method); }
  absl::StatusOr<BatchProof> ProveBatch(std::string_view method,
                                        std::span<const BatchArgument> arguments) const override {
    return first().ProveBatch(method, arguments);
  }
  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view method) const override {
    return first().WhyNotRepeatable(method);
  }
  at::Tensor NewLockedArgument(c10::IntArrayRef sizes, c10::ScalarType dtype) const override {
    return first().NewLockedArgument(sizes, dtype);
  }
  bool RunsOnCaller(std::string_view method) const override { return first().RunsOnCaller(method); }
  std::vector<int> operator_threads() const override { return first().operator_threads(); }
  std::vector<AttributeInfo> attributes() const override { return first().attributes(); }
  std::vector<OperatorUse> operators() const override { return first().operators(); }
  absl::StatusOr<std::string> GraphText(std::string_view method, GraphStage stage) const override {
    return first().GraphText(method, stage);
  }
  std::vector<std::pair<std::string, std::string>> sources() const override { return first().sources(); }
  std::shared_ptr<MemoryAccount> NewAccount(int64_t requests) const override { return first().NewAccount(requests); }

  std::shared_ptr<CallHandle> CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override;
  absl::StatusOr<c10::IValue> Call(std::string_view method, Arguments args, KeywordArguments kwargs,
                                   CallOptions options) override;
  absl::StatusOr<c10::IValue> CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) override;

  std::vector<PlanInfo> plans(bool with_graphs) const override;
  std::vector<FrequentCall> frequent_calls(size_t most) const override;
  std::vector<CompilationInfo> compilations() const override;
  PlanCounts plan_counts() const override;
  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override;
  uint64_t weight_bytes() const override;
  uint64_t code_bytes() const override;
  MemoryUse memory_use() const override;

 private:
  class Turns;
  class Turn;

  Model& first() const { return *copies_.front().model; }
  // A copy for a call with these arguments, which counts as under way there until the last reference goes.
  std::shared_ptr<const Turn> Choose(const Arguments& args, const KeywordArguments& kwargs) const;
  std::shared_ptr<CallHandle> WarmUp(std::string_view method, const Arguments& args, const KeywordArguments& kwargs,
                                     const CallOptions& options, Callback callback);

  const std::vector<Copy> copies_;
  const std::shared_ptr<Turns> turns_;  // which calls under way hold too: they may outlive the model
};

}  // namespace hearth
