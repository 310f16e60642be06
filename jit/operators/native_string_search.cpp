// Searching, splitting, stripping and replacing in strings. An empty pattern, on which LibTorch loops without end, is
// an error here.
#include <algorithm>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

const std::string& Text(const IValue& value) { return value.toStringRef(); }

// start and end as TorchScript reads them: negative ones count from the end, and an end of -1 is the end.
struct Window {
  Window(const std::string& text, const IValue& start_argument, const IValue& end_argument)
      : start(start_argument.toInt()), end(end_argument.toInt()) {
    const int64_t size = static_cast<int64_t>(text.size());
    if (start < 0) start = std::max<int64_t>(0, size + start);
    if (end < 0) end = std::max<int64_t>(0, size + end + 1);
  }
  // The text between them. Throws out_of_range for a start behind the end of the text.
  std::string_view Of(const std::string& text) const {
    if (static_cast<uint64_t>(start) > text.size()) (void)text.substr(static_cast<size_t>(start));
    return std::string_view(text).substr(static_cast<size_t>(start), static_cast<size_t>(end - start));
  }

  int64_t start;
  int64_t end;
};

void StartsWith(NativeArguments in, IValue* out) {
  const std::string_view text = Window(Text(in[0]), in[2], in[3]).Of(Text(in[0]));
  *out = text.starts_with(Text(in[1]));
}
void EndsWith(NativeArguments in, IValue* out) {
  const std::string_view text = Window(Text(in[0]), in[2], in[3]).Of(Text(in[0]));
  *out = text.ends_with(Text(in[1]));
}

void Count(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const std::string& pattern = Text(in[1]);
  const int64_t size = static_cast<int64_t>(text.size());
  if (in[2].toInt() > size) {
    *out = int64_t{0};
    return;
  }
  const Window window(text, in[2], in[3]);
  if (pattern.empty()) throw std::runtime_error("ValueError: count() of an empty string");
  int64_t count = 0;
  size_t place = text.find(pattern, static_cast<size_t>(window.start));
  while (place != std::string::npos && static_cast<int64_t>(place) < window.end) {
    ++count;
    place = text.find(pattern, place + pattern.size());
  }
  *out = count;
}

void Replace(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const std::string& pattern = Text(in[1]);
  const std::string& replacement = Text(in[2]);
  const int64_t limit = in[3].toInt();
  if (pattern.empty()) throw std::runtime_error("ValueError: replace() of an empty string");
  std::string replaced;
  size_t begin = 0;
  int64_t done = 0;
  for (size_t place = text.find(pattern); place != std::string::npos && (limit < 0 || done < limit);
       place = text.find(pattern, begin)) {
    replaced.append(text, begin, place - begin).append(replacement);
    begin = place + pattern.size();
    ++done;
  }
  replaced.append(text, begin);
  *out = std::move(replaced);
}

// Splits at runs of white space; no part is empty.
std::vector<IValue> SplitWords(const std::string& text) {
  // LibTorch's list holds the bytes of the UTF-8 forms of U+2028 and U+2029 one by one.
  static constexpr std::string_view kSpaces = " \t\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
  std::vector<IValue> words;
  size_t begin = text.find_first_not_of(kSpaces);
  while (begin != std::string::npos) {
    const size_t end = text.find_first_of(kSpaces, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

void Split(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  if (in[1].isNone()) {
    *out = MakeList(c10::StringType::get(), SplitWords(text));
    return;
  }
  const std::string& separator = Text(in[1]);
  const int64_t limit = in[2].toInt();
  if (separator.empty()) throw std::runtime_error("ValueError: empty separator");
  std::vector<IValue> parts;
  size_t begin = 0;
  for (size_t place = text.find(separator); place != std::string::npos; place = text.find(separator, begin)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit) break;
    parts.emplace_back(text.substr(begin, place - begin));
    begin = place + separator.size();
  }
  parts.emplace_back(text.substr(begin));
  *out = MakeList(c10::StringType::get(), std::move(parts));
}

void SplitFromRight(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const std::string& separator = Text(in[1]);
  const int64_t limit = in[2].toInt();
  if (separator.empty()) throw std::runtime_error("ValueError: empty separator");
  std::vector<IValue> parts;
  size_t end = text.size();
  while (end >= separator.size() && (limit < 0 || static_cast<int64_t>(parts.size()) < limit)) {
    const size_t place = text.rfind(separator, end - separator.size());
    if (place == std::string::npos) break;
    parts.emplace_back(text.substr(place + separator.size(), end - place - separator.size()));
    end = place;
  }
  parts.emplace_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  *out = MakeList(c10::StringType::get(), std::move(parts));
}

enum Sides { kLeft = 1, kRight = 2, kBoth = 3 };

template <Sides kSides>
void Strip(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const std::string& bytes = Text(in[1]);
  size_t begin = 0;
  size_t end = text.size();
  if constexpr ((kSides & kLeft) != 0) begin = std::min(text.find_first_not_of(bytes), text.size());
  if constexpr ((kSides & kRight) != 0) end = text.find_last_not_of(bytes) + 1;
  *out = end > begin ? text.substr(begin, end - begin) : std::string();
}

constexpr NativeEntry kEntries[] = {
    {"aten::startswith", StartsWith}, {"aten::endswith", EndsWith},   {"aten::count", Count},
    {"aten::replace", Replace},       {"aten::split.str", Split},     {"aten::rsplit", SplitFromRight},
    {"aten::strip", Strip<kBoth>},    {"aten::lstrip", Strip<kLeft>}, {"aten::rstrip", Strip<kRight>},
};

}  // namespace

std::span<const NativeEntry> StringSearchNatives() { return kEntries; }

}  // namespace hearth::native
