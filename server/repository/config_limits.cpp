#include "server/repository/config_limits.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/support/text.h"

namespace hearth::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Sizes, where -1 is any, and what has a meaning of its own below 0. What is wrong with a size is said where sizes are
// looked at (model_config.cpp).
constexpr absl::string_view kMayBeNegative[] = {"dims", "dim", "shape", "level", "model_version"};

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool IsSize(const FieldDescriptor& field) {
  return field.name() == "dims" || field.name() == "dim" || field.name() == "shape";
}

bool IsName(const FieldDescriptor& field) {
  return field.name() == "name" || field.containing_type()->map_key() == &field;
}

absl::Status CheckEnum(const FieldDescriptor& field, int number, const std::string& path) {
  if (field.enum_type()->FindValueByNumber(number) != nullptr) return absl::OkStatus();
  return Wrong(path, " is ", number, ", which is no ", field.enum_type()->name());
}

absl::Status CheckNumber(const FieldDescriptor& field, int64_t number, const std::string& path) {
  if (number >= 0 || std::ranges::find(kMayBeNegative, field.name()) != std::end(kMayBeNegative)) {
    return absl::OkStatus();
  }
  return Wrong(path, " is ", number, "; it cannot be below 0");
}

absl::Status CheckString(const FieldDescriptor& field, const std::string& text, const std::string& path) {
  if (IsName(field) && text.size() > kLongestConfigName) {
    return Wrong(path, " has ", text.size(), " bytes; it may have ", kLongestConfigName);
  }
  if (!IsUtf8(text)) {
    return Wrong(path, " is not UTF-8");
  }
  return absl::OkStatus();
}

absl::Status CheckMessage(const Message& message, const std::string& path);

absl::Status CheckSingle(const Message& message, const FieldDescriptor& field, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return CheckEnum(field, reflection.GetEnumValue(message, &field), path);
    case FieldDescriptor::CPPTYPE_INT32:
      return CheckNumber(field, reflection.GetInt32(message, &field), path);
    case FieldDescriptor::CPPTYPE_INT64:
      return CheckNumber(field, reflection.GetInt64(message, &field), path);
    case FieldDescriptor::CPPTYPE_STRING:
      return CheckString(field, reflection.GetString(message, &field), path);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return CheckMessage(reflection.GetMessage(message, &field), path);
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckEntry(const Message& message, const FieldDescriptor& field, int index, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return CheckEnum(field, reflection.GetRepeatedEnumValue(message, &field, index), path);
    case FieldDescriptor::CPPTYPE_INT32:
      return CheckNumber(field, reflection.GetRepeatedInt32(message, &field, index), path);
    case FieldDescriptor::CPPTYPE_INT64:
      return CheckNumber(field, reflection.GetRepeatedInt64(message, &field, index), path);
    case FieldDescriptor::CPPTYPE_STRING:
      return CheckString(field, reflection.GetRepeatedString(message, &field, index), path);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return CheckMessage(reflection.GetRepeatedMessage(message, &field, index), path);
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckMessage(const Message& message, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string place = absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (!field->is_repeated()) {
      if (absl::Status status = CheckSingle(message, *field, place); !status.ok()) return status;
      continue;
    }
    const int entries = reflection.FieldSize(message, field);
    const int most = IsSize(*field) ? kHighestRank : kMostConfigEntries;
    if (entries > most) return Wrong(place, " has ", entries, " entries; it may have ", most);
    for (int i = 0; i < entries; ++i) {
      absl::Status status = CheckEntry(message, *field, i, absl::StrCat(place, "[", i, "]"));
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConfigText(absl::string_view text, const std::string& what) {
  if (text.size() <= kMostConfigBytes) return absl::OkStatus();
  return Wrong(what, " has more than ", kMostConfigBytes, " bytes");
}

absl::Status CheckConfigLimits(const inference::ModelConfig& config) { return CheckMessage(config, ""); }

}  // namespace hearth::server
