#include "cli/npy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;  // NumPy's own

// A decimal number and nothing else.
template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

absl::Status BadNpy(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("not a sound .npy file: ", what));
}

// Reads the header, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Take('{')) return BadNpy("its header is not a dict");
    while (!Take('}')) {
      std::string key;
      if (!TakeString(key) || !Take(':')) return BadNpy("its header has no key where one is expected");
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (!TakeString(header.descr)) return BadNpy("arrays of records are not taken");
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        if (!TakeBool(header.fortran_order)) return BadNpy("its fortran_order is neither True nor False");
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        if (!TakeShape(header.shape)) return BadNpy("its shape is not a tuple of sizes");
      } else {
        return BadNpy(absl::StrCat("its header has an unexpected key '", key, "'"));
      }
      if (!Take(',') && !Peek('}')) return BadNpy("its header has no comma where one is expected");
    }
    if (!has_descr || !has_order || !has_shape) return BadNpy("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  void SkipSpace() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
  }

  bool Peek(char c) {
    SkipSpace();
    return text_.starts_with(c);
  }

  bool Take(char c) {
    if (!Peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool TakeBool(bool& value) {
    value = TakeWord("True");
    return value || TakeWord("False");
  }

  bool TakeString(std::string& value) {
    SkipSpace();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }

  bool TakeShape(std::vector<int64_t>& shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      const size_t end = std::min(text_.find_first_not_of("0123456789"), text_.size());
      int64_t size = 0;
      if (!ParseNumber(text_.substr(0, end), size) || shape.size() == kMaxRank) return false;
      text_.remove_prefix(end);
      Take('L');  // Python 2 wrote 3L
      shape.push_back(size);
      if (!Take(',') && !Peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

// The protocol's datatype of a descr like "<f4"; empty if it has none.
std::string_view DatatypeOf(std::string_view kind_and_size) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes = {{
      {"b1", "BOOL"},
      {"u1", "UINT8"},
      {"u2", "UINT16"},
      {"u4", "UINT32"},
      {"u8", "UINT64"},
      {"i1", "INT8"},
      {"i2", "INT16"},
      {"i4", "INT32"},
      {"i8", "INT64"},
      {"f2", "FP16"},
      {"f4", "FP32"},
      {"f8", "FP64"},
  }};
  for (const auto& [descr, datatype] : kTypes) {
    if (descr == kind_and_size) return datatype;
  }
  return {};
}

void SwapBytes(std::string& data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width) std::reverse(data.data() + i, data.data() + i + width);
}

// Column-major elements of `width` bytes in row-major order.
std::string RowMajor(const std::string& data, const std::vector<int64_t>& shape, size_t width) {
  std::string ordered(data.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0);
  const size_t count = width == 0 ? 0 : data.size() / width;
  for (size_t to = 0; to < count; ++to) {
    size_t from = 0;
    for (size_t axis = shape.size(); axis-- > 0;)
      from = from * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
    std::memcpy(ordered.data() + to * width, data.data() + from * width, width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return ordered;
}

absl::Status AppendUtf8(uint32_t code, std::string& text) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return BadNpy("a string has a character that is none");
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
             static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    text += {static_cast<char>(0xf0 | (code >> 18)), static_cast<char>(0x80 | ((code >> 12) & 0x3f)),
             static_cast<char>(0x80 | ((code >> 6) & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Utf8(std::string_view utf32) {
  std::vector<uint32_t> codes(utf32.size() / 4);
  std::memcpy(codes.data(), utf32.data(), codes.size() * 4);
  while (!codes.empty() && codes.back() == 0) codes.pop_back();
  std::string text;
  for (const uint32_t code : codes) {
    if (const absl::Status status = AppendUtf8(code, text); !status.ok()) return status;
  }
  return text;
}

std::string_view WithoutPadding(std::string_view padded) {
  return padded.substr(0, padded.find_last_not_of('\0') + 1);  // npos + 1 is 0
}

// Elements of `width` bytes, one after another.
absl::StatusOr<std::vector<std::string>> UnpadStrings(const std::string& data, size_t count, size_t width,
                                                      bool is_unicode) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view element = std::string_view(data).substr(i * width, width);
    if (!is_unicode) {
      strings.emplace_back(WithoutPadding(element));
      continue;
    }
    absl::StatusOr<std::string> text = Utf8(element);
    if (!text.ok()) return text.status();
    strings.push_back(*std::move(text));
  }
  return strings;
}

// Splits the file into its header's text and its data.
absl::Status Split(std::string_view file, std::string_view& header, std::string_view& data) {
  if (!file.starts_with(kMagic)) return BadNpy("it does not begin as one");
  file.remove_prefix(kMagic.size());
  if (file.size() < 2) return BadNpy("it is cut off");
  const int version = static_cast<unsigned char>(file[0]);
  if (version < 1 || version > 3) return BadNpy(absl::StrCat("its version is ", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  file.remove_prefix(2);
  if (file.size() < length_bytes) return BadNpy("it is cut off");
  uint32_t length = 0;
  std::memcpy(&length, file.data(), length_bytes);
  file.remove_prefix(length_bytes);
  if (file.size() < length) return BadNpy("its header is cut off");
  header = file.substr(0, length);
  data = file.substr(length);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WireTensor> ParseNpy(std::string_view file) {
  std::string_view header_text, data;
  if (const absl::Status status = Split(file, header_text, data); !status.ok()) return status;
  absl::StatusOr<Header> header = HeaderParser(header_text).Parse();
  if (!header.ok()) return header.status();

  const std::string& descr = header->descr;
  if (descr.size() < 3) return BadNpy(absl::StrCat("its dtype '", descr, "' is none"));
  const bool is_big = descr.front() == '>';
  const char kind = descr[1];
  uint64_t size = 0;
  if (std::string_view("<>|=").find(descr.front()) == std::string_view::npos || !ParseNumber(descr.substr(2), size)) {
    return absl::InvalidArgumentError(absl::StrCat("the dtype '", descr, "' is not one that requests can carry"));
  }
  const bool is_string = kind == 'S' || kind == 'U';
  const std::string_view datatype = is_string ? "BYTES" : DatatypeOf(std::string_view(descr).substr(1));
  if (datatype.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the dtype '", descr, "' is not one that requests can carry"));
  }
  const std::optional<int64_t> count = CountElements(header->shape);
  size_t width = size, bytes = 0;
  if ((kind == 'U' && __builtin_mul_overflow(size, 4, &width)) || !count ||
      __builtin_mul_overflow(static_cast<size_t>(*count), width, &bytes)) {
    return BadNpy("its shape is impossible");
  }
  if (data.size() != bytes) return BadNpy(absl::StrCat("expected ", bytes, " bytes of data, found ", data.size()));
  // Strings of width 0 take no bytes, so the file's size does not bound how many there are.
  if (is_string && width == 0 && *count > (1 << 24)) return BadNpy("its shape is impossible");

  std::string elements(data);
  if (is_big && kind != 'S') SwapBytes(elements, kind == 'U' ? 4 : width);
  if (header->fortran_order && header->shape.size() > 1) elements = RowMajor(elements, header->shape, width);
  if (!is_string) return ReadRaw("", datatype, header->shape, RawBytes::Of(elements));
  auto strings = UnpadStrings(elements, static_cast<size_t>(*count), width, kind == 'U');
  if (!strings.ok()) return strings.status();
  auto tensor = DescribeTensor("", datatype, header->shape);
  if (tensor.ok()) tensor->strings = *std::move(strings);
  return tensor;
}

absl::StatusOr<WireTensor> ReadNpy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::ostringstream content;
  content << file.rdbuf();
  auto tensor = ParseNpy(content.str());
  if (!tensor.ok()) return absl::Status(tensor.status().code(), absl::StrCat(path, ": ", tensor.status().message()));
  return tensor;
}

std::string FormatNpy(const WireTensor& tensor) {
  std::string descr, data;
  if (tensor.datatype->is_bytes()) {
    size_t width = 1;
    for (const std::string& element : tensor.strings) width = std::max(width, element.size());
    descr = absl::StrCat("|S", width);
    for (const std::string& element : tensor.strings) data.append(element).append(width - element.size(), '\0');
  } else {
    const bool is_bfloat16 = tensor.tensor.scalar_type() == c10::kBFloat16;
    const at::Tensor numbers = (is_bfloat16 ? tensor.tensor.to(c10::kFloat) : tensor.tensor).contiguous();
    const c10::ScalarType scalar = numbers.scalar_type();
    const char kind = scalar == c10::kBool          ? 'b'
                      : c10::isFloatingType(scalar) ? 'f'
                      : c10::isSignedType(scalar)   ? 'i'
                                                    : 'u';
    descr = absl::StrCat(numbers.element_size() == 1 ? "|" : "<", std::string(1, kind), numbers.element_size());
    data.assign(static_cast<const char*>(numbers.const_data_ptr()), numbers.nbytes());
  }
  std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(tensor.shape, ", "), tensor.shape.size() == 1 ? ",), }" : "), }");
  // Magic, version and length take ten bytes; data begins at a multiple of 64.
  header.append(63 - (header.size() + 10) % 64, ' ').append("\n");
  const auto length = static_cast<uint16_t>(header.size());
  std::string file(kMagic);
  file.append("\x01\x00", 2).append(reinterpret_cast<const char*>(&length), 2).append(header).append(data);
  return file;
}

absl::Status WriteNpy(const WireTensor& tensor, const std::string& path) {
  const std::string content = FormatNpy(tensor);
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return absl::UnknownError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace hearth::cli
