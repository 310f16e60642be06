// hearth's interpreter against torch::jit's on the programs of programs.py: interpreter_benchmark FOLDER [benchmark
// flags]. One run on the calling thread is one iteration. The rival runs warmed up, with its optimiser and without.
//
// account/PROGRAM is what a memory account costs, which every request to the daemon has: each iteration is a run
// without one and a run with one, in alternating order; the counter `ratio` is the median of the second's time by the
// first's. profile/PROGRAM is the same of runs that are sampled for a profile, of which each kind of arguments has
// sixteen.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/archive/importer.h"
#include "jit/archive/saved_value.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/entry_profile.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/plan_compiler.h"
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

  // From then on RunSampled works.
  void PrepareSamples() {
    compiler_.emplace(*executor_->Find("forward")->baseline, "forward", false, nullptr, hearth::StateWrites(), nullptr);
    const auto spec = hearth::ArgumentSpec::Of(std::span(arguments_).subspan(1)).value();
    compiler_->Compile({.spec = spec}, nullptr);
    profile_ = std::make_shared<hearth::EntryProfile>(compiler_->sites(), std::numeric_limits<uint32_t>::max(), 1);
  }
  void RunSampled() const {
    hearth::RunOptions options;
    options.samples = profile_->TakeSamples();
    benchmark::DoNotOptimize(hearth::Run(*compiler_->observed(), arguments_, options));
  }
  size_t num_sites() const { return compiler_->sites().size(); }

 private:
  hearth::ImportedModule imported_;
  hearth::ThreadPool pool_{1};
  std::shared_ptr<hearth::ModelExecutor> executor_;
  std::vector<c10::IValue> arguments_;
  std::optional<hearth::PlanCompiler> compiler_;
  std::shared_ptr<hearth::EntryProfile> profile_;
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

template <typename Run>
double SecondsOf(const Run& run) {
  const double start = SecondsOfThread();
  run();
  return SecondsOfThread() - start;
}

// The counter `ratio`: the median time of `changed` by that of `usual`, run after each other in alternating order.
template <typename Usual, typename Changed>
void Compare(benchmark::State& state, const Usual& usual, const Changed& changed) {
  std::vector<double> ratios;
  bool changed_first = false;
  for (auto _ : state) {
    double seconds[2];
    for (const bool is_changed : {changed_first, !changed_first}) {
      seconds[is_changed] = is_changed ? SecondsOf(changed) : SecondsOf(usual);
    }
    ratios.push_back(seconds[1] / seconds[0]);
    changed_first = !changed_first;
  }
  std::ranges::nth_element(ratios, ratios.begin() + ratios.size() / 2);
  state.counters["ratio"] = ratios[ratios.size() / 2];
}

void CompareAccount(benchmark::State& state, const fs::path& folder) {
  const Program program(folder);
  Compare(
      state, [&] { program.Run({}); },
      [&] {
        hearth::RunOptions options;
        options.memory = std::make_shared<hearth::MemoryAccount>(int64_t{1} << 40);
        program.Run(options);
      });
}

void CompareProfile(benchmark::State& state, const fs::path& folder) {
  Program program(folder);
  program.PrepareSamples();
  Compare(
      state, [&] { program.Run({}); }, [&] { program.RunSampled(); });
  state.counters["sites"] = static_cast<double>(program.num_sites());
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
    benchmark::RegisterBenchmark(("profile/" + name).c_str(), [folder](auto& state) { CompareProfile(state, folder); });
    benchmark::RegisterBenchmark(("torch_jit/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, true); });
    benchmark::RegisterBenchmark(("torch_jit_unoptimized/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, false); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
