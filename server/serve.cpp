#include "server/serve.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "jit/support/logging.h"
#include "server/check.h"
#include "server/command_line.h"
#include "server/daemon.h"
#include "server/service_manager.h"
#include "server/settings.h"
#include "server/telemetry/library_log.h"
#include "server/telemetry/log_control.h"
#include "server/telemetry/log_output.h"

namespace hearth::server {
namespace {

constexpr int kCannotServe = 1;
constexpr int kWrongUse = 2;
constexpr int kDeviceFailed = 3;
constexpr int kEndedAtOnce = 128 + SIGTERM;
// What cancelled runs get to stop, after the drain.
constexpr double kSecondsToCancel = 15;

// Blocks the signals that are for the daemon in this thread and all it will start, so that only the waits see them.
class Signals {
 public:
  Signals() {
    sigemptyset(&end_);
    sigaddset(&end_, SIGTERM);
    sigaddset(&end_, SIGINT);
    all_ = end_;
    sigaddset(&all_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &all_, nullptr);
  }

  // Waits for one that ends the daemon; calls `hung_up` for each SIGHUP until then.
  void WaitForEnd(const std::function<void()>& hung_up) const {
    for (;;) {
      int signal = 0;
      if (sigwait(&all_, &signal) != 0) continue;
      if (signal != SIGHUP) return;
      hung_up();
    }
  }

  // Waits for one that ends the daemon, for the time at most; anew if something else interrupts (a tracer that stops
  // the thread for a moment).
  void WaitForEnd(double seconds) const {
    timespec time;
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
    while (sigtimedwait(&end_, nullptr, &time) < 0 && errno == EINTR) continue;
  }

 private:
  sigset_t end_;
  sigset_t all_;
};

// Every connection is an open file, and the limit that a shell hands on is often 1024.
void AllowManyFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) LoggerOf("server/serve").warn("cannot raise the limit of open files");
}

// On standard error, whatever the log is.
int Complain(const absl::Status& status, int exit_status) {
  std::cerr << "hearthd: " << status.message() << std::endl;
  return exit_status;
}

void PrintReady(const Daemon& daemon, int models_ready) {
  nlohmann::ordered_json line;
  line["event"] = "ready";
  if (const auto port = daemon.grpc_port()) line["grpc_port"] = *port;
  if (const auto port = daemon.http_port()) line["http_port"] = *port;
  if (const auto port = daemon.metrics_port()) line["metrics_port"] = *port;
  line["models_ready"] = models_ready;
  line["pid"] = getpid();
  std::cout << line.dump() << std::endl;
}

LogFormat FormatOf(const config::Settings& settings) {
  if (settings.log_format() == "json") return LogFormat::kJson;
  return settings.log_format() == "ISO8601" ? LogFormat::kIso8601 : LogFormat::kDefault;
}

// The log as the settings want it.
absl::StatusOr<std::unique_ptr<LogOutput>> OpenLog(const config::Settings& settings) {
  auto output = LogOutput::Open(settings.log_file(), FormatOf(settings));
  ApplyLogLevels(LogLevelsOf(settings));
  return output;
}

std::string ServedText(int versions) {
  return std::to_string(versions) +
         (versions == 1 ? " version of a model is served" : " versions of models are served");
}

void Reload(ServiceManager& manager, LogOutput& log_output, Daemon& daemon) {
  manager.BeginReload();
  if (const absl::Status status = log_output.Reopen(); !status.ok()) {
    LoggerOf("server/serve").error("{}; lines go on to the file that was open", std::string(status.message()));
  }
  daemon.Reload();
  manager.EndReload();
}

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

RuntimeOptions RuntimeOptionsOf(const config::Settings& settings) {
  RuntimeOptions options;
  options.threads = settings.threads();
  options.operator_threads = settings.operator_threads();
  // As many as may warm up models at once.
  options.background_threads = std::max(1, settings.load_threads());
  options.operator_libraries = {settings.operator_library().begin(), settings.operator_library().end()};
  options.device = settings.device();
  options.memory_limit = settings.memory_limit();
  options.memory_limit_of_model = settings.model_memory_limit();
  options.memory_limit_of_all = settings.requests_memory_limit();
  options.run_time_limit = Nanoseconds(settings.max_run_seconds());
  options.load_memory_limit = settings.load_memory_limit();
  options.kept_memory = settings.kept_memory();
  options.load_time_limit = Nanoseconds(settings.load_seconds());
  options.compiler.tier = settings.compiler() ? Tier::kAuto : Tier::kBaseline;
  options.compiler.compile_after = static_cast<uint64_t>(settings.compile_after());
  options.compiler.exact_after = static_cast<uint64_t>(settings.exact_after());
  options.compiler.max_plans = static_cast<size_t>(settings.max_plans());
  options.compiler.plan_bytes = settings.plan_bytes();
  options.compiler.job_memory = settings.job_memory();
  options.compiler.job_seconds = settings.job_seconds();
  options.compiler.processor_share = settings.compiler_share();
  options.compiler.weight_copies = settings.weight_copies();
  options.compiler.shadow_share = settings.shadow_share();
  options.compiler.cache_dir = settings.cache_dir();
  options.compiler.fuse = settings.fuse();
  return options;
}

