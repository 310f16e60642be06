// A small JSON text as a tree, for requests that carry a few fields. Bounded in values and depth, whatever its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::server {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  // The first member of that name; null if there is none, or this is no object.
  const JsonValue* Find(std::string_view name) const;

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text = {};  // of a string, and of a number as it is written
  std::vector<JsonValue> elements = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};
};

inline constexpr int kMostJsonValues = 4096;

// kInvalidArgument for what is no JSON or holds more than kMostJsonValues values. An empty text is an empty object, as
// Triton takes it.
absl::StatusOr<JsonValue> ParseJsonValue(std::string_view text);

// kInvalidArgument: "'FIELD' should be ", and what was expected.
absl::Status WrongField(std::string_view field, std::string_view expected);

}  // namespace hearth::server
