// Strings, which are bytes: building, slicing, case, formatting.
#include <cctype>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "jit/operators/native_support.h"
#include "jit/operators/value_parts.h"

namespace hearth::native {
namespace {

const std::string& Text(const IValue& value) { return value.toStringRef(); }

void Len(NativeArguments in, IValue* out) { *out = static_cast<int64_t>(Text(in[0]).size()); }

void Add(NativeArguments in, IValue* out) {
  const std::string& a = Text(in[0]);
  const std::string& b = Text(in[1]);
  std::string joined;
  joined.reserve(a.size() + b.size());
  joined.append(a).append(b);
  *out = std::move(joined);
}

void GetItem(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  const int64_t index = in[1].toInt();
  const int64_t position = index < 0 ? index + static_cast<int64_t>(text.size()) : index;
  *out = std::string(1, text.at(static_cast<size_t>(position)));
}

void Slice(NativeArguments in, IValue* out) {
  constexpr auto kEnd = std::numeric_limits<int64_t>::max();
  const std::string& text = Text(in[0]);
  int64_t start = in[1].isNone() ? kEnd : in[1].toInt();
  int64_t end = in[2].isNone() ? kEnd : in[2].toInt();
  const int64_t step = in[3].toInt();
  const int64_t count = AdjustSlice(static_cast<int64_t>(text.size()), &start, &end, step);
  std::string picked;
  picked.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) picked.push_back(text[static_cast<size_t>(start + i * step)]);
  *out = std::move(picked);
}

template <int (*kMap)(int)>
void MapBytes(NativeArguments in, IValue* out) {
  std::string mapped = Text(in[0]);
  for (char& byte : mapped) byte = static_cast<char>(kMap(byte));
  *out = std::move(mapped);
}
int SwapCase(int byte) {
  return byte == static_cast<char>(std::toupper(byte)) ? std::tolower(byte) : std::toupper(byte);
}

template <int (*kIs)(int)>
void AllBytes(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  bool all = !text.empty();
  for (char byte : text) all = all && kIs(byte) != 0;
  *out = all;
}

void ToList(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  std::vector<IValue> bytes;
  bytes.reserve(text.size());
  for (char byte : text) bytes.emplace_back(std::string(1, byte));
  *out = MakeList(c10::StringType::get(), std::move(bytes));
}

void Ord(NativeArguments in, IValue* out) {
  const std::string& text = Text(in[0]);
  TORCH_CHECK(text.size() == 1, "String for ord() must be 1 character, found ", text.size());
  *out = static_cast<int64_t>(static_cast<uint8_t>(text[0]));
}

void Chr(NativeArguments in, IValue* out) {
  const int64_t code = in[0].toInt();
  TORCH_CHECK(code >= 0 && code < 0x110000, "chr() arg not in range(0x110000), found ", code);
  *out = std::string(1, static_cast<char>(code));
}

void Join(NativeArguments in, IValue* out) {
  const std::string& separator = Text(in[0]);
  const std::vector<IValue>& parts = Elements(in[1]);
  size_t size = parts.empty() ? 0 : separator.size() * (parts.size() - 1);
  for (const IValue& part : parts) size += Text(part).size();
  std::string joined;
  joined.reserve(size);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined.append(separator);
    joined.append(Text(parts[i]));
  }
  *out = std::move(joined);
}

// str() writes what IValue's printer writes; a string is itself, and an int needs no stream.
void Print(const IValue& value, std::ostream& stream) {
  if (value.isString()) {
    stream << value.toStringRef();
  } else {
    RequireFinite(value, "printed");
    stream << value;
  }
}

void PrintLine(NativeArguments in, IValue*) {
  std::ostringstream line;
  for (size_t i = 0; i < in.count; ++i) {
    if (i > 0) line << ' ';
    Print(in[i], line);
  }
  line << '\n';
  std::cout << line.str();
}

void Str(NativeArguments in, IValue* out) {
  const IValue& value = in[0];
  if (value.isString()) {
    IValue same = value;
    *out = std::move(same);
  } else if (value.isInt()) {
    *out = std::to_string(value.toInt());
  } else {
    std::ostringstream stream;
    Print(value, stream);
    *out = stream.str();
  }
}

// "{}".format: by position only; every other text in braces stays as it is.
void Format(NativeArguments in, IValue* out) {
  const std::string& pattern = Text(in[0]);
  std::ostringstream stream;
  size_t used = 1;
  size_t begin = 0;
  for (size_t place = pattern.find("{}"); place != std::string::npos; place = pattern.find("{}", begin)) {
    stream.write(pattern.data() + begin, static_cast<std::streamsize>(place - begin));
    TORCH_CHECK(used < in.count, "Too few arguments for format string: ", pattern);
    Print(in[used++], stream);
    begin = place + 2;
  }
  stream.write(pattern.data() + begin, static_cast<std::streamsize>(pattern.size() - begin));
  *out = stream.str();
}

