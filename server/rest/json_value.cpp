#include "server/rest/json_value.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/rest/json_text.h"

namespace hearth::server {
namespace {

class TreeEvents {
 public:
  bool Null() { return Add({}) != nullptr; }
  bool Bool(bool value) { return Add({.kind = JsonValue::Kind::kBool, .boolean = value}) != nullptr; }
  bool Number(std::string_view text) {
    return Add({.kind = JsonValue::Kind::kNumber, .text = std::string(text)}) != nullptr;
  }
  bool String(std::string_view text) {
    return Add({.kind = JsonValue::Kind::kString, .text = std::string(text)}) != nullptr;
  }
  bool Key(std::string_view name) {
    key_ = name;
    return true;
  }
  bool StartObject() { return Open({.kind = JsonValue::Kind::kObject}); }
  bool EndObject() { return Close(); }
  bool StartArray(size_t) { return Open({.kind = JsonValue::Kind::kArray}); }
  bool EndArray(size_t) { return Close(); }

  JsonValue Take() { return std::move(root_); }

 private:
  // Null if there are too many.
  JsonValue* Add(JsonValue value) {
    if (++count_ > kMostJsonValues) return nullptr;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::kArray) return &parent.elements.emplace_back(std::move(value));
    return &parent.members.emplace_back(key_, std::move(value)).second;
  }

  bool Open(JsonValue value) {
    JsonValue* const added = Add(std::move(value));
    // What is open stays where it is: only the innermost grows.
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
  int count_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &std::pair<std::string, JsonValue>::first);
  return found == members.end() ? nullptr : &found->second;
}

absl::StatusOr<JsonValue> ParseJsonValue(std::string_view text) {
  if (text.empty()) return JsonValue{.kind = JsonValue::Kind::kObject};
  TreeEvents events;
  const absl::Status status = ReadJson(text, events);
  if (status.ok()) return events.Take();
  return absl::InvalidArgumentError(absl::StrCat(
      "the request's body ", absl::IsCancelled(status) ? absl::StrCat("has more than ", kMostJsonValues, " values")
                                                       : std::string(status.message())));
}

absl::Status WrongField(std::string_view field, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(field), "' should be ", std::string(expected)));
}

}  // namespace hearth::server
