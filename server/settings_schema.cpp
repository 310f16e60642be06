#include "server/settings_schema.h"

#include <google/protobuf/reflection.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace hearth::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

std::vector<SettingField> ReadSchema() {
  std::vector<SettingField> fields;
  const google::protobuf::Descriptor& message = *config::Settings::descriptor();
  std::string group;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    const config::Setting& setting = field->options().GetExtension(config::setting);
    if (setting.has_group()) group = setting.group();
    const std::string flag = FlagNamed(field->name());
    std::vector<std::string> flags = {flag};
    for (const std::string& alias : setting.alias()) flags.push_back(FlagNamed(alias));
    fields.push_back({field, &setting, group, flag, std::move(flags)});
  }
  return fields;
}

absl::Status Wrong(const std::string& text, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not ", expected));
}

// 268435456 as "256 MiB".
std::string BytesAsText(int64_t bytes) {
  constexpr const char* kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kUnits[unit]);
}

template <typename Number>
absl::StatusOr<Number> IntegerFromText(const std::string& text) {
  Number number = 0;
  if (!absl::SimpleAtoi(text, &number)) return Wrong(text, "a number");
  return number;
}

absl::StatusOr<double> DoubleFromText(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return Wrong(text, "a number");
  return number;
}

}  // namespace

const std::vector<SettingField>& Fields() {
  static const std::vector<SettingField>& fields = *new std::vector<SettingField>(ReadSchema());
  return fields;
}

const SettingField* FindField(std::string_view name) {
  const auto found =
      std::ranges::find_if(Fields(), [&](const SettingField& field) { return field.field->name() == name; });
  return found == Fields().end() ? nullptr : &*found;
}

std::string FlagNamed(const std::string& name) { return absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}})); }

absl::StatusOr<int64_t> BytesFromText(const std::string& text) {
  static const CLI::AsSizeValue read_size(/*kb_is_1000=*/false);
  std::string number = text;
  int64_t bytes = 0;
  // CLI11 takes "-1", and a unit alone.
  bool read = !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()));
  try {
    read = read && read_size(number).empty() && absl::SimpleAtoi(number, &bytes);
  } catch (const CLI::Error&) {
    read = false;
  }
  if (!read) return Wrong(text, "a size: 1048576, 500MB, 2GiB");
  return bytes;
}

absl::StatusOr<bool> BoolFromText(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "on" || lower == "1") return true;
  if (lower == "false" || lower == "off" || lower == "0") return false;
  return Wrong(text, "true or false");
}

absl::Status SetFromText(const SettingField& field, const std::string& text, config::Settings& settings) {
  const Reflection& reflection = *settings.GetReflection();
  // Hands on a value that was read, or why it could not be.
  const auto set = [&](const auto& value, auto setter) {
    if (value.ok()) (reflection.*setter)(&settings, field.field, *value);
    return value.status();
  };
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return set(BoolFromText(text), &Reflection::SetBool);
    case FieldDescriptor::CPPTYPE_INT32:
      return set(IntegerFromText<int32_t>(text), &Reflection::SetInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return set(field.setting->unit() == config::BYTES ? BytesFromText(text) : IntegerFromText<int64_t>(text),
                 &Reflection::SetInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set(DoubleFromText(text), &Reflection::SetDouble);
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.field->is_repeated()) {
        reflection.AddString(&settings, field.field, text);
      } else {
        reflection.SetString(&settings, field.field, text);
      }
      return absl::OkStatus();
    default:
      return absl::InternalError(absl::StrCat("settings of type ", field.field->type_name(), " are not read"));
  }
}

std::string ValueName(const SettingField& field) {
  if (field.setting->has_value()) return field.setting->value();
  if (!field.setting->choice().empty()) return absl::StrJoin(field.setting->choice(), "|");
  switch (field.setting->unit()) {
    case config::BYTES:
      return "SIZE";
    case config::SECONDS:
      return "SECONDS";
    case config::MILLISECONDS:
      return "MILLISECONDS";
    case config::NONE:
      break;
  }
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "on|off";
    case FieldDescriptor::CPPTYPE_STRING:
      return "TEXT";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "X";
    default:
      return "N";
  }
}

std::string TextOf(const SettingField& field, const config::Settings& settings) {
  if (field.setting->has_default_text() && !IsSet(field, settings)) return "";
  const Reflection& reflection = *settings.GetReflection();
  if (field.field->is_repeated()) {
    const auto values = reflection.GetRepeatedFieldRef<std::string>(settings, field.field);
    return values.empty() ? "" : absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  }
  switch (field.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(settings, field.field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(settings, field.field));
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t number = reflection.GetInt64(settings, field.field);
      return field.setting->unit() == config::BYTES ? BytesAsText(number) : absl::StrCat(number);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(reflection.GetDouble(settings, field.field));
    default:
      return reflection.GetString(settings, field.field);
  }
}

std::string PublicTextOf(const SettingField& field, const config::Settings& settings) {
  return field.setting->secret() && IsSet(field, settings) ? "(hidden)" : TextOf(field, settings);
}

bool IsSet(const SettingField& field, const config::Settings& settings) {
  const Reflection& reflection = *settings.GetReflection();
  return field.field->is_repeated() ? reflection.FieldSize(settings, field.field) > 0
                                    : reflection.HasField(settings, field.field);
}

}  // namespace hearth::server
