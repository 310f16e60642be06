// What a background compiler does to requests, by where it runs: compiler_placement ARCHIVE INPUTS PLACEMENT...
//
// Requests: the runtime's own pool serves one model, open loop. They are sent at the times of a Poisson process at
// --load of the rate that was reached in a closed loop without a compiler, and a latency counts from the time when the
// request was due. Within a round every placement gets the same times; rounds go through the placements in turn.
//
// A PLACEMENT is none, or WHERE:PRIORITY[:PERCENT:PACE]:
//   thread, process: the compiler is a thread of this process, or this program again as a helper that sends object
//     files. A thread here links them at ordinary priority: that takes less than a millisecond and locks that requests
//     take too.
//   idle, nice: SCHED_IDLE or nice 19.
//   PERCENT of one processor that the compiler may use.
//   passes, anywhere: how it keeps to that, by sleeping between two passes, or by a signal that makes it sleep wherever
//     it is.
//
// Prints a line of JSON for each window. The limits around it (cores, a cgroup's quota) are the driver's:
// the Python module beside it.
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "benchmarks/experiments/compiler_placement/lock_probe.h"
#include "benchmarks/experiments/compiler_placement/placed_compiler.h"
#include "jit/runtime.h"

namespace {

using hearth::benchmarks::LockProbe;
using hearth::benchmarks::ParsePlacement;
using hearth::benchmarks::PlacedCompiler;
using hearth::benchmarks::Placement;
using Clock = std::chrono::steady_clock;

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "compiler_placement: " << what << "\n";
  std::_Exit(1);
}

// Counts down to zero and says so to one who waits.
class Pending {
 public:
  explicit Pending(size_t count) : left_(count) {}
  void Done() {
    if (left_.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex_);
      none_ = true;
      changed_.notify_all();
    }
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return none_; });
  }

 private:
  std::atomic<size_t> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool none_ = false;
};

class Requests {
 public:
  Requests(hearth::Model& model, std::vector<c10::IValue> inputs) : model_(model), inputs_(std::move(inputs)) {}

  // Requests answered in a second with `at_once` of them under way all the time.
  double Capacity(int at_once, double seconds) {
    Pending clients(at_once);
    std::atomic<size_t> answered{0};
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::function<void()> next = [&] {
      Send([&] {
        ++answered;
        Clock::now() < end ? next() : clients.Done();
      });
    };
    for (int client = 0; client < at_once; ++client) {
      next();
    }
    clients.Wait();
    return static_cast<double>(answered) / std::chrono::duration<double>(Clock::now() - start).count();
  }

  // Latencies in microseconds, sorted, of what was due in that time.
  std::vector<double> OpenLoop(double rate, double seconds, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> gap(rate);
    std::vector<double> due;
    for (double at = gap(random); at < seconds; at += gap(random)) {
      due.push_back(at);
    }
    std::vector<double> latencies(due.size());
    Pending pending(due.size());
    const auto start = Clock::now();
    for (size_t index = 0; index < due.size(); ++index) {
      const auto when = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due[index]));
      std::this_thread::sleep_until(when);
      Send([&latencies, &pending, index, when] {
        latencies[index] = std::chrono::duration<double, std::micro>(Clock::now() - when).count();
        pending.Done();
      });
    }
    pending.Wait();
    std::ranges::sort(latencies);
    return latencies;
  }

 private:
  void Send(std::function<void()> answered) {
    model_.CallAsync("forward", inputs_, {}, {}, [answered = std::move(answered)](absl::StatusOr<c10::IValue> answer) {
      if (!answer.ok()) {
        Fail(std::string(answer.status().message()));
      }
      answered();
    });
  }

  hearth::Model& model_;
  const std::vector<c10::IValue> inputs_;
};

