#include "jit/fuser/runtime/codegen_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "jit/support/processor_time.h"

extern char** environ;

namespace hearth::fuser {
namespace {

// Whoever writes to a helper that has ended gets an error and no signal.
class WithoutSigPipe {
 public:
  WithoutSigPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigPipe() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigPipe(const WithoutSigPipe&) = delete;
  WithoutSigPipe& operator=(const WithoutSigPipe&) = delete;

 private:
  sigset_t pipe_, before_;
};

constexpr int kLeastPriority = 19;

[[noreturn]] void Fail(CodegenError::Cause cause, const std::string& what, int error) {
  throw CodegenError(cause, what + ": " + std::system_category().message(error));
}

// By a signal that programs send themselves.
bool IsCrash(int signal) {
  constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::ranges::find(kCrashes, signal) != std::end(kCrashes);
}

}  // namespace

CodegenProcess::CodegenProcess(const std::string& path, const std::vector<std::string>& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    Fail(CodegenError::Cause::kNotStarted, "no sockets for " + path, errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const char* const arguments[] = {path.c_str(), nullptr};
  // The first of a name counts.
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, path.c_str(), &actions, nullptr, const_cast<char* const*>(arguments), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    Fail(CodegenError::Cause::kNotStarted, "cannot start " + path, error);
  }
  socket_ = ends[0];
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), kLeastPriority);
  clock_getcpuclockid(pid_, &clock_);
}

CodegenProcess::~CodegenProcess() {
  close(socket_);
  if (pid_ > 0) Reap();
}

int CodegenProcess::Reap() {
  // What has ended, or is about to, ends as it would have.
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

CodegenError CodegenProcess::HowItEnded(const std::string& what) {
  const int status = Reap();
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {IsCrash(signal) ? CodegenError::Cause::kCrashed : CodegenError::Cause::kEnded,
            what + ": the helper ended by signal " + std::to_string(signal)};
  }
  // LLVM exits so where it finds that it cannot go on.
  constexpr int kGivesUp = 1;
  return {WEXITSTATUS(status) == kGivesUp ? CodegenError::Cause::kCrashed : CodegenError::Cause::kEnded,
          what + ": the helper ended with status " + std::to_string(WEXITSTATUS(status))};
}

void CodegenProcess::Ask(const CodegenRequest& request, std::chrono::duration<double> patience) {
  const WithoutSigPipe guard;
  may_use_ = used_ + patience;
  give_up_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(10 * patience);
  try {
    WriteRequest(socket_, request);
  } catch (const std::system_error& error) {
    throw HowItEnded(error.what());
  }
}

bool CodegenProcess::HasAnswer() {
  constexpr int kMilliseconds = 2;
  pollfd answer{.fd = socket_, .events = POLLIN, .revents = 0};
  const int ready = poll(&answer, 1, kMilliseconds);
  if (ready < 0 && errno != EINTR) Fail(CodegenError::Cause::kEnded, "waiting for code", errno);
  const std::chrono::duration<double> used = TimeOf(clock_);
  AddProcessorTime(used - used_);
  used_ = used;
  if (ready > 0) return true;
  if (used_ > may_use_) throw CodegenError(CodegenError::Cause::kTooSlow, "it takes too long");
  if (std::chrono::steady_clock::now() > give_up_) {
    throw CodegenError(CodegenError::Cause::kStalled, "the helper does not get on with it");
  }
  return false;
}

CodegenAnswer CodegenProcess::TakeAnswer() {
  try {
    return ReadAnswer(socket_);
  } catch (const std::runtime_error& error) {
    throw HowItEnded(error.what());
  }
}

CodegenProcess::Pause::Pause(CodegenProcess& process) : process_(process) {
  if (process_.pid_ > 0) kill(process_.pid_, SIGSTOP);
}

CodegenProcess::Pause::~Pause() {
  if (process_.pid_ > 0) kill(process_.pid_, SIGCONT);
  process_.give_up_ += std::chrono::steady_clock::now() - since_;
}

}  // namespace hearth::fuser
