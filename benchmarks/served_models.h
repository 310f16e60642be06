// One face for what serves models in a benchmark: hearth's runtime, or LibTorch's torch.jit on the same threads,
// streams and argument conversions.
#pragma once

#include <ATen/core/ivalue.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hearth::benchmarks {

// Thread-safe.
class ServedModel {
 public:
  virtual ~ServedModel() = default;
  // Calls forward. `began` is called on the thread that takes the call up, `ended` on the one that has the answer, on
  // the CPU. A call that fails ends the process.
  virtual void Call(std::vector<c10::IValue> arguments, std::function<void()> began, std::function<void()> ended) = 0;
  // Calls so far that a plan began and did not end.
  virtual uint64_t bailouts() const { return 0; }
  // Calls forward with each of `kinds` as before a model serves, and waits for what is compiled for them.
  virtual void WarmUp(const std::vector<std::vector<c10::IValue>>& kinds) = 0;
  // Waits until all that is to be compiled before it serves is, but not longer than that.
  virtual void WaitUntilWarm(std::chrono::seconds /*limit*/) {}
};

// Outlives its models.
class Server {
 public:
  enum class Kind {
    kBaseline,  // hearth without a compiler
    kCompiler,  // hearth as the daemon runs it
    kTorchJit,
  };
  struct Settings {
    int threads = 0;  // 0: one for each processor that this process may use
    std::string device = "cpu";
    double compiler_share = 0;  // as CompilerOptions::processor_share
    int64_t exact_after = -1;   // as CompilerOptions::exact_after; less than 0: as the daemon has it
  };
  static std::unique_ptr<Server> Make(Kind kind, const Settings& settings);
  virtual ~Server() = default;

  // `predecessor`, which may be null, is what the model is to take the place of.
  virtual std::shared_ptr<ServedModel> Load(const std::string& archive, const ServedModel* predecessor) = 0;
  // Plans made so far, jobs waiting and running, and the processor time that they took.
  struct Compiled {
    uint64_t plans = 0;
    uint64_t failed = 0;
    uint64_t waiting = 0;
    double processor_seconds = 0;
  };
  virtual Compiled compiled() const { return {}; }
};

// Says why, and ends the process: a benchmark with a failure in it measured something else.
[[noreturn]] void Fail(const std::string& what);

}  // namespace hearth::benchmarks
