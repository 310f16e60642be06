#include "server/storage/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace hearth::server {
namespace {

constexpr size_t kKeptErrors = 4096;
constexpr int kLookForStop = 100;  // milliseconds

// A pipe whose ends no other program gets.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe");
  }
  ~Pipe() {
    close(ends_[0]);
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

// A program that is killed unless its end was waited for.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_;
};

std::vector<char*> EnvironmentWithout(const std::vector<std::string>& names) {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (std::ranges::find(names, text.substr(0, text.find('='))) == names.end()) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& without,
                            const Pipe& output, const Pipe& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write_end(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // Threads of this process may have blocked signals that the program waits for.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  std::vector<char*> variables = EnvironmentWithout(without);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  const std::string why = absl::StrCat(arguments[0], " cannot be run: ", std::generic_category().message(error));
  return error == ENOENT ? absl::NotFoundError(why) : absl::InternalError(why);
}

}  // namespace

absl::StatusOr<ProgramOutput> RunProgram(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& without, size_t most_output,
                                         const std::stop_token& stop) {
  Pipe output, errors;
  const auto pid = Spawn(arguments, without, output, errors);
  if (!pid.ok()) return pid.status();
  Child child(*pid);
  output.CloseWriteEnd();
  errors.CloseWriteEnd();

  ProgramOutput result;
  std::array<pollfd, 2> ends = {pollfd{output.read_end(), POLLIN, 0}, pollfd{errors.read_end(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.output, &result.errors};
  std::vector<char> buffer(64 << 10);
  while (std::ranges::any_of(ends, [](const pollfd& end) { return end.fd >= 0; })) {
    if (stop.stop_requested()) return absl::CancelledError(absl::StrCat(arguments[0], " was stopped"));
    if (poll(ends.data(), ends.size(), kLookForStop) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "waiting for " + arguments[0]);
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t size = read(ends[i].fd, buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        ends[i].fd = -1;  // which poll leaves alone
        continue;
      }
      texts[i]->append(buffer.data(), static_cast<size_t>(size));
    }
    if (result.output.size() > most_output) {
      return absl::ResourceExhaustedError(absl::StrCat(arguments[0], " writes more than ", most_output, " bytes"));
    }
    if (result.errors.size() > kKeptErrors) result.errors.erase(0, result.errors.size() - kKeptErrors);
  }
  result.status = child.Wait();
  return result;
}

}  // namespace hearth::server
