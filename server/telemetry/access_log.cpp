#include "server/telemetry/access_log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/telemetry/reopenable_file.h"

namespace hearth::server {

namespace {

absl::Status CannotOpenAccessLog(const std::string& place, const spdlog::spdlog_ex& error) {
  return absl::InvalidArgumentError(absl::StrCat("cannot open the access log ", place, ": ", error.what()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessLog>> AccessLog::Open(const std::string& place) {
  std::shared_ptr<ReopenableFile> file;
  spdlog::sink_ptr sink;
  try {
    if (place == "-") {
      sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    } else {
      sink = file = std::make_shared<ReopenableFile>(place);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return CannotOpenAccessLog(place, error);
  }
  auto logger = std::make_shared<spdlog::logger>("access", std::move(sink));
  logger->flush_on(place == "-" ? spdlog::level::info : spdlog::level::off);
  // Registers the logger, which is what the periodic flush goes through, and would give it the default pattern.
  spdlog::drop("access");
  spdlog::initialize_logger(logger);
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::info);
  spdlog::flush_every(std::chrono::seconds(1));
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(logger), std::move(file)));
}

void AccessLog::Write(const AccessRecord& record) { logger_->info("{}", FormatAccessRecord(record)); }

absl::Status AccessLog::Reopen() {
  if (file_ == nullptr) return absl::OkStatus();
  try {
    file_->Reopen();
  } catch (const spdlog::spdlog_ex& error) {
    return CannotOpenAccessLog(file_->place(), error);
  }
  return absl::OkStatus();
}

void AccessLog::Flush() { logger_->flush(); }

std::string FormatAccessRecord(const AccessRecord& record) {
  const auto microseconds = [](std::chrono::nanoseconds time) { return time.count() / 1000; };
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::ordered_json line;
  line["time_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  line["peer"] = record.peer;
  line["model"] = record.model;
  line["version"] = record.version;
  if (!record.id.empty()) line["id"] = record.id;
  if (!record.trace_id.empty()) line["trace_id"] = record.trace_id;
  line["code"] = absl::StatusCodeToString(record.status.code());
  if (!record.status.ok()) line["message"] = std::string(record.status.message());
  line["total_us"] = microseconds(record.times.total);
  line["queue_us"] = microseconds(record.times.queue);
  line["input_us"] = microseconds(record.times.compute_input);
  line["infer_us"] = microseconds(record.times.compute_infer);
  line["output_us"] = microseconds(record.times.compute_output);
  if (record.tier) line["tier"] = *record.tier;
  line["request_bytes"] = record.request_bytes;
  line["response_bytes"] = record.response_bytes;
  // Names and messages may hold any bytes.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hearth::server
