#include "server/telemetry/access_log.h"

#include <spdlog/details/file_helper.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {

// Appends to a file. Throws spdlog_ex where that cannot be opened.
class AccessLog::File : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit File(std::string place) : place_(std::move(place)), file_(OpenFile()) {}

  const std::string& place() const { return place_; }

  void Reopen() {
    std::unique_ptr<spdlog::details::file_helper> file = OpenFile();
    std::lock_guard lock(mutex_);
    file_.swap(file);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    file_->write(formatted);
  }
  void flush_() override { file_->flush(); }

 private:
  std::unique_ptr<spdlog::details::file_helper> OpenFile() const {
    auto file = std::make_unique<spdlog::details::file_helper>();
    file->open(place_);
    return file;
  }

  const std::string place_;
  std::unique_ptr<spdlog::details::file_helper> file_;
};

namespace {

absl::Status CannotOpen(const std::string& place, const spdlog::spdlog_ex& error) {
  return absl::InvalidArgumentError(absl::StrCat("cannot open the access log ", place, ": ", error.what()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessLog>> AccessLog::Open(const std::string& place) {
  std::shared_ptr<File> file;
  spdlog::sink_ptr sink;
  try {
    if (place == "-") {
      sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    } else {
      sink = file = std::make_shared<File>(place);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return CannotOpen(place, error);
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
    return CannotOpen(file_->place(), error);
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
  line["code"] = absl::StatusCodeToString(record.status.code());
  if (!record.status.ok()) line["message"] = std::string(record.status.message());
  line["total_us"] = microseconds(record.times.total);
  line["queue_us"] = microseconds(record.times.queue);
  line["input_us"] = microseconds(record.times.compute_input);
  line["infer_us"] = microseconds(record.times.compute_infer);
  line["output_us"] = microseconds(record.times.compute_output);
  line["request_bytes"] = record.request_bytes;
  line["response_bytes"] = record.response_bytes;
  // Names and messages may hold any bytes.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hearth::server
