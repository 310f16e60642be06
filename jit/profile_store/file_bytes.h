// The bytes of what is kept on disk (profile_file.h), written and read one thing after another: numbers little-endian,
// strings with their length before them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth {

static_assert(std::endian::native == std::endian::little);

// The bytes are not a whole file of this format, or not of this key: says what is wrong.
class ProfileFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class FileBytes {
 public:
  template <typename Number>
  void Put(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void Put(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Trusts nothing: throws ProfileFileError where less is left than is asked for, which names `what` that is.
class FileReader {
 public:
  explicit FileReader(std::string_view bytes) : left_(bytes) {}

  template <typename Number>
  Number Take(const char* what) {
    Number number = 0;
    std::memcpy(&number, TakeBytes(sizeof(number), what).data(), sizeof(number));
    return number;
  }
  std::string_view TakeBytes(uint64_t size, const char* what) {
    if (size > left_.size()) throw ProfileFileError(std::string("it ends within ") + what);
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view TakeString(const char* what) { return TakeBytes(Take<uint32_t>(what), what); }
  // Of things that take so many bytes at least: what cannot be there is not made room for.
  uint32_t TakeCount(size_t least_bytes, const char* what) {
    const auto count = Take<uint32_t>(what);
    if (count > left_.size() / least_bytes) throw ProfileFileError(std::string("it ends within ") + what);
    return count;
  }
  bool empty() const { return left_.empty(); }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

}  // namespace hearth
