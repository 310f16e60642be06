// What it takes to share work among threads: ParallelFor, and a parallel region of the OpenMP that LibTorch brought.
// NAME/WORK/GAP: work that takes one thread WORK microseconds, in as many equal pieces as there are threads, with GAP
// microseconds between two rounds of it, in which the calling thread works alone; the time is that of one round without
// its gap. Run with OMP_NUM_THREADS=N. OpenMP's threads sleep at once, as in hearthd; `spinning` before the name is
// another process: with HEARTH_OPENMP_SPINS=1 they spin as in a process that does nothing about it.
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "jit/support/openmp.h"
#include "jit/support/operator_threads.h"
#include "jit/support/parallel_for.h"

namespace {

using Clock = std::chrono::steady_clock;

// Additions, each of which waits for the one before: as fast on each thread, whatever the others do.
void Work(double turns) {
  double sum = 0;
  for (auto left = static_cast<int64_t>(turns); left > 0; --left) {
    sum += 1;
    benchmark::DoNotOptimize(sum);
  }
}

double TurnsOfMicrosecond() {
  static const double turns = [] {
    double best = 0;
    for (int round = 0; round < 20; ++round) {
      const Clock::time_point begin = Clock::now();
      Work(100'000);
      best = std::max(best, 100'000 / std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    return best;
  }();
  return turns;
}

void SharedByHearth(double microseconds) {
  const int threads = at::get_num_threads();
  const double each = microseconds / threads;
  hearth::ParallelFor(threads, 1000 * each, [&](int64_t begin, int64_t end) {
    Work(TurnsOfMicrosecond() * each * static_cast<double>(end - begin));
  });
}

void SharedByOpenMp(double microseconds) {
  double turns = TurnsOfMicrosecond() * microseconds / at::get_num_threads();
  hearth::OpenMp::Get().parallel([](void* turns) { Work(*static_cast<double*>(turns)); }, &turns, 0, 0);
}

void ByOne(double microseconds) { Work(TurnsOfMicrosecond() * microseconds); }

void Rounds(benchmark::State& state, void (*share)(double)) {
  const auto work = static_cast<double>(state.range(0)), gap = static_cast<double>(state.range(1));
  for (auto round : state) {
    Work(TurnsOfMicrosecond() * gap);
    const Clock::time_point begin = Clock::now();
    share(work);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* spins = std::getenv("HEARTH_OPENMP_SPINS");
  if (spins == nullptr) hearth::LetIdleTeamsSleep();
  hearth::KeepOperatorsToTheQuota();
  const std::string openmp = spins == nullptr ? "openmp" : "spinning_openmp";
  for (const int64_t gap : {0, 10, 300}) {
    for (const int64_t work : {20, 60, 200, 1000}) {
      for (const auto& [name, share] : {std::pair("one_thread", &ByOne), std::pair("parallel_for", &SharedByHearth),
                                        std::pair(openmp.c_str(), &SharedByOpenMp)}) {
        benchmark::RegisterBenchmark(name, [share](benchmark::State& state) { Rounds(state, share); })
            ->Args({work, gap})
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond)
            ->MinTime(0.2);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
