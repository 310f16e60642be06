// For tests: a Runtime whose "archives" are text files. The first line says what to do: "ok TEXT" loads a model that
// answers TEXT, "bad TEXT" fails to load with that message. Calls run on a thread of their own each, and wait while the
// runtime's gate is shut.
#pragma once

#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jit/runtime.h"
#include "jit/support/disposal_thread.h"

namespace hearth::server {

class Gate {
 public:
  void Shut() { Set(false); }
  void Open() { Set(true); }
  // Also while it is shut, if `given_up` says so; Wake has that asked again.
  void Pass(const std::function<bool()>& given_up = [] { return false; }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ || given_up(); });
  }
  void Wake() {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  void Set(bool open) {
    {
      std::lock_guard lock(mutex_);
      open_ = open;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

// A Model, or what else is one, of which there is nothing to see: no code, no plans, no attributes, no memory.
template <typename Interface>
class OpaqueModel : public Interface {
 public:
  std::vector<AttributeInfo> attributes() const override { return {}; }
  std::vector<int> operator_threads() const override { return {1}; }
  std::vector<PlanInfo> plans(bool) const override { return {}; }
  std::vector<FrequentCall> frequent_calls(size_t) const override { return {}; }
  std::vector<CompilationInfo> compilations() const override { return {}; }
  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override {
    done();
    return nullptr;
  }
  std::vector<OperatorUse> operators() const override { return {}; }
  absl::StatusOr<std::string> GraphText(std::string_view, GraphStage) const override { return std::string(); }
  std::vector<std::pair<std::string, std::string>> sources() const override { return {}; }
  std::shared_ptr<MemoryAccount> NewAccount(int64_t) const override { return nullptr; }
};

class FakeModel : public OpaqueModel<Model> {
 public:
  FakeModel(std::string text, Gate* gate)
      : text_(std::move(text)), gate_(gate), schema_(torch::jit::parseSchema("forward(Any self, str x) -> str")) {}
  ~FakeModel() override {
    for (std::thread& thread : threads_) thread.join();
  }

  // Whether the last call was allowed to run on its caller's thread.
  bool allowed_here() const {
    std::lock_guard lock(mutex_);
    return allowed_here_;
  }
  // Whether the last call was to give way to others.
  bool in_background() const {
    std::lock_guard lock(mutex_);
    return in_background_;
  }

  std::vector<MethodInfo> methods() const override { return {{"forward", &schema_}}; }
  const c10::FunctionSchema* FindMethod(std::string_view name) const override {
    return name == "forward" ? &schema_ : nullptr;
  }
  absl::StatusOr<std::string> SideEffect(std::string_view) const override { return std::string(); }
  absl::StatusOr<BatchProof> ProveBatch(std::string_view, std::span<const BatchArgument>) const override {
    return BatchProof{.verdict = BatchProof::Verdict::kUnknown, .text = "not known whether rows mix"};
  }

  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view) const override { return not_repeatable; }
  bool LeavesArguments(std::string_view) const override { return true; }
  bool RunsOnCaller(std::string_view) const override { return true; }
  std::shared_ptr<CallHandle> CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override {
    struct Handle : CallHandle {
      explicit Handle(Gate* gate) : gate(gate) {}
      void Cancel() override {
        cancelled = true;
        gate->Wake();
      }
      Gate* const gate;
      std::atomic<bool> cancelled{false};
    };
    auto handle = std::make_shared<Handle>(gate_);
    std::lock_guard lock(mutex_);
    allowed_here_ = options.may_run_here;
    in_background_ = options.in_background;
    threads_.emplace_back([this, handle, options, callback = std::move(callback)] {
      if (options.on_start) options.on_start();
      gate_->Pass([&] { return handle->cancelled.load(); });
      if (handle->cancelled) {
        callback(absl::CancelledError("the call was cancelled"));
      } else {
        callback(c10::IValue(text_));
      }
    });
    return handle;
  }

  absl::StatusOr<c10::IValue> Call(std::string_view, Arguments, KeywordArguments, CallOptions) override {
    return c10::IValue(text_);
  }
  absl::StatusOr<c10::IValue> CallModule(Arguments, KeywordArguments, CallOptions) override {
    return c10::IValue(text_);
  }
  PlanCounts plan_counts() const override { return counts; }
  uint64_t weight_bytes() const override { return 1000; }
  uint64_t code_bytes() const override { return 200; }
  MemoryUse memory_use() const override {
    MemoryUse use{.host = code_bytes() + counts.bytes};
    for (const int gpu : gpus) use.gpus[gpu] = weight_bytes() + counts.copied_bytes;
    if (gpus.empty()) use.host += weight_bytes() + counts.copied_bytes;
    return use;
  }

  std::string not_repeatable;
  PlanCounts counts;
  std::vector<int> gpus;  // that it is on

 private:
  const std::string text_;
  Gate* const gate_;
  const c10::FunctionSchema schema_;
  mutable std::mutex mutex_;
  bool allowed_here_ = false;
  bool in_background_ = false;
  std::vector<std::thread> threads_;
};

class FakeRuntime : public Runtime {
 public:
  absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& path, const LoadOptions& options) override {
    {
      const std::stop_callback stopped(options.stop, [this] { load_gate.Wake(); });
      load_gate.Pass([&] { return options.stop.stop_requested(); });
    }
    if (options.stop.stop_requested()) return absl::CancelledError("loading was stopped");
    {
      std::lock_guard lock(mutex_);
      last_gpus_ = options.gpus;
      last_load_in_background_ = options.in_background;
    }
    std::string verb, text;
    std::ifstream(path) >> verb >> text;
    if (verb != "ok") return absl::InvalidArgumentError("bad archive: " + text);
    auto model = std::make_unique<FakeModel>(text, &call_gate);
    model->gpus = options.gpus.empty() ? gpu_numbers : options.gpus;
    return ends_.queue()->Own(std::move(model));
  }
  absl::StatusOr<std::shared_ptr<Model>> LoadSource(const std::string&, const LoadOptions&) override {
    return absl::UnimplementedError("a server has archives only");
  }
  CompilerCounters compiler_counters() const override { return {}; }
  MemoryAccount* memory_of_all() const override { return nullptr; }
  void Post(std::function<void()> work) override { work(); }
  std::vector<int> gpus() const override { return gpu_numbers; }
  absl::StatusOr<at::Tensor> OpenSharedMemory(int64_t, const std::string&, int64_t) override {
    return absl::UnimplementedError("a fake has no GPU");
  }

  // What the last model was to be put on.
  std::vector<int> last_gpus() const {
    std::lock_guard lock(mutex_);
    return last_gpus_;
  }

  // Whether the last model was to give way to requests while it was loaded.
  bool last_load_in_background() const {
    std::lock_guard lock(mutex_);
    return last_load_in_background_;
  }

  std::vector<int> gpu_numbers;
  Gate load_gate;
  Gate call_gate;

 private:
  mutable std::mutex mutex_;
  std::vector<int> last_gpus_;
  bool last_load_in_background_ = false;
  DisposalThread ends_;
};

}  // namespace hearth::server
