// The settings as proto/settings.proto describes them: which there are, how a value is read from text and written as
// text. What reads flags, files and pages goes over Fields() and has no list of its own. Everything here is
// thread-safe.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/settings.pb.h"

namespace hearth::server {

// One setting. Lives as long as the process.
struct SettingField {
  const google::protobuf::FieldDescriptor* field;
  const config::Setting* setting;
  std::string group;
  std::string flag;                // "--max-plans"
  std::vector<std::string> flags;  // that one, then its aliases
};

// All of them, in the order of the file.
const std::vector<SettingField>& Fields();
// Null if there is none of that name ("max_plans").
const SettingField* FindField(std::string_view name);

// "max_plans" as "--max-plans".
std::string FlagNamed(const std::string& name);

// "500MB", "2GiB", "1024": the number of bytes; KB and KiB alike are 1024. kInvalidArgument for anything else.
absl::StatusOr<int64_t> BytesFromText(const std::string& text);
// true, on, 1, false, off, 0 in any case of letters.
absl::StatusOr<bool> BoolFromText(const std::string& text);

// Sets a setting to a value as a flag has it, or adds it to one that may be given more than once. kInvalidArgument,
// without the setting's name, if that is no value of its type. Bounds and choices are not looked at (CompleteSettings).
absl::Status SetFromText(const SettingField& field, const std::string& text, config::Settings& settings);

// What to call its value in a flag's description: "DIR", "SIZE", "on|off".
std::string ValueName(const SettingField& field);

// The value that `settings` has, its default included: "8001", "256 MiB", "[a, b]"; empty for an empty string or list,
// and for one whose default is computed and that is not set.
std::string TextOf(const SettingField& field, const config::Settings& settings);

// The same for people and logs: "(hidden)" for a secret that is set.
std::string PublicTextOf(const SettingField& field, const config::Settings& settings);

// Whether it was set, by a flag or a file.
bool IsSet(const SettingField& field, const config::Settings& settings);

}  // namespace hearth::server
