#include "jit/analysis/argument_spec.h"

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <c10/core/DispatchKeySet.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>
#include <string_view>

#include "jit/analysis/argument_words.h"

namespace hearth {

using namespace argument_words;

namespace {

constexpr c10::DispatchKeySet kAutograd(c10::DispatchKey::AutogradFunctionality);
constexpr c10::DispatchKeySet kInplaceOrView(c10::DispatchKey::ADInplaceOrView);
// What a dense tensor's key set may hold without saying more than its device does.
constexpr c10::DispatchKeySet kPlain = c10::DispatchKeySet(c10::DispatchKeySet::RAW, c10::full_backend_mask) |
                                       c10::DispatchKeySet(c10::DispatchKey::Dense) | kAutograd | kInplaceOrView |
                                       c10::autocast_dispatch_keyset;
// Tensors that answer questions about their sizes in ways of their own.
constexpr c10::DispatchKeySet kOpaque = c10::python_ks | c10::DispatchKeySet(c10::DispatchKey::NestedTensor);

c10::MemoryFormat SuggestedFormat(const c10::TensorImpl& tensor) {
  if (tensor.is_strides_like_channels_last()) return c10::MemoryFormat::ChannelsLast;
  if (tensor.is_strides_like_channels_last_3d()) return c10::MemoryFormat::ChannelsLast3d;
  return c10::MemoryFormat::Contiguous;
}

LayoutClass ClassOf(const c10::TensorImpl& tensor) {
  if (tensor.is_contiguous()) return LayoutClass::kContiguous;
  if (tensor.is_contiguous(c10::MemoryFormat::ChannelsLast)) return LayoutClass::kChannelsLast;
  if (tensor.is_contiguous(c10::MemoryFormat::ChannelsLast3d)) return LayoutClass::kChannelsLast3d;
  if (tensor.is_non_overlapping_and_dense_or_false()) return LayoutClass::kDense;
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1) return LayoutClass::kExpanded;
  }
  return LayoutClass::kNotDense;
}

}  // namespace

class ArgumentPacker {
 public:
  explicit ArgumentPacker(c10::SmallVectorImpl<uint64_t>& words) : words_(words) {}

  void Push(uint64_t word) {
    words_.push_back(word);
    hash_ = AddToHash(hash_, word);
  }

  // Whether the bounds allowed it; if not, what has been packed is useless.
  bool Pack(const c10::IValue& value, size_t depth) {
    if (words_.size() >= ArgumentSpec::kMaxWords) return false;
    if (value.isTensor()) return PackTensor(*value.unsafeToTensorImpl());
    if (value.isNone()) return PackKind(ArgumentKind::kNone);
    if (value.isInt()) return PackKind(ArgumentKind::kInt);
    if (value.isDouble()) return PackKind(ArgumentKind::kFloat);
    if (value.isBool()) return PackKind(ArgumentKind::kBool);
    if (value.isString()) return PackKind(ArgumentKind::kString);
    if (value.isList()) return PackList(value, depth);
    if (value.isTuple()) {
      const uint64_t word = static_cast<uint64_t>(ArgumentKind::kTuple) | kElementsFollow;
      return PackElements(word, value.toTupleRef().elements().asArrayRef(), depth);
    }
    if (value.isGenericDict()) return PackDict(value.toGenericDict(), depth);
    if (value.isObject()) return PackClass(ArgumentKind::kObject, value.toObjectRef().type().get());
    if (value.isEnum()) return PackClass(ArgumentKind::kEnum, value.toEnumHolder()->type().get());
    if (value.isComplexDouble()) return PackKind(ArgumentKind::kComplex);
    if (value.isDevice()) return PackKind(ArgumentKind::kDevice);
    if (value.isGenerator()) return PackKind(ArgumentKind::kGenerator);
    if (value.isStream()) return PackKind(ArgumentKind::kStream);
    if (value.isStorage()) return PackKind(ArgumentKind::kStorage);
    if (value.isFuture()) return PackKind(ArgumentKind::kFuture);
    if (value.isAwait()) return PackKind(ArgumentKind::kAwait);
    return false;
  }

  uint64_t hash() const { return hash_; }

 private:
  bool PackKind(ArgumentKind kind) {
    Push(static_cast<uint64_t>(kind));
    return true;
  }

