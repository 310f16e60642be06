// Feeds any bytes to the reader of profile files, once as they are and once behind a head whose length and checksum are
// right; specs that come out are restored and read.
#include <ATen/core/class_type.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "jit/analysis/exact_shape.h"
#include "jit/archive/crc32.h"
#include "jit/profile_store/profile_file.h"

namespace hearth {
namespace {

constexpr std::string_view kKey = "key";

void Read(std::string_view bytes) {
  static const c10::ClassTypePtr type = c10::ClassType::create(c10::QualifiedName("__torch__.C"), {});
  try {
    const std::vector<SpecProfile> profiles = ReadProfileFile(kKey, bytes);
    for (const SpecProfile& each : profiles) {
      const auto spec = each.spec.Restore(
          [&](const std::string& name) -> const c10::Type* { return name == "__torch__.C" ? type.get() : nullptr; });
      if (!spec) continue;
      const bool says_nothing = spec->Facts().empty();
      if (spec->ToString().empty() != says_nothing || !StoredSpec::Of(*spec)) std::abort();
      for (const StoredShape& stored : each.shapes) {
        const auto shape = ExactShape::Restore(stored.numbers, *spec);
        if (!shape) continue;
        std::vector<ArgumentFacts> facts = spec->Facts();
        shape->AddTo(facts);
        shape->AddAsLikelyTo(facts);
        if (shape->ToString().empty() || !ExactShape::Restore(shape->numbers(), *spec)) std::abort();
      }
    }
    // What was read is written, and read again, as it is.
    const std::vector<SpecProfile> again = ReadProfileFile(kKey, WriteProfileFile(kKey, profiles));
    if (again.size() != profiles.size()) std::abort();
    for (size_t i = 0; i < profiles.size(); ++i) {
      if (again[i].spec != profiles[i].spec || again[i].shapes != profiles[i].shapes) std::abort();
    }
  } catch (const ProfileFileError&) {
    // What bad bytes are meant to give.
  }
}

template <typename Number>
void Append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  std::string body;
  Append(body, static_cast<uint32_t>(kKey.size()));
  body += kKey;
  body += bytes;
  std::string file = "HEARTHPL";
  Append(file, uint32_t{3});
  Append(file, Crc32(body));
  Append(file, static_cast<uint64_t>(body.size()));
  Read(file + body);
  return 0;
}
