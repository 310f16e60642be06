#include "jit/analysis/stored_spec.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "jit/analysis/argument_words.h"

namespace hearth {

using namespace argument_words;

namespace {

#define HEARTH_COUNT_TYPE(T) +1
constexpr uint64_t kTypeKinds = 0 C10_FORALL_TYPES(HEARTH_COUNT_TYPE);
#undef HEARTH_COUNT_TYPE

std::string NameOfClass(const c10::Type& type) {
  const auto* named = type.castRaw<c10::NamedType>();
  return named != nullptr && named->name() ? named->name()->qualifiedName() : std::string();
}

// Walks over a spec's words as its reader does, trusting none of them, and gives the place of every class to `visit`,
// which may change the word there.
class SpecWalk {
 public:
  using VisitClass = std::function<bool(uint64_t& word)>;
  SpecWalk(std::span<uint64_t> words, const VisitClass& visit) : words_(words), visit_(visit) {}

  // Whether the words are some arguments, each of which can be stored.
  bool Arguments() {
    while (!words_.empty()) {
      if (!Argument(0)) return false;
    }
    return true;
  }

 private:
  bool Next(uint64_t* word) {
    if (words_.empty()) return false;
    *word = words_.front();
    words_ = words_.subspan(1);
    return true;
  }

  bool Argument(size_t depth) {
    uint64_t word = 0;
    if (!Next(&word) || Byte(word, 0) > static_cast<uint64_t>(ArgumentKind::kDict)) return false;
    switch (static_cast<ArgumentKind>(Byte(word, 0))) {
      case ArgumentKind::kTensor:
        return Tensor(word);
      case ArgumentKind::kObject:
      case ArgumentKind::kEnum:
        if (words_.empty() || !visit_(words_.front())) return false;
        words_ = words_.subspan(1);
        return true;
      case ArgumentKind::kList:
      case ArgumentKind::kTuple:
        return Sequence(word, depth);
      case ArgumentKind::kDict:
        return Dict(word, depth);
      default:
        return true;
    }
  }

  bool Tensor(uint64_t word) {
    uint64_t size_classes = 0;
    if ((word & kHasKeys) != 0 || !Next(&size_classes)) return false;
    const auto index = static_cast<int8_t>(Byte(word, kDeviceIndexShift));
    return Byte(word, kDtypeShift) < static_cast<uint64_t>(c10::ScalarType::Undefined) &&
           IsDevice(Byte(word, kDeviceTypeShift), index) &&
           SizeClasses::IsValid(size_classes, Byte(word, kRankShift)) &&
           HalfByte(word, kLayoutClassShift) <= static_cast<uint64_t>(LayoutClass::kNotDense) &&
           HalfByte(word, kLayoutShift) == static_cast<uint64_t>(c10::kStrided) &&
           HalfByte(word, kFormatShift) < static_cast<uint64_t>(c10::MemoryFormat::NumOptions);
  }

  bool Sequence(uint64_t word, size_t depth) {
    const uint64_t length = word >> kLengthShift;
    const bool is_list = Byte(word, 0) == static_cast<uint64_t>(ArgumentKind::kList);
    const uint64_t contained = Byte(word, kContainedShift);
    if (is_list && contained >= kTypeKinds) return false;
    const bool by_length = is_list && IsScalar(static_cast<c10::TypeKind>(contained));
    if (by_length == ((word & kElementsFollow) != 0)) return false;
    if (by_length) return length <= ArgumentSpec::kMaxExactLength || length == kLong;
    if (depth >= ArgumentSpec::kMaxDepth || length > ArgumentSpec::kMaxLength) return false;
    for (uint64_t i = 0; i < length; ++i) {
      if (!Argument(depth + 1)) return false;
    }
    return true;
  }

  bool Dict(uint64_t word, size_t depth) {
    const uint64_t length = word >> kLengthShift;
    if (Byte(word, kContainedShift) >= kTypeKinds) return false;
    if (depth >= ArgumentSpec::kMaxDepth || length > ArgumentSpec::kMaxLength) return false;
    for (uint64_t i = 0; i < length; ++i) {
      if (!Key() || !Argument(depth + 1)) return false;
    }
    return true;
  }

  bool Key() {
    uint64_t word = 0;
    if (!Next(&word)) return false;
    switch (Byte(word, 0)) {
      case kIntKey:
      case kFloatKey:
      case kBoolKey:
        return Next(&word);
      case kStringKey: {
        const uint64_t length = word >> kLengthShift;
        if (length > ArgumentSpec::kMaxKeyBytes || words_.size() < (length + 7) / 8) return false;
        words_ = words_.subspan((length + 7) / 8);
        return true;
      }
      default:
        return false;
    }
  }

  std::span<uint64_t> words_;
  const VisitClass& visit_;
};

}  // namespace

std::optional<StoredSpec> StoredSpec::Of(const ArgumentSpec& spec) {
  StoredSpec stored;
  stored.words_.assign(spec.words_.begin(), spec.words_.end());
  const SpecWalk::VisitClass name_class = [&](uint64_t& word) {
    std::string name = NameOfClass(*std::bit_cast<const c10::Type*>(static_cast<uintptr_t>(word)));
    if (name.empty()) return false;
    const auto found = std::ranges::find(stored.classes_, name);
    word = static_cast<uint64_t>(found - stored.classes_.begin());
    if (found == stored.classes_.end()) stored.classes_.push_back(std::move(name));
    return true;
  };
  if (!SpecWalk(stored.words_, name_class).Arguments()) return std::nullopt;
  return stored;
}

std::optional<ArgumentSpec> StoredSpec::Restore(const FindClass& find_class) const {
  if (words_.size() > ArgumentSpec::kMaxWords) return std::nullopt;
  std::vector<uint64_t> words = words_;
  const SpecWalk::VisitClass place_class = [&](uint64_t& word) {
    const c10::Type* type = word < classes_.size() ? find_class(classes_[word]) : nullptr;
    word = std::bit_cast<uintptr_t>(type);
    return type != nullptr;
  };
  if (!SpecWalk(words, place_class).Arguments()) return std::nullopt;
  std::optional<ArgumentSpec> spec(std::in_place);
  for (const uint64_t word : words) {
    spec->words_.push_back(word);
    spec->hash_ = AddToHash(spec->hash_, word);
  }
  return spec;
}

}  // namespace hearth