  bool PackTensor(const c10::TensorImpl& tensor) {
    if (&tensor == c10::UndefinedTensorImpl::singleton()) return PackKind(ArgumentKind::kUndefinedTensor);
    if (tensor.has_symbolic_sizes_strides()) return false;
    const c10::DispatchKeySet keys = tensor.key_set();
    const bool has_autograd = keys.has_any(kAutograd);
    const bool has_inplace_or_view = keys.has_any(kInplaceOrView);
    const bool plain = (keys.raw_repr() & ~kPlain.raw_repr()) == 0 && has_autograd == has_inplace_or_view;
    const c10::Device device = tensor.device();
    const c10::ScalarType dtype = c10::typeMetaToScalarType(tensor.dtype());
    uint64_t word = static_cast<uint64_t>(ArgumentKind::kTensor) | static_cast<uint64_t>(dtype) << kDtypeShift |
                    static_cast<uint64_t>(device.type()) << kDeviceTypeShift |
                    static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << kDeviceIndexShift;
    if (tensor.requires_grad()) word |= kRequiresGrad;
    if (!has_autograd && !has_inplace_or_view) word |= kInference;
    if (tensor.is_wrapped_number()) word |= kWrappedNumber;
    if (!plain) word |= kHasKeys;

    SizeClasses size_classes;
    uint64_t rank = kNoRank;
    auto layout_class = LayoutClass::kNotStrided;
    c10::Layout layout = c10::kStrided;
    if (plain || !keys.has_any(kOpaque)) {
      const c10::IntArrayRef sizes = tensor.sizes();
      if (sizes.size() > ArgumentSpec::kMaxRank) return false;
      rank = sizes.size();
      for (size_t i = 0; i < sizes.size(); ++i) {
        size_classes.Set(i, SizeClasses::Of(sizes[i], dtype, rank, i));
      }
      layout = plain ? c10::kStrided : tensor.layout();
      if (layout == c10::kStrided) {
        layout_class = ClassOf(tensor);
        word |= static_cast<uint64_t>(SuggestedFormat(tensor)) << kFormatShift;
      }
    }
    Push(word | rank << kRankShift | static_cast<uint64_t>(layout_class) << kLayoutClassShift |
         static_cast<uint64_t>(layout) << kLayoutShift);
    Push(size_classes.word());
    if (!plain) Push(keys.raw_repr());
    return true;
  }

  bool PackClass(ArgumentKind kind, const c10::Type* type) {
    Push(static_cast<uint64_t>(kind));
    Push(std::bit_cast<uintptr_t>(type));
    return true;
  }

  bool PackList(const c10::IValue& list, size_t depth) {
    const c10::ArrayRef<c10::IValue> elements = list.toListRef();
    const c10::TypeKind kind = list.toList().elementType()->kind();
    const uint64_t word = static_cast<uint64_t>(ArgumentKind::kList) | static_cast<uint64_t>(kind) << kContainedShift;
    if (IsScalar(kind)) {
      const uint64_t length = elements.size() <= ArgumentSpec::kMaxExactLength ? elements.size() : kLong;
      Push(word | length << kLengthShift);
      return true;
    }
    return PackElements(word | kElementsFollow, elements, depth);
  }

  bool PackElements(uint64_t word, c10::ArrayRef<c10::IValue> elements, size_t depth) {
    if (depth >= ArgumentSpec::kMaxDepth || elements.size() > ArgumentSpec::kMaxLength) return false;
    Push(word | static_cast<uint64_t>(elements.size()) << kLengthShift);
    return std::ranges::all_of(elements, [&](const c10::IValue& element) { return Pack(element, depth + 1); });
  }

  bool PackDict(const c10::impl::GenericDict& dict, size_t depth) {
    if (depth >= ArgumentSpec::kMaxDepth || dict.size() > ArgumentSpec::kMaxLength) return false;
    Push(static_cast<uint64_t>(ArgumentKind::kDict) |
         static_cast<uint64_t>(dict.valueType()->kind()) << kContainedShift |
         static_cast<uint64_t>(dict.size()) << kLengthShift);
    for (const auto& item : dict) {
      if (!PackKey(item.key()) || !Pack(item.value(), depth + 1)) return false;
    }
    return true;
  }

  bool PackKey(const c10::IValue& key) {
    if (key.isString()) return PackStringKey(key.toStringRef());
    if (key.isInt()) {
      Push(kIntKey);
      Push(static_cast<uint64_t>(key.toInt()));
    } else if (key.isDouble()) {
      Push(kFloatKey);
      Push(std::bit_cast<uint64_t>(key.toDouble()));
    } else if (key.isBool()) {
      Push(kBoolKey);
      Push(key.toBool() ? 1 : 0);
    } else {
      return false;
    }
    return true;
  }

