#include "jit/support/text.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace hearth {
namespace {

// Of the character that begins at `at`, in bytes; 0: none does.
size_t LengthAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond Unicode.
  if (lead == 0xe0 && byte(at + 1) < 0xa0) return 0;
  if (lead == 0xed && byte(at + 1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(at + 1) < 0x90) return 0;
  if (lead == 0xf4 && byte(at + 1) >= 0x90) return 0;
  return length;
}

// How many bytes of the text, from its start, are ASCII at least.
size_t AsciiPrefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) return at;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// C0, delete, and the C1 controls, which some terminals obey.
bool IsControl(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

void AppendHex(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out.append("\\x").push_back(kDigits[value >> 4]);
    out.push_back(kDigits[value & 15]);
  }
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = AsciiPrefix(text); at < text.size();) {
    const size_t length = LengthAt(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string ToUtf8(std::string text) {
  if (IsUtf8(text)) return text;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthAt(text, at);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++at;
      continue;
    }
    out.append(text, at, length);
    at += length;
  }
  return out;
}

std::string ForLog(std::string_view text, size_t most) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && at < most) {
    const size_t length = LengthAt(text, at);
    const std::string_view character = text.substr(at, length == 0 ? 1 : length);
    if (character == "\n") {
      out += "\n  | ";
    } else if (character == "\t") {
      out += character;
    } else if (length == 0 || IsControl(character)) {
      AppendHex(out, character);
    } else {
      out += character;
    }
    at += character.size();
  }
  if (at < text.size()) out += "... (" + std::to_string(text.size() - at) + " bytes more)";
  return out;
}

}  // namespace hearth
