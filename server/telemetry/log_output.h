// Where the lines of the log go, and in what form.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::server {

class ReopenableFile;

enum class LogFormat {
  kDefault,  // 2026-01-31T12:00:00.123+01:00 I repository: message
  kIso8601,  // 2026-01-31T11:00:00Z I repository: message
  kJson,     // {"time":"2026-01-31T11:00:00.123Z","level":"info","logger":"repository","message":"message"}
};

// While it lives, the lines of all loggers go there; then to standard error again. One at a time. Thread-safe.
class LogOutput {
 public:
  // `file` is appended to; empty: standard error. kInvalidArgument if it cannot be opened.
  static absl::StatusOr<std::unique_ptr<LogOutput>> Open(const std::string& file, LogFormat format);
  ~LogOutput();
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;

  // Opens the file of that name anew; on an error the one that was open stays so. Nothing for standard error.
  absl::Status Reopen();

 private:
  explicit LogOutput(std::shared_ptr<ReopenableFile> file) : file_(std::move(file)) {}

  const std::shared_ptr<ReopenableFile> file_;  // null for standard error
};

}  // namespace hearth::server
