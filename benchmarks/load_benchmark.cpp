// From archive file to first answer, once, in a fresh process:
//   load_benchmark hearth|torch ARCHIVE INPUTS
// prints {"load_ms": L, "first_call_ms": F}. The driver (run.py) alternates engines and takes medians. What both
// engines need before they can load anything (LibTorch's own start, operators registered) lies outside the clock.
#include <ATen/Parallel.h>
#include <torch/csrc/jit/frontend/builtin_functions.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/script.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "jit/frontend/builtin_functions.h"
#include "jit/runtime.h"

namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::vector<c10::IValue> Inputs(const std::string& path) {
  absl::StatusOr<c10::IValue> value = hearth::ReadSavedValue(path);
  if (!value.ok()) {
    std::cerr << value.status() << "\n";
    std::exit(2);
  }
  return value->toTupleRef().elements().vec();
}

int RunHearth(const std::string& archive, std::vector<c10::IValue> inputs) {
  auto runtime = hearth::Runtime::Create({});
  // As the daemon's first load comes after its start.
  hearth::PrepareBuiltinFunctions();
  const auto start = Clock::now();
  auto model = (*runtime)->Load(archive, {});
  if (!model.ok()) {
    std::cerr << model.status() << "\n";
    return 1;
  }
  const auto loaded = Clock::now();
  auto answer = (*model)->Call("forward", std::move(inputs), {});
  if (!answer.ok()) {
    std::cerr << answer.status() << "\n";
    return 1;
  }
  const auto answered = Clock::now();
  std::printf("{\"load_ms\": %.3f, \"first_call_ms\": %.3f}\n", Milliseconds(start, loaded),
              Milliseconds(loaded, answered));
  return 0;
}

int RunTorch(const std::string& archive, std::vector<c10::IValue> inputs) {
  at::NoGradGuard no_grad;
  // LibTorch parses the schemas of its operators and compiles its builtin functions at the first look-up.
  torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("aten::add"));
  torch::jit::getAllBuiltinFunctionsFor(c10::Symbol::fromQualString("aten::add"));
  const auto start = Clock::now();
  torch::jit::Module module = torch::jit::load(archive);
  module.eval();
  const auto loaded = Clock::now();
  module.forward(std::move(inputs));
  const auto answered = Clock::now();
  std::printf("{\"load_ms\": %.3f, \"first_call_ms\": %.3f}\n", Milliseconds(start, loaded),
              Milliseconds(loaded, answered));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: load_benchmark hearth|torch ARCHIVE INPUTS\n";
    return 2;
  }
  const std::string engine = argv[1];
  std::vector<c10::IValue> inputs = Inputs(argv[3]);
  return engine == "hearth" ? RunHearth(argv[2], std::move(inputs)) : RunTorch(argv[2], std::move(inputs));
}
