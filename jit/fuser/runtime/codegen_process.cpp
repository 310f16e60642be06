#include "jit/fuser/runtime/codegen_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

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

[[noreturn]] void Fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::system_category().message(error));
}

}  // namespace

CodegenProcess::CodegenProcess(const std::string& path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Fail("no sockets for " + path, errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const char* const arguments[] = {path.c_str(), nullptr};
  const int error = posix_spawn(&pid_, path.c_str(), &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    Fail("cannot start " + path, error);
  }
  socket_ = ends[0];
}

CodegenProcess::~CodegenProcess() {
  close(socket_);
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

CodegenAnswer CodegenProcess::Ask(const CodegenRequest& request, std::chrono::milliseconds patience) {
  const WithoutSigPipe guard;
  WriteRequest(socket_, request);
  pollfd answer{.fd = socket_, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&answer, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) Fail("waiting for code", errno);
  if (ready == 0) throw std::runtime_error("no code after " + std::to_string(patience.count()) + " ms");
  return ReadAnswer(socket_);
}

}  // namespace hearth::fuser
