#include "jit/profile_store/profile_file.h"

#include <algorithm>
#include <span>
#include <utility>

#include "jit/archive/crc32.h"
#include "jit/profile_store/speculation_bytes.h"

namespace hearth {
namespace {

constexpr std::string_view kMagic = "HEARTHPL";
constexpr uint32_t kFormat = 3;
constexpr uint32_t kSpecs = 1;
constexpr uint32_t kProfiles = 2;
constexpr uint32_t kShapes = 3;
// That all profiles and shapes of a file may take; the specs have the rest.
constexpr uint64_t kMaxProfileBytes = kMaxProfileFileBytes / 2;
constexpr uint64_t kMaxShapeBytes = kMaxProfileFileBytes / 4;

std::string SpecSection(const std::vector<SpecProfile>& profiles) {
  FileBytes section;
  section.Put(static_cast<uint32_t>(profiles.size()));
  for (const SpecProfile& each : profiles) {
    section.Put(std::string_view(each.method));
    section.Put(each.calls);
    section.Put(static_cast<uint32_t>(each.spec.classes().size()));
    for (const std::string& name : each.spec.classes()) section.Put(std::string_view(name));
    section.Put(static_cast<uint32_t>(each.spec.words().size()));
    for (const uint64_t word : each.spec.words()) section.Put(word);
  }
  return std::move(section.bytes());
}

std::vector<SpecProfile> ReadSpecSection(std::string_view bytes) {
  FileReader reader(bytes);
  std::vector<SpecProfile> profiles(reader.TakeCount(20, "the argument specs"));
  for (SpecProfile& each : profiles) {
    each.method = reader.TakeString("a method's name");
    each.calls = reader.Take<uint64_t>("a number of calls");
    std::vector<std::string> classes(reader.TakeCount(4, "the classes of a spec"));
    for (std::string& name : classes) name = reader.TakeString("a class's name");
    std::vector<uint64_t> words(reader.TakeCount(8, "the words of a spec"));
    for (uint64_t& word : words) word = reader.Take<uint64_t>("the words of a spec");
    each.spec = StoredSpec(std::move(words), std::move(classes));
  }
  if (!reader.empty()) throw ProfileFileError("bytes follow the argument specs");
  return profiles;
}

// A count, and of each spec that `put` writes something of its place and that, as far as there is room.
template <typename Put>
std::string SectionOfSpecs(const std::vector<SpecProfile>& profiles, uint64_t most_bytes, Put put) {
  FileBytes specs;
  uint32_t count = 0;
  for (size_t i = 0; i < profiles.size(); ++i) {
    FileBytes spec;
    spec.Put(static_cast<uint32_t>(i));
    if (!put(profiles[i], spec) || specs.bytes().size() + spec.bytes().size() > most_bytes) continue;
    specs.bytes() += spec.bytes();
    ++count;
  }
  FileBytes section;
  section.Put(count);
  section.bytes() += specs.bytes();
  return std::move(section.bytes());
}

// `what` the section is of; `least_bytes` that `take` takes of a spec.
template <typename Take>
void ReadSectionOfSpecs(std::string_view bytes, const char* what, size_t least_bytes,
                        std::vector<SpecProfile>& profiles, Take take) {
  FileReader reader(bytes);
  const uint32_t count = reader.TakeCount(4 + least_bytes, what);
  for (uint32_t i = 0; i < count; ++i) {
    const auto place = reader.Take<uint32_t>(what);
    if (place >= profiles.size()) {
      throw ProfileFileError(std::string(what) + " are of spec " + std::to_string(place) + " of " +
                             std::to_string(profiles.size()));
    }
    take(reader, profiles[place]);
  }
  if (!reader.empty()) throw ProfileFileError(std::string("bytes follow ") + what);
}

bool PutProfileOf(const SpecProfile& profile, FileBytes& bytes) {
  if (profile.speculation) PutProfile(*profile.speculation, bytes);
  return profile.speculation.has_value();
}

bool PutShapesOf(const SpecProfile& profile, FileBytes& bytes) {
  const std::span shapes = std::span(profile.shapes).first(std::min(profile.shapes.size(), StoredShape::kMost));
  bytes.Put(static_cast<uint32_t>(shapes.size()));
  for (const StoredShape& shape : shapes) {
    bytes.Put(shape.calls);
    bytes.Put(static_cast<uint8_t>(shape.exact));
    bytes.Put(static_cast<uint32_t>(shape.numbers.size()));
    for (const int64_t number : shape.numbers) bytes.Put(number);
  }
  return !shapes.empty();
}

void TakeShapes(FileReader& reader, SpecProfile& profile) {
  profile.shapes.resize(reader.TakeCount(13, "the shapes of a spec"));
  if (profile.shapes.size() > StoredShape::kMost) {
    throw ProfileFileError("a spec has " + std::to_string(profile.shapes.size()) + " shapes, and not " +
                           std::to_string(StoredShape::kMost) + " at most");
  }
  for (StoredShape& shape : profile.shapes) {
    shape.calls = reader.Take<uint64_t>("a shape's calls");
    shape.exact = reader.Take<uint8_t>("a shape") != 0;
    shape.numbers.resize(reader.TakeCount(8, "a shape's numbers"));
    for (int64_t& number : shape.numbers) number = reader.Take<int64_t>("a shape's numbers");
  }
}

}  // namespace

std::string WriteProfileFile(std::string_view key, const std::vector<SpecProfile>& profiles) {
  FileBytes body;
  body.Put(key);
  const auto put_section = [&](uint32_t number, const std::string& section) {
    body.Put(number);
    body.Put(static_cast<uint64_t>(section.size()));
    body.bytes() += section;
  };
  put_section(kSpecs, SpecSection(profiles));
  put_section(kProfiles, SectionOfSpecs(profiles, kMaxProfileBytes, PutProfileOf));
  put_section(kShapes, SectionOfSpecs(profiles, kMaxShapeBytes, PutShapesOf));

  FileBytes file;
  file.bytes() = kMagic;
  file.Put(kFormat);
  file.Put(Crc32(body.bytes()));
  file.Put(static_cast<uint64_t>(body.bytes().size()));
  return std::move(file.bytes()) + body.bytes();
}

std::vector<SpecProfile> ReadProfileFile(std::string_view key, std::string_view bytes) {
  FileReader reader(bytes);
  if (reader.TakeBytes(kMagic.size(), "its first word") != kMagic) {
    throw ProfileFileError("it does not begin with " + std::string(kMagic));
  }
  if (const auto format = reader.Take<uint32_t>("its format"); format != kFormat) {
    throw ProfileFileError("its format is " + std::to_string(format) + ", not " + std::to_string(kFormat));
  }
  const auto crc = reader.Take<uint32_t>("its checksum");
  if (const auto size = reader.Take<uint64_t>("its length"); size != reader.left().size()) {
    throw ProfileFileError(std::to_string(reader.left().size()) + " bytes follow its head, not " +
                           std::to_string(size));
  }
  if (Crc32(reader.left()) != crc) throw ProfileFileError("its checksum is not that of its bytes");
  if (const std::string_view found = reader.TakeString("its key"); found != key) {
    throw ProfileFileError("it belongs to '" + std::string(found) + "'");
  }
  std::vector<SpecProfile> profiles;
  while (!reader.empty()) {
    const auto number = reader.Take<uint32_t>("a section's number");
    const std::string_view section = reader.TakeBytes(reader.Take<uint64_t>("a section's length"), "a section");
    if (number == kSpecs) profiles = ReadSpecSection(section);
    if (number == kProfiles) {
      ReadSectionOfSpecs(section, "the profiles", kLeastProfileBytes, profiles,
                         [](FileReader& from, SpecProfile& spec) { spec.speculation = TakeProfile(from); });
    }
    if (number == kShapes) ReadSectionOfSpecs(section, "the shapes", 4, profiles, TakeShapes);
  }
  return profiles;
}

}  // namespace hearth