  bool PackStringKey(std::string_view text) {
    if (text.size() > ArgumentSpec::kMaxKeyBytes) return false;
    Push(kStringKey | static_cast<uint64_t>(text.size()) << kLengthShift);
    for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 8))) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), std::min<size_t>(text.size(), 8));
      Push(word);
    }
    return true;
  }

  c10::SmallVectorImpl<uint64_t>& words_;
  uint64_t hash_ = 0;
};

namespace {

// Reads what ArgumentPacker wrote.
class SpecReader {
 public:
  explicit SpecReader(std::span<const uint64_t> words) : words_(words) {}

  bool AtEnd() const { return words_.empty(); }

  ArgumentFacts Read() {
    const uint64_t word = Next();
    ArgumentFacts facts;
    facts.kind = static_cast<ArgumentKind>(Byte(word, 0));
    switch (facts.kind) {
      case ArgumentKind::kTensor:
        facts.tensor = ReadTensor(word);
        break;
      case ArgumentKind::kObject:
      case ArgumentKind::kEnum:
        facts.type = std::bit_cast<const c10::Type*>(static_cast<uintptr_t>(Next()));
        break;
      case ArgumentKind::kList:
      case ArgumentKind::kTuple:
      case ArgumentKind::kDict:
        ReadContainer(word, &facts);
        break;
      default:
        break;
    }
    return facts;
  }

 private:
  uint64_t Next() {
    const uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

  TensorFacts ReadTensor(uint64_t word) {
    TensorFacts facts;
    facts.dtype = static_cast<c10::ScalarType>(Byte(word, kDtypeShift));
    facts.device = c10::Device(static_cast<c10::DeviceType>(Byte(word, kDeviceTypeShift)),
                               static_cast<c10::DeviceIndex>(Byte(word, kDeviceIndexShift)));
    if (Byte(word, kRankShift) != kNoRank) facts.rank = static_cast<uint8_t>(Byte(word, kRankShift));
    facts.layout_class = static_cast<LayoutClass>(HalfByte(word, kLayoutClassShift));
    facts.layout = static_cast<c10::Layout>(HalfByte(word, kLayoutShift));
    facts.suggested_format = static_cast<c10::MemoryFormat>(HalfByte(word, kFormatShift));
    facts.requires_grad = (word & kRequiresGrad) != 0;
    facts.is_inference = (word & kInference) != 0;
    facts.is_wrapped_number = (word & kWrappedNumber) != 0;
    facts.size_classes = SizeClasses(Next());
    if ((word & kHasKeys) != 0) facts.keys = Next();
    return facts;
  }

  void ReadContainer(uint64_t word, ArgumentFacts* facts) {
    const uint64_t length = word >> kLengthShift;
    if (length != kLong) facts->length = length;
    facts->contained = facts->kind == ArgumentKind::kTuple ? c10::TypeKind::AnyType
                                                           : static_cast<c10::TypeKind>(Byte(word, kContainedShift));
    if (facts->kind == ArgumentKind::kDict) {
      for (uint64_t i = 0; i < length; ++i) {
        facts->keys.push_back(ReadKey());
        facts->elements.push_back(Read());
      }
    } else if ((word & kElementsFollow) != 0) {
      for (uint64_t i = 0; i < length; ++i) facts->elements.push_back(Read());
    }
  }

  c10::IValue ReadKey() {
    const uint64_t word = Next();
    switch (Byte(word, 0)) {
      case kIntKey:
        return static_cast<int64_t>(Next());
      case kFloatKey:
        return std::bit_cast<double>(Next());
      case kBoolKey:
        return Next() != 0;
      default: {
        std::string text(word >> kLengthShift, '\0');
        for (size_t at = 0; at < text.size(); at += 8) {
          const uint64_t part = Next();
          std::memcpy(text.data() + at, &part, std::min<size_t>(text.size() - at, 8));
        }
        return text;
      }
    }
  }

  std::span<const uint64_t> words_;
};

const char* NameOf(ArgumentKind kind) {
  static constexpr const char* kNames[] = {
      "Tensor",    "undefined Tensor", "None",   "int",   "float", "bool",   "complex", "str",   "Device", "Stream",
      "Generator", "Storage",          "Future", "Await", "enum",  "object", "List",    "Tuple", "Dict"};
  return kNames[static_cast<size_t>(kind)];
}

const char* NameOf(LayoutClass layout) {
  static constexpr const char* kNames[] = {"contiguous", "channels_last", "channels_last_3d",
                                           "dense",      "expanded",      "not_dense"};
  return kNames[static_cast<size_t>(layout)];
}

std::string ContainedName(c10::TypeKind kind) {
  const std::string_view name = c10::typeKindToString(kind);
  return std::string(name.substr(0, name.find("Type")));
}

class SpecPrinter {
 public:
  std::string Print(std::span<const ArgumentFacts> arguments) {
    PrintAll(arguments);
    return std::move(out_).str();
  }

