#include "benchmarks/experiments/compiler_placement/placed_compiler.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_split.h"
#include "benchmarks/experiments/compiler_placement/loop_nest_compiler.h"

namespace hearth::benchmarks {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "compiler_placement: " << what << "\n";
  std::_Exit(1);
}

void CheckErrno(bool fine, const char* what) {
  if (!fine) {
    Fail(std::string(what) + ": " + std::strerror(errno));
  }
}

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void LowerPriorityOfThisThread(Placement::Priority priority) {
  if (priority == Placement::Priority::kIdle) {
    const sched_param none{};
    CheckErrno(sched_setscheduler(0, SCHED_IDLE, &none) == 0, "SCHED_IDLE");
  } else {
    // Of a thread, where Linux differs from POSIX.
    CheckErrno(setpriority(PRIO_PROCESS, static_cast<id_t>(ThisThread()), 19) == 0, "nice 19");
  }
}

// So that one that gets no processor may end what it is at, or die. Without the right to do so it takes its time.
void RestorePriority(pid_t thread) {
  const sched_param none{};
  sched_setscheduler(thread, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(thread), 0);
}

double Seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Seconds(now);
}

void SleepFor(double seconds) {
  timespec left{static_cast<time_t>(seconds), static_cast<long>((seconds - std::floor(seconds)) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// Keeps one thread, which makes it, to a share of one processor, until it is told to let go. One in a process.
class Pacer {
 public:
  explicit Pacer(const Placement& placement) : pace_(placement.pace) {
    let_go_ = false;
    longest_stretch_ = 0;
    rest_per_second_ = 1 / placement.share - 1;
    slept_at_ = passed_at_ = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    if (pace_ == Placement::Pace::kAnywhere) {
      struct sigaction action {};
      action.sa_handler = [](int) {
        const int error = errno;
        Rest();
        errno = error;
      };
      action.sa_flags = SA_RESTART;
      CheckErrno(sigaction(SIGRTMIN, &action, nullptr) == 0, "sigaction");
      sigevent event{};
      event.sigev_notify = SIGEV_THREAD_ID;
      event.sigev_signo = SIGRTMIN;
      event._sigev_un._tid = ThisThread();
      CheckErrno(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0, "timer_create");
      constexpr timespec kSlice{.tv_sec = 0, .tv_nsec = static_cast<long>(kSliceSeconds * 1e9)};
      const itimerspec interval{.it_interval = kSlice, .it_value = kSlice};
      CheckErrno(timer_settime(timer_, 0, &interval, nullptr) == 0, "timer_settime");
    }
  }
  ~Pacer() {
    if (pace_ == Placement::Pace::kAnywhere) {
      timer_delete(timer_);
    }
  }
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // From any thread.
  static void LetGo() { let_go_ = true; }

  // Processor time between two passes at most, so far.
  static double longest_stretch() { return longest_stretch_; }

  void BetweenPasses() {
    const double now = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    longest_stretch_ = std::max<double>(longest_stretch_, now - passed_at_);
    passed_at_ = now;
    if (pace_ == Placement::Pace::kPasses && now - slept_at_ > kSliceSeconds) {
      Rest();
    }
  }

 private:
  static constexpr double kSliceSeconds = 0.002;

  // Safe in a signal handler.
  static void Rest() {
    if (let_go_) {
      return;
    }
    const double now = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    SleepFor((now - slept_at_) * rest_per_second_);
    slept_at_ = now;
  }

  inline static std::atomic<bool> let_go_;
  inline static std::atomic<double> longest_stretch_;
  // Of the thread that is paced, whose handler finds them here.
  inline static thread_local double slept_at_, rest_per_second_;

  const Placement::Pace pace_;
  double passed_at_;
  timer_t timer_{};
};

struct ObjectHeader {
  uint64_t seed;
  uint64_t size;
};

// Whether all bytes came; false at the end of the stream.
bool ReadAll(int file, void* data, size_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    const ssize_t got = read(file, at, size);
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int file, const void* data, size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t put = write(file, at, size);
    if (put <= 0) {
      return false;
    }
    at += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

Placement ParsePlacement(const std::string& text) {
  Placement placement{.text = text};
  if (text == "none") {
    return placement;
  }
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const auto one_of = [&](const std::string& part, const char* first, const char* second) {
    if (part != first && part != second) {
      throw std::invalid_argument("in '" + text + "': expected " + first + " or " + second + ", got '" + part + "'");
    }
    return part == first;
  };
  if (parts.size() != 2 && parts.size() != 4) {
    throw std::invalid_argument("expected none or WHERE:PRIORITY[:PERCENT:PACE], got '" + text + "'");
  }
  placement.where = one_of(parts[0], "thread", "process") ? Placement::Where::kThread : Placement::Where::kProcess;
  placement.priority = one_of(parts[1], "idle", "nice") ? Placement::Priority::kIdle : Placement::Priority::kNice;
  if (parts.size() == 4) {
    placement.share = std::atof(parts[2].c_str()) / 100;
    if (!(placement.share > 0 && placement.share < 1)) {
      throw std::invalid_argument("in '" + text + "': expected a percentage between 0 and 100, got '" + parts[2] + "'");
    }
    placement.pace = one_of(parts[3], "passes", "anywhere") ? Placement::Pace::kPasses : Placement::Pace::kAnywhere;
  }
  return placement;
}

void RunHelper(const Placement& placement) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::optional<Pacer> pacer;
  LoopNestCompiler compiler([&] {
    if (pacer.has_value()) {
      pacer->BetweenPasses();
    }
  });
  for (uint64_t seed = 0;; ++seed) {
    const std::string object = compiler.Compile(seed);
    const ObjectHeader header{seed, object.size()};
    if (!WriteAll(STDOUT_FILENO, &header, sizeof header) || !WriteAll(STDOUT_FILENO, object.data(), object.size())) {
      return;
    }
    if (seed == 0) {
      LowerPriorityOfThisThread(placement.priority);
      pacer.emplace(placement);
    }
  }
}

PlacedCompiler::PlacedCompiler(Placement placement) : placement_(std::move(placement)) {
  if (placement_.where == Placement::Where::kProcess) {
    StartHelper();
  }
  if (placement_.where != Placement::Where::kNone) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      tid_ = ThisThread();
      helper_ == 0 ? CompileHere(stop) : LinkFromHelper(stop);
    });
  }
  if (thread_.joinable()) {
    modules_.wait(0);
    CheckErrno(pthread_getcpuclockid(thread_.native_handle(), &thread_clock_) == 0, "pthread_getcpuclockid");
  }
}

