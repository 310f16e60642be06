// Writes JSON to a string that counts for the memory account on the thread.
#pragma once

#include <rapidjson/writer.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::server {

// RapidJSON's output stream over a string, which has room for more than was written: the writer gives single
// characters.
class JsonText {
 public:
  using Ch = char;

  explicit JsonText(size_t room = 256) : text_(std::max<size_t>(room, 1), '\0') {}

  void Put(char c) {
    if (size_ == text_.size()) text_.resize(2 * size_);
    text_[size_++] = c;
  }
  void Flush() {}
  void Append(std::string_view text) {
    if (text_.size() - size_ < text.size()) text_.resize(std::max(2 * text_.size(), size_ + text.size()));
    text.copy(text_.data() + size_, text.size());
    size_ += text.size();
  }

  size_t size() const { return size_; }
  // What was written. Nothing may be written afterwards.
  std::string Take() {
    text_.resize(size_);
    return std::move(text_);
  }

 private:
  std::string text_;
  size_t size_ = 0;
};

// NaN and infinities are written as NaN, Infinity and -Infinity.
using JsonWriter = rapidjson::Writer<JsonText, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                                     rapidjson::kWriteNanAndInfFlag>;

}  // namespace hearth::server

namespace rapidjson {

// What the writer calls before it looks at each character: takes all that need no escape, up to the first that does.
// False at the end of the text.
template <>
inline bool hearth::server::JsonWriter::ScanWriteUnescapedString(StringStream& text, size_t size) {
  const char* const end = text.head_ + size;
  const char* const escaped = std::find_if(
      text.src_, end, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
  os_->Append({text.src_, static_cast<size_t>(escaped - text.src_)});
  text.src_ = escaped;
  return escaped != end;
}

}  // namespace rapidjson

namespace hearth::server {

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
  return out.Take();
}

}  // namespace hearth::server
