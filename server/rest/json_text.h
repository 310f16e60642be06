// Reads JSON (RFC 8259) as a stream of events, over RapidJSON's reader: nothing is kept of what has been read, so
// memory does not grow with the text. Beyond the standard, NaN, Infinity and -Infinity are numbers, as clients in
// Python write them.
//
// Numbers are handed over as they are written. The reader's own conversion is not used: it would lose digits of what is
// no double, and Debian 12's RapidJSON reads out of bounds where an exponent is small enough (CVE-2024-38517).
#pragma once

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stream.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "wire/conversion_check.h"

namespace hearth::server {

// Levels of arrays and objects.
inline constexpr int kDeepestJson = 100;

namespace json_internal {

// What the reader keeps (one string or number) counts for the memory account on the thread, as all that operator new
// gives.
struct CountedAllocator {
  static constexpr bool kNeedFree = true;
  void* Malloc(size_t size) { return size == 0 ? nullptr : ::operator new(size); }
  void* Realloc(void* old, size_t old_size, size_t size) {
    void* made = Malloc(size);
    if (old != nullptr && made != nullptr) std::memcpy(made, old, old_size < size ? old_size : size);
    Free(old);
    return made;
  }
  static void Free(void* memory) { ::operator delete(memory); }
};

// RapidJSON's handler over ours.
template <typename Events, typename Stream>
class Handler {
 public:
  Handler(Events& events, Stream& stream) : events_(events), stream_(stream) {}

  bool too_deep() const { return depth_ > kDeepestJson; }
  bool is_no_text() const { return is_no_text_; }

  bool Null() { return Count(), events_.Null(); }
  bool Bool(bool value) { return Count(), events_.Bool(value); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return Count(), events_.Number({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return Count(), IsText({text, size}) && events_.String({text, size});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    return IsText({text, size}) && events_.Key({text, size});
  }
  bool StartObject() { return Count(), ++depth_ <= kDeepestJson && events_.StartObject(); }
  bool EndObject(rapidjson::SizeType) { return --depth_, events_.EndObject(); }
  bool StartArray() { return Count(), ++depth_ <= kDeepestJson && events_.StartArray(stream_.Tell() - 1); }
  bool EndArray(rapidjson::SizeType) { return --depth_, events_.EndArray(stream_.Tell()); }

  // Never called: numbers come as they are written.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  Events& events_;
  void Count() { CheckConversionAt(++values_); }
  // The reader's own check lets half of a surrogate pair ("\udc00") pass, which is no character.
  bool IsText(std::string_view text) {
    is_no_text_ = !IsUtf8(text);
    return !is_no_text_;
  }

  Stream& stream_;  // its Tell lacks const in some
  int depth_ = 0;
  size_t values_ = 0;
  bool is_no_text_ = false;
};

template <unsigned kFlags, typename Events, typename Stream>
absl::Status Read(Stream stream, size_t size, Events& events) {
  constexpr unsigned kAllFlags = kFlags | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  Handler<Events, Stream> handler(events, stream);
  CountedAllocator allocator;
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, CountedAllocator> reader(&allocator);
  const rapidjson::ParseResult result = reader.Parse<kAllFlags>(stream, handler);
  if (handler.too_deep()) {
    return absl::InvalidArgumentError(absl::StrCat("nests deeper than ", kDeepestJson, " levels"));
  }
  if (handler.is_no_text()) {
    return absl::InvalidArgumentError(absl::StrCat("is no JSON at byte ", stream.Tell(), ": a string is not UTF-8"));
  }
  if (result.Code() == rapidjson::kParseErrorTermination) return absl::CancelledError();
  if (result.IsError()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is no JSON at byte ", result.Offset(), ": ", rapidjson::GetParseError_En(result.Code())));
  }
  // The reader takes a zero byte for the end of the text.
  if (stream.Tell() != size) {
    return absl::InvalidArgumentError(absl::StrCat("is no JSON at byte ", stream.Tell(), ": a zero byte"));
  }
  return absl::OkStatus();
}

// A text of so many bytes is copied and read where the copy lies, which is faster than to copy each of its strings.
inline constexpr size_t kMostCopied = 1024;

}  // namespace json_internal

// Hands what `text` holds, one value, to `events`:
//
//   bool Null(), Bool(bool), Number(std::string_view), String(std::string_view), Key(std::string_view),
//        StartObject(), EndObject(), StartArray(size_t begin), EndArray(size_t end)
//
// where an array's text is [begin, end) and views last until the call returns. An event that returns false ends the
// reading. kInvalidArgument for what is no JSON, is not UTF-8 or nests deeper than kDeepestJson; kCancelled if an event
// returned false, for the caller to say why. Throws what CheckConversion does.
template <typename Events>
absl::Status ReadJson(std::string_view text, Events& events) {
  if (text.size() > json_internal::kMostCopied) {
    return json_internal::Read<0>(rapidjson::MemoryStream(text.data(), text.size()), text.size(), events);
  }
  char copy[json_internal::kMostCopied + 1];
  copy[text.copy(copy, text.size())] = '\0';
  return json_internal::Read<rapidjson::kParseInsituFlag>(rapidjson::InsituStringStream(copy), text.size(), events);
}

}  // namespace hearth::server