 private:
  void PrintAll(std::span<const ArgumentFacts> all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (i != 0) out_ << ", ";
      PrintOne(all[i]);
    }
  }

  void PrintOne(const ArgumentFacts& facts) {
    switch (facts.kind) {
      case ArgumentKind::kTensor:
        return PrintTensor(facts.tensor);
      case ArgumentKind::kObject:
      case ArgumentKind::kEnum:
        out_ << facts.type->annotation_str();
        return;
      case ArgumentKind::kList:
        return PrintList(facts);
      case ArgumentKind::kTuple:
        out_ << '(';
        PrintAll(facts.elements);
        out_ << ')';
        return;
      case ArgumentKind::kDict:
        return PrintDict(facts);
      default:
        out_ << NameOf(facts.kind);
    }
  }

  void PrintTensor(const TensorFacts& facts) {
    out_ << c10::toString(facts.dtype) << '[';
    if (facts.rank) {
      out_ << static_cast<int>(*facts.rank);
      for (unsigned i = 0; i < *facts.rank; ++i) {
        const SizeClass size_class = facts.size_classes[i];
        out_ << (i == 0 ? ": " : ", ");
        if (size_class == SizeClass::kSeveral) {
          out_ << '*';
        } else {
          out_ << LeastOf(size_class) << (size_class > SizeClass::kSeveral ? "+" : "");
        }
      }
    } else {
      out_ << '?';
    }
    out_ << "] " << facts.device << ' ';
    if (facts.layout_class != LayoutClass::kNotStrided) {
      out_ << NameOf(facts.layout_class);
    } else if (facts.rank) {
      out_ << facts.layout;
    } else {
      out_ << "opaque";
    }
    if (facts.requires_grad) out_ << " requires_grad";
    if (facts.is_inference) out_ << " inference";
    if (facts.is_wrapped_number) out_ << " wrapped_number";
    if (facts.keys) out_ << ' ' << c10::DispatchKeySet::from_raw_repr(*facts.keys);
  }

  void PrintList(const ArgumentFacts& facts) {
    if (!facts.elements.empty()) {
      out_ << '[';
      PrintAll(facts.elements);
      out_ << ']';
      return;
    }
    out_ << "List[" << ContainedName(facts.contained) << "] of ";
    if (facts.length) {
      out_ << *facts.length;
    } else {
      out_ << "more than " << ArgumentSpec::kMaxExactLength;
    }
  }

  void PrintDict(const ArgumentFacts& facts) {
    out_ << '{';
    for (size_t i = 0; i < facts.elements.size(); ++i) {
      if (i != 0) out_ << ", ";
      out_ << facts.keys[i] << ": ";
      PrintOne(facts.elements[i]);
    }
    out_ << '}';
  }

  std::ostringstream out_;
};

}  // namespace

std::optional<ArgumentSpec> ArgumentSpec::Of(std::span<const c10::IValue> arguments) {
  std::optional<ArgumentSpec> spec(std::in_place);
  ArgumentPacker packer(spec->words_);
  for (const c10::IValue& argument : arguments) {
    if (packer.Pack(argument, 0)) continue;
    spec.reset();
    return spec;
  }
  spec->hash_ = packer.hash();
  return spec;
}

size_t ArgumentSpec::bytes() const {
  return sizeof(*this) + (words_.size() > kInlineWords ? words_.capacity() * sizeof(uint64_t) : 0);
}

std::vector<ArgumentFacts> ArgumentSpec::Facts() const {
  SpecReader reader(std::span(words_.data(), words_.size()));
  std::vector<ArgumentFacts> facts;
  while (!reader.AtEnd()) facts.push_back(reader.Read());
  return facts;
}

std::string ArgumentSpec::ToString() const { return SpecPrinter().Print(Facts()); }

}  // namespace hearth
