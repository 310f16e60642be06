#include "jit/frontend/literals.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>

#include "jit/support/errors.h"

namespace hearth {
namespace {

std::string WithoutUnderscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

char SimpleEscape(char c) {
  switch (c) {
    case '\\':
    case '\'':
    case '"':
      return c;
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return '\0';
  }
}

// How many hexadecimal digits stand behind a `\x`, `\u` or `\U`; 0 for another letter.
uint32_t HexDigits(char c) { return c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0; }

void AppendUtf8(uint32_t point, std::string* out) {
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | ((point >> shift) & 0x3f))); };
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xc0 | (point >> 6)));
    tail(0);
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | (point >> 12)));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | (point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

int64_t IntValue(const Source& source, const Token& token, bool negative) {
  const SourceRange range{&source, token.begin, token.end};
  std::string_view digits = range.text();
  std::string cleaned;
  if (digits.find('_') != std::string_view::npos) digits = cleaned = WithoutUnderscores(digits);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10) {
      digits.remove_prefix(2);
    } else if (digits.find_first_not_of('0') != std::string_view::npos) {
      throw CompileError(range, "an integer may not start with 0; octal numbers are written 0o17");
    }
  }
  uint64_t magnitude = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (result.ec == std::errc::result_out_of_range || magnitude > kLargest + (negative ? 1 : 0)) {
    throw CompileError(range, "the integer " + std::string(negative ? "-" : "") + std::string(range.text()) +
                                  " does not fit into 64 bits");
  }
  if (result.ptr != digits.data() + digits.size()) {
    throw CompileError(range, "'" + std::string(1, *result.ptr) + "' is no digit in base " + std::to_string(base));
  }
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

double FloatValue(const Source& source, const Token& token) {
  std::string_view text = SourceRange{&source, token.begin, token.end}.text();
  if (token.kind == TokenKind::kImaginary) text.remove_suffix(1);
  std::string cleaned;
  if (text.find('_') != std::string_view::npos) text = cleaned = WithoutUnderscores(text);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // from_chars leaves the value alone where it overflows to infinity or underflows to zero, strtod does not.
  if (result.ec == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

StringContent ContentOf(const Source& source, const Token& token) {
  const std::string_view text = source.text();
  StringContent content{token.begin, token.end};
  for (; text[content.begin] != '"' && text[content.begin] != '\''; ++content.begin) {
    content.raw |= text[content.begin] == 'r' || text[content.begin] == 'R';
  }
  const char mark = text[content.begin];
  const bool triple =
      content.end - content.begin >= 6 && text[content.begin + 1] == mark && text[content.begin + 2] == mark;
  content.begin += triple ? 3 : 1;
  content.end -= triple ? 3 : 1;
  return content;
}

void AppendUnescaped(const Source& source, uint32_t begin, uint32_t end, bool raw, std::string* out) {
  const std::string_view text = source.text().substr(0, end);
  if (raw) {
    out->append(text.substr(begin, end - begin));
    return;
  }
  for (uint32_t i = begin; i < end;) {
    const size_t escape = std::min<size_t>(text.find('\\', i), end);
    out->append(text.substr(i, escape - i));
    if (escape == end) return;
    i = static_cast<uint32_t>(escape) + 1;
    const auto fail = [&](uint32_t stop, const std::string& message) {
      throw CompileError(SourceRange{&source, static_cast<uint32_t>(escape), stop}, message);
    };
    if (i == end) fail(end, "a '\\' ends the text of a string");
    const char c = text[i];
    if (const char simple = SimpleEscape(c)) {
      out->push_back(simple);
      ++i;
    } else if (c == '\n') {
      ++i;
    } else if (c == '\r') {
      i += i + 1 < end && text[i + 1] == '\n' ? 2 : 1;
    } else if (c >= '0' && c <= '7') {
      int value = 0;
      const uint32_t stop = std::min(end, i + 3);
      for (; i < stop && text[i] >= '0' && text[i] <= '7'; ++i) value = value * 8 + (text[i] - '0');
      if (value > 255) fail(i, "an octal escape is one byte: at most \\377");
      out->push_back(static_cast<char>(value));
    } else if (const uint32_t digits = HexDigits(c)) {
      const uint32_t stop = std::min(end, i + 1 + digits);
      uint32_t point = 0;
      const auto parsed = std::from_chars(text.data() + i + 1, text.data() + stop, point, 16);
      const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + i + 1 + digits;
      if (!whole || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
        fail(stop, "this escape is no character: \\x takes 2 hexadecimal digits, \\u 4 and \\U 8");
      }
      AppendUtf8(point, out);
      i = stop;
    } else {
      fail(
          i + 1,
          "TorchScript's strings know the escapes \\\\ \\' \\\" \\a \\b \\f \\n \\r \\t \\v, octal \\ooo, \\x, \\u and "
          "\\U, not '\\" +
              std::string(1, c) + "'");
    }
  }
}

}  // namespace hearth