PlacedCompiler::~PlacedCompiler() {
  thread_.request_stop();
  Pacer::LetGo();
  if (tid_ != 0) {
    RestorePriority(tid_);
  }
  if (helper_ != 0) {
    RestorePriority(helper_);
    kill(helper_, SIGKILL);
    waitpid(helper_, nullptr, 0);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  if (objects_ >= 0) {
    close(objects_);
  }
}

double PlacedCompiler::cpu_seconds() const {
  double seconds = thread_.joinable() ? ReadClock(thread_clock_) : 0;
  if (helper_ != 0) {
    seconds += ReadClock(helper_clock_);
  }
  return seconds;
}

double PlacedCompiler::longest_stretch() const {
  return placement_.where == Placement::Where::kThread ? Pacer::longest_stretch() : 0;
}

void PlacedCompiler::CompileHere(const std::stop_token& stop) {
  try {
    std::optional<Pacer> pacer;
    LoopNestCompiler compiler([&] {
      if (pacer.has_value()) {
        pacer->BetweenPasses();
      }
    });
    LoopNestLinker linker;
    for (uint64_t seed = 0; !stop.stop_requested(); ++seed) {
      linker.LinkAndCall(seed, compiler.Compile(seed));
      if (seed == 0) {
        LowerPriorityOfThisThread(placement_.priority);
        pacer.emplace(placement_);
      }
      Count();
    }
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}

void PlacedCompiler::StartHelper() {
  int ends[2];
  CheckErrno(pipe2(ends, O_CLOEXEC) == 0, "pipe");
  objects_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = "compiler_placement", flag = "--helper";
  char* arguments[] = {name.data(), flag.data(), placement_.text.data(), nullptr};
  errno = posix_spawn(&helper_, "/proc/self/exe", &actions, nullptr, arguments, environ);
  CheckErrno(errno == 0, "posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  CheckErrno(clock_getcpuclockid(helper_, &helper_clock_) == 0, "clock_getcpuclockid");
}

void PlacedCompiler::LinkFromHelper(const std::stop_token& stop) {
  try {
    LoopNestLinker linker;
    ObjectHeader header{};
    std::string object;
    while (ReadAll(objects_, &header, sizeof header)) {
      object.resize(header.size);
      if (!ReadAll(objects_, object.data(), object.size())) {
        break;
      }
      linker.LinkAndCall(header.seed, object);
      Count();
    }
    if (!stop.stop_requested()) {
      Fail("the helper ended by itself");
    }
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}

void PlacedCompiler::Count() {
  ++modules_;
  modules_.notify_all();
}

}  // namespace hearth::benchmarks
