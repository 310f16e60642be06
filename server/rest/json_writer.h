// Writes JSON to a string that counts for the memory account on the thread.
#pragma once

#include <rapidjson/writer.h>

#include <string>
#include <string_view>

namespace hearth::server {

// RapidJSON's output stream over a string.
struct JsonText {
  using Ch = char;
  void Put(char c) { text += c; }
  void Flush() {}

  std::string text;
};

// NaN and infinities are written as NaN, Infinity and -Infinity.
using JsonWriter = rapidjson::Writer<JsonText, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                                     rapidjson::kWriteNanAndInfFlag>;

inline void WriteText(JsonWriter& writer, std::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

inline void WriteKey(JsonWriter& writer, std::string_view name) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

// {"error": message}
inline std::string ErrorJson(std::string_view message) {
  JsonText out;
  JsonWriter writer(out);
  writer.StartObject();
  WriteKey(writer, "error");
  WriteText(writer, message);
  writer.EndObject();
  return std::move(out.text);
}

}  // namespace hearth::server
