// hearth's interpreter against torch::jit's on the programs of programs.py: interpreter_benchmark FOLDER [benchmark
// flags]. One run on the calling thread is one iteration. The rival runs warmed up, with its optimiser and without.
//
// account/PROGRAM is what a memory account costs, which every request to the daemon has: each iteration is a run
// without one and a run with one, in alternating order; the counter `ratio` is the median of the second's time by the
// first's.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "jit/archive/importer.h"
#include "jit/archive/saved_value.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/model_executor.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/memory_account.h"

namespace {

namespace fs = std::filesystem;

std::vector<c10::IValue> ReadInputs(const fs::path& folder) {
  return hearth::ReadSavedFile(folder / "inputs.pt").toTupleRef().elements().vec();
}

class Program {
 public:
  explicit Program(const fs::path& folder)
      : imported_(hearth::ImportModule(
            hearth::Mapping::Open(folder / "1" / "model.pt", hearth::Mapping::Mode::kInPlace), {})),
        arguments_(ReadInputs(folder)) {
    hearth::CodeBuilder builder(*imported_.unit, std::nullopt);
    executor_ = std::make_shared<hearth::ModelExecutor>(imported_.unit, imported_.object, builder,
                                                        std::make_shared<hearth::TurnList>(), &pool_);
    arguments_.insert(arguments_.begin(), imported_.object);
  }

  void Run(const hearth::RunOptions& options) const {
    benchmark::DoNotOptimize(hearth::Run(*executor_->Find("forward")->code, arguments_, options));
  }

 private:
  hearth::ImportedModule imported_;
  hearth::ThreadPool pool_{1};
  std::shared_ptr<hearth::ModelExecutor> executor_;
  std::vector<c10::IValue> arguments_;
};

void RunHearth(benchmark::State& state, const fs::path& folder) {
  const Program program(folder);
  for (auto _ : state) program.Run({});
}

// Of this thread's own: what others do on the machine does not count.
double SecondsOfThread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double SecondsOf(const Program& program, bool with_account) {
  const double start = SecondsOfThread();
  hearth::RunOptions options;
  if (with_account) options.memory = std::make_shared<hearth::MemoryAccount>(int64_t{1} << 40);
  program.Run(options);
  return SecondsOfThread() - start;
}

void CompareAccount(benchmark::State& state, const fs::path& folder) {
  const Program program(folder);
  std::vector<double> ratios;
  bool with_account_first = false;
  for (auto _ : state) {
    const double first = SecondsOf(program, with_account_first);
    const double second = SecondsOf(program, !with_account_first);
    ratios.push_back(with_account_first ? first / second : second / first);
    with_account_first = !with_account_first;
  }
  std::ranges::nth_element(ratios, ratios.begin() + ratios.size() / 2);
  state.counters["ratio"] = ratios[ratios.size() / 2];
}

void RunTorch(benchmark::State& state, const fs::path& folder, bool optimize) {
  torch::jit::setGraphExecutorOptimize(optimize);
  at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(folder / "1" / "model.pt");
  module.eval();
  torch::jit::Method forward = module.get_method("forward");
  const std::vector<c10::IValue> arguments = ReadInputs(folder);
  for (int i = 0; i < 5; ++i) forward(arguments);
  for (auto _ : state) benchmark::DoNotOptimize(forward(arguments));
  torch::jit::setGraphExecutorOptimize(true);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: interpreter_benchmark FOLDER\n";
    return 2;
  }
  at::set_num_threads(1);
  hearth::InstallCountingAllocator();  // as in the daemon
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const fs::path& folder = entry.path();
    const std::string name = folder.filename();
    benchmark::RegisterBenchmark(("hearth/" + name).c_str(), [folder](auto& state) { RunHearth(state, folder); });
    benchmark::RegisterBenchmark(("account/" + name).c_str(), [folder](auto& state) { CompareAccount(state, folder); });
    benchmark::RegisterBenchmark(("torch_jit/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, true); });
    benchmark::RegisterBenchmark(("torch_jit_unoptimized/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, false); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
