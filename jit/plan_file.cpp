#include "jit/plan_file.h"

#include <bit>
#include <cstring>
#include <utility>

#include "jit/archive/crc32.h"

namespace hearth {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "HEARTHPL";
constexpr uint32_t kFormat = 1;
constexpr uint32_t kKnownArguments = 1;

class Bytes {
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

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <typename Number>
  Number Take(const char* what) {
    Number number = 0;
    std::memcpy(&number, TakeBytes(sizeof(number), what).data(), sizeof(number));
    return number;
  }
  std::string_view TakeBytes(uint64_t size, const char* what) {
    if (size > left_.size()) throw PlanFileError(std::string("it ends within ") + what);
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view TakeString(const char* what) { return TakeBytes(Take<uint32_t>(what), what); }
  // Of things that take so many bytes at least: what cannot be there is not made room for.
  uint32_t TakeCount(size_t least_bytes, const char* what) {
    const auto count = Take<uint32_t>(what);
    if (count > left_.size() / least_bytes) throw PlanFileError(std::string("it ends within ") + what);
    return count;
  }
  bool empty() const { return left_.empty(); }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

std::string KnownSection(const std::vector<KnownArguments>& known) {
  Bytes section;
  section.Put(static_cast<uint32_t>(known.size()));
  for (const KnownArguments& each : known) {
    section.Put(std::string_view(each.method));
    section.Put(each.calls);
    section.Put(static_cast<uint32_t>(each.spec.classes().size()));
    for (const std::string& name : each.spec.classes()) section.Put(std::string_view(name));
    section.Put(static_cast<uint32_t>(each.spec.words().size()));
    for (const uint64_t word : each.spec.words()) section.Put(word);
  }
  return std::move(section.bytes());
}

std::vector<KnownArguments> ReadKnownSection(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<KnownArguments> known(reader.TakeCount(20, "the kinds of arguments"));
  for (KnownArguments& each : known) {
    each.method = reader.TakeString("a method's name");
    each.calls = reader.Take<uint64_t>("a number of calls");
    std::vector<std::string> classes(reader.TakeCount(4, "the classes of a kind"));
    for (std::string& name : classes) name = reader.TakeString("a class's name");
    std::vector<uint64_t> words(reader.TakeCount(8, "the words of a kind"));
    for (uint64_t& word : words) word = reader.Take<uint64_t>("the words of a kind");
    each.spec = StoredSpec(std::move(words), std::move(classes));
  }
  if (!reader.empty()) throw PlanFileError("bytes follow the kinds of arguments");
  return known;
}

}  // namespace

std::string WritePlanFile(std::string_view key, const std::vector<KnownArguments>& known) {
  Bytes body;
  body.Put(key);
  const std::string section = KnownSection(known);
  body.Put(kKnownArguments);
  body.Put(static_cast<uint64_t>(section.size()));
  body.bytes() += section;

  Bytes file;
  file.bytes() = kMagic;
  file.Put(kFormat);
  file.Put(Crc32(body.bytes()));
  file.Put(static_cast<uint64_t>(body.bytes().size()));
  return std::move(file.bytes()) + body.bytes();
}

std::vector<KnownArguments> ReadPlanFile(std::string_view key, std::string_view bytes) {
  Reader reader(bytes);
  if (reader.TakeBytes(kMagic.size(), "its first word") != kMagic) {
    throw PlanFileError("it does not begin with " + std::string(kMagic));
  }
  if (const auto format = reader.Take<uint32_t>("its format"); format != kFormat) {
    throw PlanFileError("its format is " + std::to_string(format) + ", not " + std::to_string(kFormat));
  }
  const auto crc = reader.Take<uint32_t>("its checksum");
  if (const auto size = reader.Take<uint64_t>("its length"); size != reader.left().size()) {
    throw PlanFileError(std::to_string(reader.left().size()) + " bytes follow its head, not " + std::to_string(size));
  }
  if (Crc32(reader.left()) != crc) throw PlanFileError("its checksum is not that of its bytes");
  if (const std::string_view found = reader.TakeString("its key"); found != key) {
    throw PlanFileError("it belongs to '" + std::string(found) + "'");
  }
  std::vector<KnownArguments> known;
  while (!reader.empty()) {
    const auto number = reader.Take<uint32_t>("a section's number");
    const std::string_view section = reader.TakeBytes(reader.Take<uint64_t>("a section's length"), "a section");
    if (number == kKnownArguments) known = ReadKnownSection(section);
  }
  return known;
}

}  // namespace hearth
