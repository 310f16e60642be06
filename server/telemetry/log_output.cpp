#include "server/telemetry/log_output.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/text.h"
#include "server/telemetry/reopenable_file.h"

namespace hearth::server {
namespace {

// As the log of standard error has it (jit/support/logging.cpp).
constexpr size_t kMostOfMessage = 16 << 10;

std::string MessageOf(const spdlog::details::log_msg& message) {
  return ForLog({message.payload.data(), message.payload.size()}, kMostOfMessage);
}

// The message, which may hold what came from outside.
class SafeMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = MessageOf(message);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SafeMessage>(); }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json line;
    line["time"] = std::string(time.data(), time.size());
    line["level"] = std::string(level.data(), level.size());
    line["logger"] = std::string(message.logger_name.data(), message.logger_name.size());
    line["message"] = MessageOf(message);
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc, ""};
};

std::unique_ptr<spdlog::formatter> FormatterOf(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  const bool utc = format == LogFormat::kIso8601;
  const auto zone = utc ? spdlog::pattern_time_type::utc : spdlog::pattern_time_type::local;
  auto formatter = std::make_unique<spdlog::pattern_formatter>(zone);
  formatter->add_flag<SafeMessage>('*').set_pattern(utc ? "%Y-%m-%dT%H:%M:%SZ %L %n: %*"
                                                        : "%Y-%m-%dT%H:%M:%S.%e%z %L %n: %*");
  return formatter;
}

absl::Status CannotOpenLogFile(const std::string& file, const spdlog::spdlog_ex& error) {
  return absl::InvalidArgumentError(absl::StrCat("cannot open the log file ", file, ": ", error.what()));
}

// Writes each line at once: few lines are logged, and they are wanted where a process ends.
class LogFile final : public ReopenableFile {
 public:
  using ReopenableFile::ReopenableFile;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    ReopenableFile::sink_it_(message);
    flush_();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<LogOutput>> LogOutput::Open(const std::string& file, LogFormat format) {
  std::shared_ptr<ReopenableFile> opened;
  std::shared_ptr<spdlog::sinks::sink> sink;
  try {
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = opened = std::make_shared<LogFile>(file);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return CannotOpenLogFile(file, error);
  }
  sink->set_formatter(FormatterOf(format));
  SetLogSink(std::move(sink));
  return std::unique_ptr<LogOutput>(new LogOutput(std::move(opened)));
}

LogOutput::~LogOutput() { SetLogSink(nullptr); }

absl::Status LogOutput::Reopen() {
  if (file_ == nullptr) return absl::OkStatus();
  try {
    file_->Reopen();
  } catch (const spdlog::spdlog_ex& error) {
    return CannotOpenLogFile(file_->place(), error);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
