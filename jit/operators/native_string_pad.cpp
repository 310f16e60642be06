// Strings made wider. LibTorch appends one character at a time to a stream, which an enormous width keeps busy for
// ever, as a negative one does in center; here the string is made at once, and what is too large for memory is refused.
#include <algorithm>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

const std::string& Text(const IValue& value) { return value.toStringRef(); }

size_t Missing(const std::string& text, int64_t width) {
  return static_cast<size_t>(std::max<int64_t>(0, width - static_cast<int64_t>(text.size())));
}

char FillOf(const IValue& value) {
  const std::string& fill = Text(value);
  if (fill.size() != 1) throw std::runtime_error("TypeError: The fill character must be exactly one character long");
  return fill[0];
}

std::string Padded(size_t before, const std::string& text, size_t after, char fill) {
  std::string padded;
  padded.reserve(before + text.size() + after);
  return padded.append(before, fill).append(text).append(after, fill);
}

void LeftJustify(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const char fill = FillOf(in[2]);
  *out = Padded(0, text, Missing(text, in[1].toInt()), fill);
}

void RightJustify(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const char fill = FillOf(in[2]);
  *out = Padded(Missing(text, in[1].toInt()), text, 0, fill);
}

void Center(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const char fill = FillOf(in[2]);
  const int64_t width = in[1].toInt();
  const size_t missing = Missing(text, width);
  // What is odd goes to the right of an even width and to the left of an odd one.
  const size_t left = width % 2 == 0 ? missing / 2 : missing - missing / 2;
  *out = Padded(left, text, missing - left, fill);
}

void FillWithZeros(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  *out = Padded(Missing(text, in[1].toInt()), text, 0, '0');
}

void ExpandTabs(NativeArguments in, IValue* out) {
  const int64_t tab = in[1].toInt();
  std::string expanded;
  for (const char c : Text(in[0])) {
    if (c != '\t') {
      expanded += c;
    } else if (tab > 0) {
      expanded.append(static_cast<size_t>(tab) - expanded.size() % static_cast<size_t>(tab), ' ');
    }
  }
  *out = std::move(expanded);
}

constexpr NativeEntry kEntries[] = {
    {"aten::ljust", LeftJustify},   {"aten::rjust", RightJustify},    {"aten::center", Center},
    {"aten::zfill", FillWithZeros}, {"aten::expandtabs", ExpandTabs},
};

}  // namespace

std::span<const NativeEntry> StringPadNatives() { return kEntries; }

}  // namespace hearth::native