// The least latency that at least this part of the requests did not pass.
double Quantile(const std::vector<double>& sorted, double part) {
  const auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

// Processor time of all threads of this process.
double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// How often the cgroup's processes were held up by its quota so far, from its cpu.stat; 0 without one.
int64_t TimesThrottled(const std::string& cpu_stat) {
  std::ifstream file(cpu_stat);
  std::string key;
  int64_t value = 0;
  while (file >> key >> value) {
    if (key == "nr_throttled") {
      return value;
    }
  }
  return 0;
}

struct Settings {
  std::string archive, inputs, cpu_stat;
  int threads = 2;
  int rounds = 3;
  double load = 0.6;
  double seconds = 2;
  std::vector<std::string> placements;
};

template <typename T>
T Check(absl::StatusOr<T> value) {
  if (!value.ok()) {
    Fail(std::string(value.status().message()));
  }
  return std::move(*value);
}

int Measure(const Settings& settings) {
  std::vector<Placement> placements;
  for (const std::string& text : settings.placements) {
    placements.push_back(ParsePlacement(text));
  }
  // The sender wakes when a request is due, not up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1);
  hearth::RuntimeOptions options;
  options.threads = settings.threads;
  auto runtime = Check(hearth::Runtime::Create(options));
  auto model = Check(runtime->Load(settings.archive, {}));
  Requests requests(*model, Check(hearth::ReadSavedValue(settings.inputs)).toTupleRef().elements().vec());

  requests.Capacity(2 * settings.threads, 0.5);
  std::vector<double> capacities;
  for (int i = 0; i < 3; ++i) {
    capacities.push_back(requests.Capacity(2 * settings.threads, std::max(0.5, settings.seconds / 3)));
  }
  std::ranges::sort(capacities);
  const double rate = settings.load * capacities[1];

  for (int round = 0; round < settings.rounds; ++round) {
    for (const Placement& placement : placements) {
      PlacedCompiler compiler(placement);
      const uint64_t modules = compiler.modules();
      const double cpu = compiler.cpu_seconds();
      const double own_cpu = ProcessSeconds();
      const int64_t throttled = TimesThrottled(settings.cpu_stat);
      const LockProbe probe;
      const auto start = Clock::now();
      const std::vector<double> latencies = requests.OpenLoop(rate, settings.seconds, 1000 + round);
      const double took = std::chrono::duration<double>(Clock::now() - start).count();
      const double compiler_cpu = compiler.cpu_seconds() - cpu;
      const double serving_cpu =
          ProcessSeconds() - own_cpu - (placement.where == Placement::Where::kThread ? compiler_cpu : 0);
      std::printf(
          "{\"round\": %d, \"placement\": \"%s\", \"capacity\": %.1f, \"requests\": %zu, \"p50_us\": %.1f, "
          "\"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f, \"modules_per_second\": %.2f, "
          "\"compiler_cpu\": %.3f, \"serving_cpu\": %.3f, \"stretch_ms\": %.2f, \"lock_wait_us\": %.1f, \"throttled\": "
          "%ld}\n",
          round, placement.text.c_str(), capacities[1], latencies.size(), Quantile(latencies, 0.5),
          Quantile(latencies, 0.99), Quantile(latencies, 0.999), latencies.back(),
          static_cast<double>(compiler.modules() - modules) / took, compiler_cpu / took, serving_cpu / took,
          1000 * compiler.longest_stretch(), 1e6 * probe.longest_wait_seconds(),
          static_cast<long>(TimesThrottled(settings.cpu_stat) - throttled));
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string helper;
  CLI::App app("What a background compiler does to requests, by where it runs.");
  app.add_option("archive", settings.archive);
  app.add_option("inputs", settings.inputs);
  app.add_option("placements", settings.placements);
  app.add_option("--threads", settings.threads, "Threads that run models")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", settings.rounds);
  app.add_option("--load", settings.load, "Part of the capacity")->check(CLI::Range(0.01, 1.0));
  app.add_option("--seconds", settings.seconds, "Length of a window")->check(CLI::Range(0.1, 3600.0));
  app.add_option("--cpu-stat", settings.cpu_stat, "The cgroup's cpu.stat, to count how often its quota held it up");
  app.add_option("--helper", helper,
                 "Compile as this placement says and write objects; what the program starts itself");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!helper.empty()) {
      signal(SIGPIPE, SIG_IGN);
      hearth::benchmarks::RunHelper(ParsePlacement(helper));
      return 0;
    }
    if (settings.placements.empty()) {
      Fail("expected ARCHIVE INPUTS PLACEMENT...");
    }
    return Measure(settings);
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}
