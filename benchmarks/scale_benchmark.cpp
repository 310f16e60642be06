// How a model bears many kinds of arguments, and many threads.
//
// scale_benchmark specs ARCHIVE [--off]: a model of three tensors is called with 10,000 different kinds of arguments
// (which of the tensors' sizes are 1), each --repeat times, and between any two of them with one kind that is hot. A
// line of JSON for every fifth of the kinds: latencies of the calls of new kinds and of hot ones in microseconds, the
// resident size, and what the model holds.
//
// scale_benchmark threads ARCHIVE INPUTS: a model is called by 1, 2, 4, ... threads, as many as there are processors:
// each runs its calls itself (as the daemon does with short ones), and then the same through a pool of so many threads
// with twice as many calls under way. A line of JSON for each: calls a second, and how often in a thousand calls a
// thread went to sleep of its own accord, as for a lock.
#include <ATen/ops/ones.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/served_models.h"
#include "jit/runtime.h"

namespace {

using hearth::benchmarks::Fail;
using Clock = std::chrono::steady_clock;

template <typename T>
T Check(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(std::string(value.status().message()));
  return *std::move(value);
}

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double ResidentMegabytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e6;
}

std::unique_ptr<hearth::Runtime> MakeRuntime(int threads, bool compiler) {
  hearth::RuntimeOptions options;
  options.threads = threads;
  options.compiler.tier = compiler ? hearth::Tier::kAuto : hearth::Tier::kBaseline;
  return Check(hearth::Runtime::Create(options));
}

// In the calling thread.
void CallHere(hearth::Model& model, const hearth::Arguments& arguments) {
  hearth::CallOptions options;
  options.may_run_here = true;
  bool answered = false;
  model.CallAsync("forward", arguments, {}, std::move(options), [&](const absl::StatusOr<c10::IValue>& answer) {
    if (!answer.ok()) Fail(std::string(answer.status().message()));
    answered = true;
  });
  if (!answered) Fail("the model has loops, calls or forks, and does not run in the thread that calls it");
}

// Three tensors of five dimensions, of which the bits of `number` say whether they are 1 or 2.
hearth::Arguments Kind(unsigned number) {
  hearth::Arguments tensors;
  for (int i = 0; i < 3; ++i) {
    std::vector<int64_t> sizes;
    for (int k = 0; k < 5; ++k, number >>= 1) sizes.push_back(1 + (number & 1));
    tensors.emplace_back(at::ones(sizes));
  }
  return tensors;
}

struct Times {
  std::vector<double> us;

  void Measure(hearth::Model& model, const hearth::Arguments& arguments) {
    const auto start = Clock::now();
    CallHere(model, arguments);
    us.push_back(1e6 * Since(start));
  }
  double Quantile(double part) {
    std::ranges::sort(us);
    return us[std::min(us.size() - 1, static_cast<size_t>(part * static_cast<double>(us.size())))];
  }
};

void MeasureSpecs(const std::string& archive, bool compiler, int repeat) {
  constexpr unsigned kKinds = 10000;
  constexpr unsigned kWindow = 2000;
  const auto runtime = MakeRuntime(1, compiler);
  const auto model = Check(runtime->Load(archive, {}));
  const hearth::Arguments hot = Kind(0x7fff);
  for (int i = 0; i < 200; ++i) CallHere(*model, hot);
  for (unsigned begin = 0; begin < kKinds; begin += kWindow) {
    Times fresh;
    Times again;
    for (unsigned number = begin; number < begin + kWindow; ++number) {
      const hearth::Arguments kind = Kind(number);
      for (int i = 0; i < repeat; ++i) {
        fresh.Measure(*model, kind);
        again.Measure(*model, hot);
      }
    }
    size_t held = 0;
    size_t plans = 0;
    for (const hearth::PlanInfo& info : model->plans(false)) {
      ++held;
      plans += info.state == hearth::PlanInfo::State::kCompiled;
    }
    std::printf(
        "{\"kinds\": %u, \"new_p50\": %.2f, \"new_p99\": %.2f, \"hot_p50\": %.2f, \"hot_p99\": %.2f, \"hot_p999\": "
        "%.2f, "
        "\"resident_mb\": %.1f, \"held\": %zu, \"plans\": %zu, \"compiled\": %lu}\n",
        begin + kWindow, fresh.Quantile(0.5), fresh.Quantile(0.99), again.Quantile(0.5), again.Quantile(0.99),
        again.Quantile(0.999), ResidentMegabytes(), held, plans, runtime->compiler_counters().done);
    std::fflush(stdout);
  }
}

