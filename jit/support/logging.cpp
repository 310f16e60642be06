#include "jit/support/logging.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "jit/support/text.h"

namespace hearth {
namespace {

// Levels by name; the empty name holds the level of everything that has none of its own.
using Levels = std::map<std::string, spdlog::level::level_enum, std::less<>>;

spdlog::level::level_enum LevelNamed(std::string_view name) {
  // spdlog's own from_str takes an unknown name for "off", which would hide a typing mistake.
  static const Levels kNames = {{"trace", spdlog::level::trace}, {"debug", spdlog::level::debug},
                                {"info", spdlog::level::info},   {"warn", spdlog::level::warn},
                                {"error", spdlog::level::err},   {"critical", spdlog::level::critical},
                                {"off", spdlog::level::off}};
  auto found = kNames.find(name);
  if (found == kNames.end()) {
    throw std::invalid_argument("\"" + std::string(name) +
                                "\" is no log level: expected trace, debug, info, warn, error, critical or off");
  }
  return found->second;
}

Levels ParseLevels(std::string_view text) {
  Levels levels = {{"", spdlog::level::info}};
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      levels[""] = LevelNamed(item);
    } else {
      levels[std::string(item.substr(0, equals))] = LevelNamed(item.substr(equals + 1));
    }
  }
  return levels;
}

spdlog::level::level_enum LevelOf(std::string_view logger, const Levels& levels) {
  for (;;) {
    auto found = levels.find(logger);
    if (found != levels.end()) return found->second;
    const size_t slash = logger.rfind('/');
    logger = slash == std::string_view::npos ? std::string_view() : logger.substr(0, slash);
  }
}

// What a message of one line of the log may take; a model's traceback is mostly shorter.
constexpr size_t kMostOfMessage = 16 << 10;

// The message, which may hold what came from outside.
class SafeMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = ForLog({message.payload.data(), message.payload.size()}, kMostOfMessage);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SafeMessage>(); }
};

class Loggers {
 public:
  Loggers() : stderr_(std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    SetSink(nullptr);
    const char* wanted = std::getenv("HEARTH_LOG");
    try {
      levels_ = ParseLevels(wanted ? wanted : "");
    } catch (const std::invalid_argument& error) {
      levels_ = ParseLevels("");
      spdlog::logger("support/logging", sinks_).warn("HEARTH_LOG is not used: {}", error.what());
    }
  }

  spdlog::logger& Get(const std::string& name) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<spdlog::logger>& logger = loggers_[name];
    if (!logger) {
      logger = std::make_unique<spdlog::logger>(name, sinks_);
      logger->set_level(LevelOf(name, levels_));
      logger->flush_on(spdlog::level::warn);
    }
    return *logger;
  }

  void SetLevels(Levels levels) {
    std::lock_guard lock(mutex_);
    levels_ = std::move(levels);
    for (auto& [name, logger] : loggers_) logger->set_level(LevelOf(name, levels_));
  }

  void SetSink(std::shared_ptr<spdlog::sinks::sink> sink) {
    if (!sink) {
      sink = stderr_;
      auto formatter = std::make_unique<spdlog::pattern_formatter>();
      formatter->add_flag<SafeMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %L %n: %*");
      sink->set_formatter(std::move(formatter));
    }
    sinks_->set_sinks({std::move(sink)});
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<spdlog::sinks::sink> stderr_;
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks_ = std::make_shared<spdlog::sinks::dist_sink_mt>();
  Levels levels_;
  std::map<std::string, std::unique_ptr<spdlog::logger>> loggers_;
};

// Never destroyed: threads may log while the process exits.
Loggers& TheLoggers() {
  static Loggers* loggers = new Loggers;
  return *loggers;
}

}  // namespace

spdlog::logger& LoggerOf(const std::string& name) { return TheLoggers().Get(name); }

void SetLogLevels(std::string_view levels) { TheLoggers().SetLevels(ParseLevels(levels)); }

void SetLogSink(std::shared_ptr<spdlog::sinks::sink> sink) { TheLoggers().SetSink(std::move(sink)); }

}  // namespace hearth
