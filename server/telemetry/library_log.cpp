#include "server/telemetry/library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "jit/support/logging.h"

namespace hearth::server {
namespace {

void WriteGrpcLine(gpr_log_func_args* line) {
  static spdlog::logger& log = LoggerOf("grpc");
  log.debug("{}", line->message);
}

void WriteProtobufLine(google::protobuf::LogLevel level, const char* /*file*/, int /*line*/,
                       const std::string& message) {
  static spdlog::logger& log = LoggerOf("protobuf");
  // It ends the process behind that.
  const bool fatal = level == google::protobuf::LOGLEVEL_FATAL;
  log.log(fatal ? spdlog::level::critical : spdlog::level::debug, "{}", message);
}

}  // namespace

void TakeLibraryLogs() {
  gpr_set_log_function(WriteGrpcLine);
  google::protobuf::SetLogHandler(WriteProtobufLine);
}

}  // namespace hearth::server