long Sleeps() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

void Print(const char* where, int threads, size_t calls, double seconds, long sleeps) {
  std::printf("{\"where\": \"%s\", \"threads\": %d, \"calls_per_second\": %.0f, \"sleeps_per_1000\": %.2f}\n", where,
              threads, static_cast<double>(calls) / seconds,
              1000.0 * static_cast<double>(sleeps) / static_cast<double>(calls));
  std::fflush(stdout);
}

// Every client brings tensors of its own, as requests do: threads that share one take its count from each other.
hearth::Arguments Copy(const hearth::Arguments& arguments) {
  hearth::Arguments copies;
  for (const c10::IValue& argument : arguments) copies.emplace_back(argument.toTensor().clone());
  return copies;
}

void MeasureCallers(hearth::Model& model, const hearth::Arguments& arguments, int threads, double seconds) {
  std::latch begin(threads + 1);
  std::atomic<bool> over{false};
  std::atomic<size_t> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&] {
      const hearth::Arguments own = Copy(arguments);
      begin.arrive_and_wait();
      size_t done = 0;
      for (; !over.load(std::memory_order_relaxed); ++done) CallHere(model, own);
      calls += done;
    });
  }
  begin.arrive_and_wait();
  const auto start = Clock::now();
  const long sleeps = Sleeps();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  for (std::thread& caller : callers) caller.join();
  Print("callers", threads, calls, Since(start), Sleeps() - sleeps);
}

void MeasurePool(const std::string& archive, const hearth::Arguments& arguments, int threads, double seconds) {
  const auto runtime = MakeRuntime(threads, true);
  const auto model = Check(runtime->Load(archive, {}));
  for (int i = 0; i < 200; ++i) CallHere(*model, arguments);
  const int clients = 2 * threads;
  struct alignas(64) Client {
    hearth::Arguments arguments;
    size_t calls = 0;
  };
  std::vector<Client> all(static_cast<size_t>(clients));
  for (Client& client : all) client.arguments = Copy(arguments);
  std::latch over(clients);
  const auto start = Clock::now();
  const long sleeps = Sleeps();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::function<void(Client&)> next = [&](Client& client) {
    model->CallAsync("forward", client.arguments, {}, {}, [&](const absl::StatusOr<c10::IValue>& answer) {
      if (!answer.ok()) Fail(std::string(answer.status().message()));
      ++client.calls;
      Clock::now() < end ? next(client) : over.count_down();
    });
  };
  for (Client& client : all) next(client);
  over.wait();
  size_t calls = 0;
  for (const Client& client : all) calls += client.calls;
  Print("pool", threads, calls, Since(start), Sleeps() - sleeps);
}

void MeasureThreads(const std::string& archive, const std::string& inputs, double seconds) {
  const hearth::Arguments arguments = Check(hearth::ReadSavedValue(inputs)).toTupleRef().elements().vec();
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  {
    const auto runtime = MakeRuntime(1, true);
    const auto model = Check(runtime->Load(archive, {}));
    for (int i = 0; i < 200; ++i) CallHere(*model, arguments);
    for (int threads = 1; threads <= processors; threads *= 2) MeasureCallers(*model, arguments, threads, seconds);
  }
  for (int threads = 1; threads <= processors; threads *= 2) MeasurePool(archive, arguments, threads, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  std::string archive;
  std::string inputs;
  bool off = false;
  int repeat = 3;
  double seconds = 1;
  CLI::App app("How a model bears many kinds of arguments, and many threads.");
  app.require_subcommand(1);
  CLI::App* specs = app.add_subcommand("specs", "10,000 kinds of arguments");
  specs->add_option("archive", archive)->required();
  specs->add_flag("--off", off, "Without the compiler");
  specs->add_option("--repeat", repeat)->check(CLI::Range(1, 1000));
  CLI::App* threads = app.add_subcommand("threads", "One model, more and more threads");
  threads->add_option("archive", archive)->required();
  threads->add_option("inputs", inputs)->required();
  threads->add_option("--seconds", seconds);
  CLI11_PARSE(app, argc, argv);
  if (specs->parsed()) {
    MeasureSpecs(archive, !off, repeat);
  } else {
    MeasureThreads(archive, inputs, seconds);
  }
  return 0;
}
