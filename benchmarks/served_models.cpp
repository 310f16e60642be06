#include "benchmarks/served_models.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <torch/script.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <optional>
#include <utility>

#include "jit/arguments.h"
#include "jit/device/device.h"
#include "jit/device/stream.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/runtime.h"

namespace hearth::benchmarks {
namespace {

template <typename T>
T Check(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(std::string(value.status().message()));
  return *std::move(value);
}

class HearthModel final : public ServedModel {
 public:
  explicit HearthModel(std::shared_ptr<Model> model) : model_(std::move(model)) {}

  void Call(std::vector<c10::IValue> arguments, std::function<void()> began, std::function<void()> ended) override {
    CallOptions options;
    options.on_start = std::move(began);
    model_->CallAsync("forward", std::move(arguments), {}, std::move(options),
                      [ended = std::move(ended)](absl::StatusOr<c10::IValue> answer) {
                        if (!answer.ok()) Fail(std::string(answer.status().message()));
                        ended();
                      });
  }
  void WarmUp(const std::vector<std::vector<c10::IValue>>& kinds) override {
    CallOptions options;
    options.is_warmup = true;
    for (const auto& kind : kinds) Check(model_->Call("forward", kind, {}, options));
    WaitUntilWarm(std::chrono::minutes(1));
    for (const int threads : model_->operator_threads()) {
      options.operator_threads = threads;
      for (const auto& kind : kinds) Check(model_->Call("forward", kind, {}, options));
    }
  }
  uint64_t bailouts() const override { return model_->plan_counts().bailouts; }
  void WaitUntilWarm(std::chrono::seconds limit) override {
    // Shared, for the callback may still be under way when the wait is over.
    const auto warm = std::make_shared<std::promise<void>>();
    const auto wait = model_->WhenWarm([warm] { warm->set_value(); });
    warm->get_future().wait_for(limit);
  }

  const std::shared_ptr<Model>& model() const { return model_; }

 private:
  const std::shared_ptr<Model> model_;
};

class HearthServer final : public Server {
 public:
  HearthServer(bool compiles, const Settings& settings) {
    RuntimeOptions options;
    options.threads = settings.threads;
    options.device = settings.device;
    options.compiler.tier = compiles ? Tier::kAuto : Tier::kBaseline;
    options.compiler.processor_share = settings.compiler_share;
    if (settings.exact_after >= 0) options.compiler.exact_after = static_cast<uint64_t>(settings.exact_after);
    runtime_ = Check(Runtime::Create(options));
  }

  std::shared_ptr<ServedModel> Load(const std::string& archive, const ServedModel* predecessor) override {
    LoadOptions options;
    if (const auto* old = dynamic_cast<const HearthModel*>(predecessor)) options.predecessor = old->model();
    return std::make_shared<HearthModel>(Check(runtime_->Load(archive, options)));
  }

  Compiled compiled() const override {
    const CompilerCounters counters = runtime_->compiler_counters();
    return {counters.done, counters.failed, counters.queued + counters.running, counters.processor_seconds};
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

class TorchModel final : public ServedModel {
 public:
  TorchModel(torch::jit::Module module, c10::Device device, ThreadPool& pool, std::shared_ptr<StreamPool> streams)
      : module_(std::move(module)),
        forward_(module_.get_method("forward")),
        device_(device),
        pool_(pool),
        streams_(std::move(streams)) {}

  void Call(std::vector<c10::IValue> arguments, std::function<void()> began, std::function<void()> ended) override {
    const auto stream = streams_->Take();
    std::vector<c10::IValue> bound =
        BindArguments(forward_.function().getSchema(), module_._ivalue(), std::move(arguments), {});
    {
      const c10::OptionalStreamGuard guard(stream ? std::optional(*stream) : std::nullopt);
      for (size_t i = 1; i < bound.size(); ++i) bound[i] = MoveToDevice(bound[i], device_);
    }
    pool_.Post([this, stream, bound = std::move(bound), began = std::move(began), ended = std::move(ended)]() mutable {
      began();
      Run(stream.get(), std::move(bound));
      ended();
    });
  }
  // The executor specialises a method for the arguments of its first calls, which are thus of all kinds.
  void WarmUp(const std::vector<std::vector<c10::IValue>>& kinds) override {
    for (int round = 0; round < 2; ++round) {
      for (const auto& kind : kinds) {
        std::promise<void> answered;
        Call(
            kind, [] {}, [&] { answered.set_value(); });
        answered.get_future().wait();
      }
    }
  }

 private:
  void Run(const c10::Stream* stream, std::vector<c10::IValue> stack) {
    const at::NoGradGuard no_gradients;
    const c10::OptionalStreamGuard guard(stream ? std::optional(*stream) : std::nullopt);
    try {
      forward_.function().run(stack);
      const c10::IValue answer = MoveToDevice(stack.back(), c10::kCPU);
      if (stream != nullptr) stream->synchronize();
    } catch (const std::exception& error) {
      Fail(error.what());
    }
  }

  torch::jit::Module module_;
  torch::jit::Method forward_;
  const c10::Device device_;
  ThreadPool& pool_;
  const std::shared_ptr<StreamPool> streams_;
};

class TorchServer final : public Server {
 public:
  explicit TorchServer(const Settings& settings)
      : device_(OpenDevices(settings.device).front()),
        streams_(std::make_shared<StreamPool>(device_)),
        pool_(settings.threads) {}

  std::shared_ptr<ServedModel> Load(const std::string& archive, const ServedModel* /*predecessor*/) override {
    const at::NoGradGuard no_gradients;
    torch::jit::Module module = torch::jit::load(archive, device_);
    module.eval();
    WaitForDevice(device_);
    return std::make_shared<TorchModel>(std::move(module), device_, pool_, streams_);
  }

 private:
  const c10::Device device_;
  const std::shared_ptr<StreamPool> streams_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Server> Server::Make(Kind kind, const Settings& settings) {
  if (kind == Kind::kTorchJit) return std::make_unique<TorchServer>(settings);
  return std::make_unique<HearthServer>(kind == Kind::kCompiler, settings);
}

void Fail(const std::string& what) {
  std::cerr << "benchmark: " << what << std::endl;
  std::_Exit(1);
}

}  // namespace hearth::benchmarks
