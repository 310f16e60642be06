// What a call pays before it runs: making the spec of its arguments, and looking it up. code_cache_benchmark [benchmark
// flags]. Specs are of ten tensors where nothing else is said.
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/executor/code_cache.h"

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

// Beside the arguments a dict, whose keys a spec says.
ArgumentSpec NumberedSpec(std::vector<c10::IValue> arguments, int64_t number) {
  c10::Dict<int64_t, int64_t> dict;
  dict.insert(number, 0);
  arguments.emplace_back(dict);
  return *ArgumentSpec::Of(arguments);
}

std::unique_ptr<CodeCache> MakeCache(size_t entries) {
  auto budget = std::make_shared<CodeCacheBudget>(CodeCacheLimits{entries, size_t{1} << 30});
  CodeCache::Settings settings;
  settings.limits = {entries, size_t{1} << 30};
  return std::make_unique<CodeCache>(std::move(budget), 1, settings);
}

// The cache never looks into a plan.
std::shared_ptr<const ExecutionPlan> AnyPlan() {
  auto object = std::make_shared<int>();
  return {object, reinterpret_cast<const ExecutionPlan*>(object.get())};
}

// Every thread finds the same plan, in a cache of so many specs.
void LookupHit(benchmark::State& state) {
  static std::unique_ptr<CodeCache> cache;
  const std::vector<c10::IValue> arguments = Tensors(10);
  const ArgumentSpec spec = NumberedSpec(arguments, 0);
  if (state.thread_index() == 0) {
    cache = MakeCache(state.range(0));
    CodeCache::Found found;
    while (!found.due) found = cache->Lookup(0, spec);
    cache->Install(*found.entry, AnyPlan(), 1);
    for (int64_t i = 1; i < state.range(0); ++i) cache->Lookup(0, NumberedSpec(arguments, i));
  }
  for (auto _ : state) benchmark::DoNotOptimize(cache->Lookup(0, spec));
  if (state.thread_index() == 0) cache.reset();
}
BENCHMARK(LookupHit)->Arg(1)->Arg(256)->Arg(4096);
BENCHMARK(LookupHit)->Arg(256)->Threads(2)->UseRealTime();

// A flood of 10,000 different specs in turn, into a cache of so many: each one is added, and others make room.
void LookupFlood(benchmark::State& state) {
  const std::vector<c10::IValue> arguments = Tensors(10);
  std::vector<ArgumentSpec> specs;
  for (int64_t i = 0; i < 10000; ++i) specs.push_back(NumberedSpec(arguments, i));
  const std::unique_ptr<CodeCache> cache = MakeCache(state.range(0));
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache->Lookup(0, specs[next]));
    next = next + 1 == specs.size() ? 0 : next + 1;
  }
  const CodeCache::Counters counters = cache->counters();
  state.counters["held_entries"] = static_cast<double>(counters.held.entries);
  state.counters["held_bytes"] = static_cast<double>(counters.held.bytes);
}
BENCHMARK(LookupFlood)->Arg(256)->Arg(4096);

// How long single lookups of the flood take, in nanoseconds, with the clock that measures them.
void LookupFloodQuantiles(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const std::vector<c10::IValue> arguments = Tensors(10);
  const std::unique_ptr<CodeCache> cache = MakeCache(state.range(0));
  std::vector<double> times;
  for (auto _ : state) {
    times.clear();
    for (uint64_t i = 0; i < 10000; ++i) {
      const ArgumentSpec spec = NumberedSpec(arguments, i);
      const Clock::time_point begin = Clock::now();
      benchmark::DoNotOptimize(cache->Lookup(0, spec));
      times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    }
  }
  std::ranges::sort(times);
  for (const auto& [name, share] : {std::pair("p50", 0.5), {"p99", 0.99}, {"p99.9", 0.999}}) {
    state.counters[name] = times[static_cast<size_t>(share * static_cast<double>(times.size()))];
  }
}
BENCHMARK(LookupFloodQuantiles)->Arg(256)->Arg(4096)->Iterations(5);

// The hit, while every other lookup of the thread is one of the flood.
void LookupHitInFlood(benchmark::State& state) {
  const std::vector<c10::IValue> arguments = Tensors(10);
  const std::unique_ptr<CodeCache> cache = MakeCache(state.range(0));
  const ArgumentSpec spec = NumberedSpec(arguments, 0);
  CodeCache::Found found;
  while (!found.due) found = cache->Lookup(0, spec);
  cache->Install(*found.entry, AnyPlan(), 1);
  std::vector<ArgumentSpec> specs;
  for (int64_t i = 1; i <= 10000; ++i) specs.push_back(NumberedSpec(arguments, i));
  size_t next = 0;
  size_t hits = 0;
  for (auto _ : state) {
    hits += cache->Lookup(0, spec).plan != nullptr;
    benchmark::DoNotOptimize(cache->Lookup(0, specs[next]));
    next = next + 1 == specs.size() ? 0 : next + 1;
  }
  state.counters["hits"] = static_cast<double>(hits) / static_cast<double>(state.iterations());
}
BENCHMARK(LookupHitInFlood)->Arg(256);

}  // namespace
}  // namespace hearth

BENCHMARK_MAIN();
