// One line of JSON for each request, for people who grep and for machines that collect. Off unless given a place.
// Thread-safe; lines of concurrent requests never mix.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/telemetry/model_statistics.h"

namespace spdlog {
class logger;
}

namespace hearth::server {

class ReopenableFile;

struct AccessRecord {
  std::string peer;  // "ipv4:127.0.0.1:40120"
  std::string model;
  std::string version;
  std::string id;
  std::string trace_id;          // of the trace that the client says it belongs to, or that the server began
  std::optional<unsigned> tier;  // that the model's run began in; nothing where there was no run
  absl::Status status;
  RequestTimes times;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
};

class AccessLog {
 public:
  // `place`: a file to append to, or "-" for standard output. kInvalidArgument if the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<AccessLog>> Open(const std::string& place);
  void Write(const AccessRecord& record);
  // Opens the file of that name anew, for the one that was open may have another name by now; lines so far are in the
  // one, lines from now on in the other. One that cannot be opened is an error, and the file that was open stays so.
  // Standard output stays as it is.
  absl::Status Reopen();
  // Call before the process ends: lines are buffered for up to a second.
  void Flush();

 private:
  AccessLog(std::shared_ptr<spdlog::logger> logger, std::shared_ptr<ReopenableFile> file)
      : logger_(std::move(logger)), file_(std::move(file)) {}

  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<ReopenableFile> file_;  // null for standard output
};

// The line for one record, without the newline.
std::string FormatAccessRecord(const AccessRecord& record);

}  // namespace hearth::server
