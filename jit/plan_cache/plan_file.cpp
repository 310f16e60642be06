#include "jit/plan_cache/plan_file.h"

#include <algorithm>
#include <span>
#include <utility>

#include "jit/archive/crc32.h"
#include "jit/plan_cache/profile_bytes.h"

namespace hearth {
namespace {

constexpr std::string_view kMagic = "HEARTHPL";
constexpr uint32_t kFormat = 1;
constexpr uint32_t kKnownArguments = 1;
constexpr uint32_t kProfiles = 2;
constexpr uint32_t kShapes = 3;
// That all profiles and shapes of a file may take; the kinds have the rest.
constexpr uint64_t kMaxProfileBytes = kMaxPlanFileBytes / 2;
constexpr uint64_t kMaxShapeBytes = kMaxPlanFileBytes / 4;

std::string KnownSection(const std::vector<KnownArguments>& known) {
  PlanBytes section;
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
  PlanReader reader(bytes);
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

// A count, and of each kind that `put` writes something of its place and that, as far as there is room.
template <typename Put>
std::string SectionOfKinds(const std::vector<KnownArguments>& known, uint64_t most_bytes, Put put) {
  PlanBytes kinds;
  uint32_t count = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    PlanBytes kind;
    kind.Put(static_cast<uint32_t>(i));
    if (!put(known[i], kind) || kinds.bytes().size() + kind.bytes().size() > most_bytes) continue;
    kinds.bytes() += kind.bytes();
    ++count;
  }
  PlanBytes section;
  section.Put(count);
  section.bytes() += kinds.bytes();
  return std::move(section.bytes());
}

// `what` the section is of; `least_bytes` that `take` takes of a kind.
template <typename Take>
void ReadSectionOfKinds(std::string_view bytes, const char* what, size_t least_bytes,
                        std::vector<KnownArguments>& known, Take take) {
  PlanReader reader(bytes);
  const uint32_t count = reader.TakeCount(4 + least_bytes, what);
  for (uint32_t i = 0; i < count; ++i) {
    const auto place = reader.Take<uint32_t>(what);
    if (place >= known.size()) {
      throw PlanFileError(std::string(what) + " are of kind " + std::to_string(place) + " of " +
                          std::to_string(known.size()));
    }
    take(reader, known[place]);
  }
  if (!reader.empty()) throw PlanFileError(std::string("bytes follow ") + what);
}

bool PutProfileOf(const KnownArguments& known, PlanBytes& bytes) {
  if (known.profile) PutProfile(*known.profile, bytes);
  return known.profile.has_value();
}

bool PutShapesOf(const KnownArguments& known, PlanBytes& bytes) {
  const std::span shapes = std::span(known.shapes).first(std::min(known.shapes.size(), KnownShape::kMost));
  bytes.Put(static_cast<uint32_t>(shapes.size()));
  for (const KnownShape& shape : shapes) {
    bytes.Put(shape.calls);
    bytes.Put(static_cast<uint8_t>(shape.exact));
    bytes.Put(static_cast<uint32_t>(shape.numbers.size()));
    for (const int64_t number : shape.numbers) bytes.Put(number);
  }
  return !shapes.empty();
}

void TakeShapes(PlanReader& reader, KnownArguments& known) {
  known.shapes.resize(reader.TakeCount(13, "the shapes of a kind"));
  if (known.shapes.size() > KnownShape::kMost) {
    throw PlanFileError("a kind has " + std::to_string(known.shapes.size()) + " shapes, and not " +
                        std::to_string(KnownShape::kMost) + " at most");
  }
  for (KnownShape& shape : known.shapes) {
    shape.calls = reader.Take<uint64_t>("a shape's calls");
    shape.exact = reader.Take<uint8_t>("a shape") != 0;
    shape.numbers.resize(reader.TakeCount(8, "a shape's numbers"));
    for (int64_t& number : shape.numbers) number = reader.Take<int64_t>("a shape's numbers");
  }
}

}  // namespace

std::string WritePlanFile(std::string_view key, const std::vector<KnownArguments>& known) {
  PlanBytes body;
  body.Put(key);
  const auto put_section = [&](uint32_t number, const std::string& section) {
    body.Put(number);
    body.Put(static_cast<uint64_t>(section.size()));
    body.bytes() += section;
  };
  put_section(kKnownArguments, KnownSection(known));
  put_section(kProfiles, SectionOfKinds(known, kMaxProfileBytes, PutProfileOf));
  put_section(kShapes, SectionOfKinds(known, kMaxShapeBytes, PutShapesOf));

  PlanBytes file;
  file.bytes() = kMagic;
  file.Put(kFormat);
  file.Put(Crc32(body.bytes()));
  file.Put(static_cast<uint64_t>(body.bytes().size()));
  return std::move(file.bytes()) + body.bytes();
}

std::vector<KnownArguments> ReadPlanFile(std::string_view key, std::string_view bytes) {
  PlanReader reader(bytes);
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
    if (number == kProfiles) {
      ReadSectionOfKinds(section, "the profiles", kLeastProfileBytes, known,
                         [](PlanReader& from, KnownArguments& kind) { kind.profile = TakeProfile(from); });
    }
    if (number == kShapes) ReadSectionOfKinds(section, "the shapes", 4, known, TakeShapes);
  }
  return known;
}

}  // namespace hearth
