// What a call pays before it runs: making the spec of its arguments, and looking it up. code_cache_benchmark [benchmark
// flags].
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>

#include <vector>

#include "jit/executor/argument_spec.h"

namespace hearth {
namespace {

std::vector<c10::IValue> Tensors(int64_t count) {
  std::vector<c10::IValue> arguments;
  for (int64_t i = 0; i < count; ++i) arguments.emplace_back(at::zeros({i % 5, 1, 3, 4}));
  return arguments;
}

void SpecOfTensors(benchmark::State& state) {
  const std::vector<c10::IValue> arguments = Tensors(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ArgumentSpec::Of(arguments));
}
BENCHMARK(SpecOfTensors)->Arg(1)->Arg(10)->Arg(50);

void SpecOfNested(benchmark::State& state) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const char* key : {"input_ids", "attention_mask", "token_type_ids"}) dict.insert(key, at::zeros({1, 128}));
  const c10::IValue list = c10::List<at::Tensor>({at::zeros({3, 5, 7}), at::zeros({3, 6, 8})});
  const std::vector<c10::IValue> arguments = {dict, list, 1, c10::IValue(), c10::List<int64_t>({1, 2})};
  for (auto _ : state) benchmark::DoNotOptimize(ArgumentSpec::Of(arguments));
}
BENCHMARK(SpecOfNested);

}  // namespace
}  // namespace hearth

BENCHMARK_MAIN();
