// What hearthd can be told: by flags, and by a file of the same settings in JSON (--config). A flag wins over the file.
// docs/configuration.md lists every setting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

struct ServerOptions {
  std::vector<std::string> model_repositories;
  std::string host = "0.0.0.0";
  int grpc_port = 8001;  // 0: any free port
  int http_port = 8000;
  int metrics_port = 8002;
  std::string device = "cpu";
  int threads = 0;           // 0: one a processor
  int operator_threads = 0;  // 0: the processors are shared by the runs under way
  std::vector<std::string> operator_libraries;
  bool model_operator_libraries = false;
  int load_threads = 2;
  bool strict_readiness = false;
  int64_t max_request_bytes = 256 << 20;
  int64_t max_pending_requests = 1024;
  int64_t max_in_flight_requests = 8192;
  double drain_seconds = 30;
  double send_seconds = 60;  // in which a client must take up an answer
  // Bytes; 0: no limit. Not given: half of the memory that this process may use (DefaultMemoryLimit).
  std::optional<int64_t> memory_limit;
  // Of all requests together. Not given: one and a half times as much (DefaultRequestsMemoryLimit).
  std::optional<int64_t> requests_memory_limit;
  std::optional<int64_t> load_memory_limit;
  // Of large tensors that were freed, for others; 0: none. Not given: an eighth of the memory (DefaultKeptMemory).
  std::optional<int64_t> kept_memory;
  double load_seconds = 300;
  double warmup_seconds = 60;
  bool compiler = true;
  // Of one processor, that compiling may take; 0: no limit. Not given: DefaultCompilerShare.
  std::optional<double> compiler_share;
  int64_t compile_after = 2;                 // calls with arguments of one spec, which then have a plan
  int64_t exact_after = 256;                 // calls of one shape, which then has a plan of its own; 0: never
  int64_t max_plans = 4096;                  // of all models, argument specs without a plan included
  int64_t plan_bytes = int64_t{256} << 20;   // of all models
  int64_t job_memory = int64_t{4} << 30;     // bytes that making one plan may come to hold; 0: no limit
  double job_seconds = 600;                  // of a processor, that making one plan may take; 0: no limit
  int64_t weight_copies = int64_t{4} << 30;  // bytes of weights as plans have them packed; 0: none
  double shadow_share = 0;                   // of the calls that plans answer
  std::string cache_dir;                     // empty: nothing is kept
  std::string access_log;                    // empty: none; "-": standard output
};

// What a command line asks for: to serve with these options, or to print a text (--help, --version) and end.
struct CommandLine {
  ServerOptions options;
  std::string print;  // serve if empty
};

// kInvalidArgument with one clear line for a flag, a setting or a value that is wrong.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// Half of the memory that this process may use: of the machine's, or of the least that control groups allow.
int64_t DefaultMemoryLimit();
int64_t DefaultRequestsMemoryLimit();
// A quarter of that.
int64_t DefaultKeptMemory();

// A twentieth where a control group gives this process a quota of processor time, which compiling would use up for
// requests; no limit elsewhere.
double DefaultCompilerShare();

// The JSON settings of `text`, over `options`; `file` is for messages. A key that does not exist is named.
absl::StatusOr<ServerOptions> ParseConfigFile(const std::string& text, const std::string& file, ServerOptions options);

}  // namespace hearth::server
