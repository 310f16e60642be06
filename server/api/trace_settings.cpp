#include "server/api/trace_settings.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

struct Setting {
  const char* name;
  const char* value;  // Triton's default
};
constexpr Setting kSettings[] = {{"trace_level", "OFF"}, {"trace_rate", "1000"}, {"trace_count", "-1"},
                                 {"log_frequency", "0"}, {"trace_file", ""},     {"trace_mode", "triton"}};

}  // namespace

absl::Status AnswerTraceSettings(const inference::TraceSettingRequest& request,
                                 inference::TraceSettingResponse& response) {
  for (const auto& [name, setting] : request.settings()) {
    const auto* known = std::ranges::find_if(kSettings, [&](const Setting& one) { return name == one.name; });
    if (known == std::end(kSettings)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no trace setting '", name, "'"));
    }
    for (const std::string& value : setting.value()) {
      if (value == known->value) continue;
      return absl::UnimplementedError(absl::StrCat("this server does not trace requests: ", name, " stays '",
                                                   known->value, "' and cannot be '", value, "'"));
    }
  }
  for (const Setting& setting : kSettings) {
    (*response.mutable_settings())[setting.name].add_value(setting.value);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
