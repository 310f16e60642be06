// hearth's interpreter against torch::jit's on the programs of programs.py: interpreter_benchmark FOLDER [benchmark
// flags]. One run on the calling thread is one iteration. The rival runs warmed up, with its optimiser and without.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "jit/archive/importer.h"
#include "jit/archive/saved_value.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/model_executor.h"

namespace {

namespace fs = std::filesystem;

std::vector<c10::IValue> ReadInputs(const fs::path& folder) {
  return hearth::ReadSavedFile(folder / "inputs.pt").toTupleRef().elements().vec();
}

void RunHearth(benchmark::State& state, const fs::path& folder) {
  hearth::ImportedModule imported =
      hearth::ImportModule(hearth::Mapping::Open(folder / "1" / "model.pt", hearth::Mapping::Mode::kInPlace), {});
  hearth::CodeBuilder builder(*imported.unit, std::nullopt);
  hearth::ThreadPool pool(1);
  auto executor = std::make_shared<hearth::ModelExecutor>(imported.unit, imported.object, builder,
                                                          std::make_shared<hearth::TurnList>(), &pool);
  const hearth::Code& code = *executor->Find("forward")->code;
  std::vector<c10::IValue> arguments = ReadInputs(folder);
  arguments.insert(arguments.begin(), imported.object);
  for (auto _ : state) benchmark::DoNotOptimize(hearth::Run(code, arguments));
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
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const fs::path& folder = entry.path();
    const std::string name = folder.filename();
    benchmark::RegisterBenchmark(("hearth/" + name).c_str(), [folder](auto& state) { RunHearth(state, folder); });
    benchmark::RegisterBenchmark(("torch_jit/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, true); });
    benchmark::RegisterBenchmark(("torch_jit_unoptimized/" + name).c_str(),
                                 [folder](auto& state) { RunTorch(state, folder, false); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