double FormattedNumber(const IValue& value, char key) {
  TORCH_CHECK(value.isScalar(), "%", key, " requires a number for formatting, but got ", value.tagKind());
  return value.isInt() ? static_cast<double>(static_cast<float>(value.toInt()))
                       : static_cast<double>(static_cast<float>(value.toDouble()));
}

void PrintAs(char key, const IValue& value, std::ostream& stream) {
  switch (key) {
    case 'd':
    case 'i':
      TORCH_CHECK(value.isScalar(), "%", key, " requires a number for formatting, but got ", value.tagKind());
      if (value.isInt()) {
        stream << value.toInt();
      } else {
        stream << static_cast<int>(value.toDouble());
      }
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'F': {
      std::ostringstream number;
      const double amount = FormattedNumber(value, key);
      number << std::setprecision(6) << (key == 'e' || key == 'E' ? std::scientific : std::fixed);
      if (key == 'E') number << std::uppercase;
      number << static_cast<float>(amount);
      stream << number.str();
      return;
    }
    case 'c':
      TORCH_CHECK(value.isInt() || (value.isString() && value.toStringRef().length() == 1), "%", key,
                  " requires an int or char for formatting, but got ", value.tagKind());
      if (value.isInt()) {
        stream << static_cast<char>(value.toInt());
      } else {
        stream << value.toStringRef();
      }
      return;
    case 's':
      Print(value, stream);
      return;
    default:
      TORCH_CHECK(false, "The specifier %", key, " is not supported in TorchScript format strings");
  }
}

// "..." % value, where a tuple is several values.
void PercentFormat(NativeArguments in, IValue* out) {
  const std::string& pattern = Text(in[0]);
  TORCH_CHECK(in.count == 2, "Too many arguments for format string");
  const IValue& argument = in[1];
  const size_t available = argument.isTuple() ? argument.toTupleRef().elements().size() : 1;
  std::ostringstream stream;
  size_t used = 0;
  size_t begin = 0;
  for (size_t place = pattern.find('%'); place != std::string::npos; place = pattern.find('%', begin)) {
    TORCH_CHECK(place + 1 < pattern.size(), "Incomplete format specifier");
    stream.write(pattern.data() + begin, static_cast<std::streamsize>(place - begin));
    begin = place + 2;
    if (pattern[place + 1] == '%') {
      stream << '%';
      continue;
    }
    TORCH_CHECK(used < available, "Too few arguments for format string");
    PrintAs(pattern[place + 1], argument.isTuple() ? argument.toTupleRef().elements()[used] : argument, stream);
    ++used;
  }
  stream.write(pattern.data() + begin, static_cast<std::streamsize>(pattern.size() - begin));
  TORCH_CHECK(used == available, "Too many arguments for format string");
  *out = stream.str();
}

template <typename Compare>
void CompareStrings(NativeArguments in, IValue* out) {
  *out = Compare()(Text(in[0]), Text(in[1]));
}

constexpr NativeEntry kEntries[] = {
    {"aten::len.str", Len},
    {"aten::add.str", Add},
    {"aten::__getitem__.str", GetItem},
    {"prim::StringIndex", GetItem},
    {"aten::slice.str", Slice},
    {"aten::list", ToList},
    {"aten::ord", Ord},
    {"aten::chr", Chr},
    {"aten::join", Join},
    {"aten::str", Str},
    {"aten::format", Format},
    {"prim::Print", PrintLine},
    {"aten::percentFormat", PercentFormat},
    {"aten::upper", MapBytes<std::toupper>},
    {"aten::lower", MapBytes<std::tolower>},
    {"aten::swapcase", MapBytes<SwapCase>},
    {"aten::isdigit", AllBytes<std::isdigit>},
    {"aten::isdecimal", AllBytes<std::isdigit>},
    {"aten::isnumeric", AllBytes<std::isdigit>},
    {"aten::isspace", AllBytes<std::isspace>},
    {"aten::isalnum", AllBytes<std::isalnum>},
    {"aten::isalpha", AllBytes<std::isalpha>},
    {"aten::eq.str", CompareStrings<std::equal_to<>>},
    {"aten::ne.str", CompareStrings<std::not_equal_to<>>},
    {"aten::lt.str", CompareStrings<std::less<>>},
    {"aten::le.str", CompareStrings<std::less_equal<>>},
    {"aten::gt.str", CompareStrings<std::greater<>>},
    {"aten::ge.str", CompareStrings<std::greater_equal<>>},
};

}  // namespace

std::span<const NativeEntry> StringNatives() { return kEntries; }

}  // namespace hearth::native