int Check(const CommandLine& line, const RuntimeFactory& make_runtime) {
  int problems = static_cast<int>(line.problems.size());
  for (const std::string& problem : line.problems) std::cout << problem << std::endl;
  // What is wrong with the models cannot be told by settings that are wrong.
  if (problems > 0) return kCannotServe;
  config::Settings settings = line.settings;
  settings.clear_log_file();
  settings.clear_cache_dir();
  auto log_output = OpenLog(settings);
  if (!log_output.ok()) return Complain(log_output.status(), kCannotServe);
  for (const std::string& warning : line.warnings) LoggerOf("server/serve").warn("{}", warning);
  auto runtime = make_runtime(RuntimeOptionsOf(settings));
  if (!runtime.ok()) {
    std::cout << runtime.status().message() << std::endl;
    return kCannotServe;
  }
  problems = CheckRepository(settings, **runtime, std::cout);
  return problems == 0 ? 0 : kCannotServe;
}

}  // namespace

int Serve(int argc, const char* const* argv, const RuntimeFactory& make_runtime) {
  auto line = ParseCommandLine(argc, argv);
  if (!line.ok()) return Complain(line.status(), kWrongUse);
  if (!line->print.empty()) {
    std::cout << line->print << std::flush;
    return 0;
  }
  if (line->check) return Check(*line, make_runtime);
  const Signals signals;
  // A peer that hangs up is an error of one write, not the end of the process.
  signal(SIGPIPE, SIG_IGN);
  // Nor is a file that may not grow (ulimit -f): that is like a disk that is full.
  signal(SIGXFSZ, SIG_IGN);
  AllowManyFiles();

  const config::Settings& settings = line->settings;
  auto log_output = OpenLog(settings);
  if (!log_output.ok()) return Complain(log_output.status(), kCannotServe);
  ServiceManager manager;
  TakeLibraryLogs();
  spdlog::logger& log = LoggerOf("server/serve");
  for (const std::string& warning : line->warnings) log.warn("{}", warning);
  log.info("settings that differ from their defaults: {}", line->summary);
  if (settings.compiler() && settings.compiler_share() > 0) {
    log.info("compiling may take {} of one processor", settings.compiler_share());
  }
  std::atomic<bool> stopping{false};
  // Shared with a thread that nobody waits for.
  const auto device_failed = std::make_shared<std::atomic<bool>>(false);
  RuntimeOptions options = RuntimeOptionsOf(settings);
  options.on_device_failure = [&log, &stopping, device_failed](const std::string& what) {
    log.error("a GPU has failed, and this server stops with exit status {}: {}", kDeviceFailed, what);
    *device_failed = true;
    if (!stopping) kill(getpid(), SIGTERM);
  };
  auto runtime = make_runtime(options);
  if (!runtime.ok()) return Complain(runtime.status(), kCannotServe);
  auto daemon = Daemon::Start(settings, **runtime);
  if (!daemon.ok()) return Complain(daemon.status(), *device_failed ? kDeviceFailed : kCannotServe);

  manager.Loading();
  std::atomic<bool> failed{false};
  std::thread announcer([&] {
    const Daemon::Loaded loaded = (*daemon)->WaitUntilLoaded();
    if (stopping) return;
    if (loaded.failures.empty() || !settings.exit_on_error()) {
      PrintReady(**daemon, loaded.versions);
      manager.Ready(ServedText(loaded.versions));
      return;
    }
    for (const std::string& failure : loaded.failures) Complain(absl::UnavailableError(failure), kCannotServe);
    log.error("not every model has loaded; with --exit-on-error=false the others are served");
    failed = true;
    kill(getpid(), SIGTERM);
  });
  signals.WaitForEnd([&] { Reload(manager, **log_output, **daemon); });
  // Another signal means that whoever sends it will not wait; a run that does not even stop when it is cancelled (one
  // very long operator) must not keep the process either.
  std::thread([signals, device_failed, patience = settings.drain_seconds() + kSecondsToCancel] {
    signals.WaitForEnd(patience);
    _exit(*device_failed ? kDeviceFailed : kEndedAtOnce);
  }).detach();
  stopping = true;
  manager.Stopping();
  (*daemon)->Stop();
  announcer.join();
  if (*device_failed) {
    log.info("stopped, since a GPU has failed");
    log.flush();
    // CUDA gives nothing back of a GPU that has failed, which what holds some of it does not expect at its end.
    _exit(kDeviceFailed);
  }
  daemon->reset();
  runtime->reset();
  log.info("stopped");
  return failed ? kCannotServe : 0;
}

}  // namespace hearth::server
