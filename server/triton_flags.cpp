#include "server/triton_flags.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using google::protobuf::FieldDescriptor;

std::vector<TritonFlag> ReadFlags() {
  std::vector<TritonFlag> flags;
  const google::protobuf::Descriptor& message = *config::TritonFlags::descriptor();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    flags.push_back({FlagNamed(field->name()), field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL,
                     &field->options().GetExtension(config::foreign)});
  }
  return flags;
}

}  // namespace

const std::vector<TritonFlag>& TritonFlags() {
  static const std::vector<TritonFlag>& flags = *new std::vector<TritonFlag>(ReadFlags());
  return flags;
}

absl::StatusOr<std::string> JudgeTritonFlag(const TritonFlag& flag, const std::string& value) {
  if (flag.is_switch) {
    const auto on = BoolFromText(value);
    if (!on.ok()) return absl::InvalidArgumentError(absl::StrCat(flag.flag, ": ", std::string(on.status().message())));
    if (flag.meaning->refused() && !*on) return std::string();
  }
  if (flag.meaning->refused()) {
    return absl::InvalidArgumentError(absl::StrCat(flag.flag, " is not offered: ", flag.meaning->why()));
  }
  return absl::StrCat(flag.flag, " has no effect: ", flag.meaning->why());
}

std::string TritonFlagsTable() {
  std::string table = "| flag | here |\n|---|---|\n";
  for (const TritonFlag& flag : TritonFlags()) {
    const char* fate = !flag.meaning->refused() ? "no effect" : flag.is_switch ? "refused, unless off" : "refused";
    absl::StrAppend(&table, "| `", flag.flag, "` | ", fate, ": ", flag.meaning->why(), " |\n");
  }
  return table;
}

}  // namespace hearth::server
