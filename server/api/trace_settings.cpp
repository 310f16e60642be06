#include "server/api/trace_settings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

constexpr int64_t kUsualRate = 1000;

// Where nothing is traced.
struct Setting {
  const char* name;
  const char* value;  // Triton's default
};
constexpr Setting kSettings[] = {{"trace_level", "OFF"}, {"trace_rate", "1000"}, {"trace_count", "-1"},
                                 {"log_frequency", "0"}, {"trace_file", ""},     {"trace_mode", "triton"}};

// Of a number of at least `least`; the default where no value is given.
absl::Status ReadNumber(const std::string& name, const inference::TraceSettingRequest::SettingValue& setting,
                        int64_t least, int64_t usual, int64_t& number) {
  if (setting.value().empty()) {
    number = usual;
    return absl::OkStatus();
  }
  int64_t given = 0;
  if (setting.value_size() == 1 && absl::SimpleAtoi(setting.value(0), &given) && given >= least) {
    number = given;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " is a whole number of at least ", least));
}

absl::Status ReadLevel(const inference::TraceSettingRequest::SettingValue& setting, bool& on) {
  for (const std::string& level : setting.value()) {
    if (level == "TENSORS") return absl::UnimplementedError("traces have no tensors: trace_level is OFF or TIMESTAMPS");
    if (level != "OFF" && level != "TIMESTAMPS") {
      return absl::InvalidArgumentError(absl::StrCat("trace_level is OFF or TIMESTAMPS, not '", level, "'"));
    }
  }
  on = setting.value().empty() || setting.value(0) != "OFF";
  return absl::OkStatus();
}

// How it is told, by its name.
std::map<std::string, std::string> TextsOf(const Tracer::Settings& settings) {
  return {{"trace_level", settings.on ? "TIMESTAMPS" : "OFF"},
          {"trace_rate", absl::StrCat(settings.rate)},
          {"trace_count", absl::StrCat(settings.count)},
          {"log_frequency", "0"},
          {"trace_file", ""},
          {"trace_mode", "opentelemetry"}};
}

absl::Status Update(const inference::TraceSettingRequest& request, Tracer::Settings& settings) {
  if (!request.settings().empty() && !request.model_name().empty()) {
    return absl::UnimplementedError("traces have the same settings for all models");
  }
  const auto texts = TextsOf(settings);
  for (const auto& [name, setting] : request.settings()) {
    absl::Status status;
    const auto text = texts.find(name);
    if (text == texts.end()) {
      status = absl::InvalidArgumentError(absl::StrCat("there is no trace setting '", name, "'"));
    } else if (name == "trace_level") {
      status = ReadLevel(setting, settings.on);
    } else if (name == "trace_rate") {
      status = ReadNumber(name, setting, 0, kUsualRate, settings.rate);
    } else if (name == "trace_count") {
      status = ReadNumber(name, setting, -1, -1, settings.count);
    } else if (!setting.value().empty() && (setting.value_size() > 1 || setting.value(0) != text->second)) {
      status = absl::UnimplementedError(absl::StrCat(name, " stays '", text->second, "'"));
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status AnswerOf(Tracer& tracer, const inference::TraceSettingRequest& request,
                      inference::TraceSettingResponse& response) {
  Tracer::Settings settings = tracer.settings();
  if (absl::Status status = Update(request, settings); !status.ok()) return status;
  if (!request.settings().empty()) tracer.set_settings(settings);
  for (const auto& [name, text] : TextsOf(settings)) (*response.mutable_settings())[name].add_value(text);
  return absl::OkStatus();
}

}  // namespace

absl::Status AnswerTraceSettings(const inference::TraceSettingRequest& request,
                                 inference::TraceSettingResponse& response, Tracer* tracer) {
  if (tracer != nullptr) return AnswerOf(*tracer, request, response);
  for (const auto& [name, setting] : request.settings()) {
    const auto* known = std::ranges::find_if(kSettings, [&](const Setting& one) { return name == one.name; });
    if (known == std::end(kSettings)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no trace setting '", name, "'"));
    }
    for (const std::string& value : setting.value()) {
      if (value == known->value) continue;
      return absl::UnimplementedError(absl::StrCat("this server does not trace requests (--trace-endpoint): ", name,
                                                   " stays '", known->value, "' and cannot be '", value, "'"));
    }
  }
  for (const Setting& setting : kSettings) {
    (*response.mutable_settings())[setting.name].add_value(setting.value);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
