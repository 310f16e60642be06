#include "jit/profile_store/speculation_bytes.h"

#include <utility>

#include "jit/analysis/argument_words.h"

namespace hearth {
namespace {

constexpr uint8_t kUnsaid = 0xff;
constexpr uint8_t kNone = 1, kSome = 2;  // flags of a value
constexpr uint8_t kByEight = 1;          // flag of a dimension
// Flags of a tensor: the order of its dimensions, and the format that it suggests.
constexpr uint8_t kPlain = 1, kDefaultOrder = 2, kExactOrder = 4, kChannelsLastOrder = 8;
constexpr uint8_t kSuggestsDefault = 16, kSuggestsChannelsLast = 32;
enum ConstantKind : uint8_t { kNoConstant, kInt, kFloat, kBool, kString };

constexpr size_t kLeastValueBytes = 4 + 8 + 1 + 1 + 1 + 1;

void PutConstant(const std::optional<c10::IValue>& constant, FileBytes& bytes) {
  if (!constant) {
    bytes.Put(uint8_t{kNoConstant});
  } else if (constant->isInt()) {
    bytes.Put(uint8_t{kInt});
    bytes.Put(constant->toInt());
  } else if (constant->isDouble()) {
    bytes.Put(uint8_t{kFloat});
    bytes.Put(constant->toDouble());
  } else if (constant->isBool()) {
    bytes.Put(uint8_t{kBool});
    bytes.Put(uint8_t{constant->toBool()});
  } else {
    bytes.Put(uint8_t{kString});
    bytes.Put(std::string_view(constant->toStringRef()));
  }
}

// Of orders, a profile tells these two.
uint8_t FlagsOf(const ValueFacts& facts) {
  uint8_t flags = facts.plain ? kPlain : 0;
  if (facts.order.is_default() || facts.order.is_channels_last()) {
    flags |= facts.order.is_default() ? kDefaultOrder : kChannelsLastOrder;
    if (facts.order.is_exact()) flags |= kExactOrder;
  }
  if (facts.suggested_format == c10::MemoryFormat::Contiguous) flags |= kSuggestsDefault;
  if (facts.suggested_format == c10::MemoryFormat::ChannelsLast) flags |= kSuggestsChannelsLast;
  return flags;
}

void PutFacts(const ValueFacts& facts, FileBytes& bytes) {
  bytes.Put(static_cast<uint8_t>(facts.kind));
  if (!facts.is_tensor()) return;
  bytes.Put(facts.dtype ? static_cast<uint8_t>(*facts.dtype) : kUnsaid);
  bytes.Put(facts.device ? static_cast<uint8_t>(facts.device->type()) : kUnsaid);
  bytes.Put(facts.device ? static_cast<uint8_t>(facts.device->index()) : kUnsaid);
  bytes.Put(facts.requires_grad ? uint8_t{*facts.requires_grad} : kUnsaid);
  bytes.Put(FlagsOf(facts));
  const bool has_sizes = facts.sizes && facts.sizes->size() <= ArgumentSpec::kMaxRank;
  bytes.Put(has_sizes ? static_cast<uint8_t>(facts.sizes->size()) : kUnsaid);
  if (!has_sizes) return;
  for (const KnownSize& size : *facts.sizes) bytes.Put(size.value_or(-1));
}

uint8_t TakeFlags(FileReader& reader, uint8_t profiles, const char* what) {
  const auto flags = reader.Take<uint8_t>(what);
  if ((flags & ~profiles) != 0) throw ProfileFileError(std::string(what) + " is " + std::to_string(flags));
  return flags;
}

std::optional<c10::IValue> TakeConstant(FileReader& reader) {
  const auto kind = reader.Take<uint8_t>("a constant's kind");
  switch (kind) {
    case kNoConstant:
      return std::nullopt;
    case kInt:
      return reader.Take<int64_t>("a constant");
    case kFloat:
      return reader.Take<double>("a constant");
    case kBool:
      return TakeFlags(reader, 1, "a bool") != 0;
    case kString:
      return std::string(reader.TakeString("a constant"));
    default:
      throw ProfileFileError("there is no kind " + std::to_string(kind) + " of constants");
  }
}

void TakeOrder(FileReader& reader, ValueFacts* facts) {
  constexpr uint8_t kOrders = kDefaultOrder | kChannelsLastOrder, kFormats = kSuggestsDefault | kSuggestsChannelsLast;
  const uint8_t flags = TakeFlags(reader, kPlain | kOrders | kExactOrder | kFormats, "the flags of a tensor");
  const bool two = (flags & kOrders) == kOrders || (flags & kFormats) == kFormats;
  if (two || (flags & (kOrders | kExactOrder)) == kExactOrder) {
    throw ProfileFileError("the flags of a tensor contradict each other: " + std::to_string(flags));
  }
  facts->plain = (flags & kPlain) != 0;
  const bool exact = (flags & kExactOrder) != 0;
  if ((flags & kDefaultOrder) != 0) facts->order = StrideOrder::Default(exact);
  if ((flags & kChannelsLastOrder) != 0) facts->order = StrideOrder::ChannelsLast(exact);
  if ((flags & kSuggestsDefault) != 0) facts->suggested_format = c10::MemoryFormat::Contiguous;
  if ((flags & kSuggestsChannelsLast) != 0) facts->suggested_format = c10::MemoryFormat::ChannelsLast;
}

// A rank, or kUnsaid where it may be that.
uint8_t TakeRank(FileReader& reader, bool may_be_unsaid) {
  const auto rank = reader.Take<uint8_t>("a rank");
  if (rank > ArgumentSpec::kMaxRank && !(may_be_unsaid && rank == kUnsaid)) {
    throw ProfileFileError("a tensor has rank " + std::to_string(rank));
  }
  return rank;
}

ValueFacts TakeFacts(FileReader& reader) {
  ValueFacts facts;
  const auto kind = reader.Take<uint8_t>("a value's kind");
  if (kind > static_cast<uint8_t>(ValueFacts::Kind::kNone)) {
    throw ProfileFileError("there is no kind " + std::to_string(kind) + " of values");
  }
  facts.kind = static_cast<ValueFacts::Kind>(kind);
  if (!facts.is_tensor()) return facts;
  if (const auto dtype = reader.Take<uint8_t>("a dtype"); dtype != kUnsaid) {
    if (dtype >= static_cast<uint8_t>(c10::ScalarType::Undefined)) {
      throw ProfileFileError("there is no dtype " + std::to_string(dtype));
    }
    facts.dtype = static_cast<c10::ScalarType>(dtype);
  }
  const auto device = reader.Take<uint8_t>("a device");
  const auto index = static_cast<c10::DeviceIndex>(reader.Take<uint8_t>("a device's index"));
  if (device != kUnsaid) {
    if (!argument_words::IsDevice(device, index)) {
      throw ProfileFileError("there is no device " + std::to_string(device) + ":" + std::to_string(index));
    }
    facts.device = c10::Device(static_cast<c10::DeviceType>(device), index);
  }
  if (const auto gradient = reader.Take<uint8_t>("requires_grad"); gradient != kUnsaid) facts.requires_grad = gradient;
  TakeOrder(reader, &facts);
  const uint8_t rank = TakeRank(reader, /*may_be_unsaid=*/true);
  if (rank == kUnsaid) return facts;
  for (KnownSize& size : facts.sizes.emplace(rank)) {
    const auto profiles = reader.Take<int64_t>("a size");
    if (profiles < -1) throw ProfileFileError("a size is " + std::to_string(profiles));
    if (profiles >= 0) size = profiles;
  }
  return facts;
}

void PutValue(const ValueObservation& seen, FileBytes& bytes) {
  bytes.Put(seen.runs);
  bytes.Put(seen.times);
  bytes.Put(static_cast<uint8_t>((seen.none ? kNone : 0) | (seen.some ? kSome : 0)));
  PutConstant(seen.constant, bytes);
  PutFacts(seen.facts, bytes);
  const bool has_dimensions = seen.dimensions.size() <= ArgumentSpec::kMaxRank;
  bytes.Put(static_cast<uint8_t>(has_dimensions ? seen.dimensions.size() : 0));
  if (!has_dimensions) return;
  for (const ValueObservation::Dimension& dimension : seen.dimensions) {
    bytes.Put(static_cast<uint8_t>(dimension.by_eight ? kByEight : 0));
    bytes.Put(dimension.symbol);
  }
}

ValueObservation TakeValue(FileReader& reader) {
  ValueObservation seen;
  seen.runs = reader.Take<uint32_t>("the runs of a value");
  seen.times = reader.Take<uint64_t>("how often a value was seen");
  const uint8_t flags = TakeFlags(reader, kNone | kSome, "the flags of a value");
  seen.none = (flags & kNone) != 0;
  seen.some = (flags & kSome) != 0;
  seen.constant = TakeConstant(reader);
  seen.facts = TakeFacts(reader);
  seen.dimensions.resize(TakeRank(reader, /*may_be_unsaid=*/false));
  for (ValueObservation::Dimension& dimension : seen.dimensions) {
    dimension.by_eight = TakeFlags(reader, kByEight, "the flags of a dimension") != 0;
    dimension.symbol = reader.Take<uint64_t>("a dimension's symbol");
  }
  return seen;
}

}  // namespace

void PutProfile(const SpeculationProfile& profile, FileBytes& bytes) {
  bytes.Put(profile.baseline);
  bytes.Put(profile.deoptimisations);
  bytes.Put(static_cast<uint32_t>(profile.deoptimised.size()));
  for (const size_t number : profile.deoptimised) bytes.Put(uint64_t{number});
  bytes.Put(profile.seen.runs);
  bytes.Put(static_cast<uint32_t>(profile.seen.values.size()));
  for (const auto& [number, seen] : profile.seen.values) {
    bytes.Put(uint64_t{number});
    PutValue(seen, bytes);
  }
}

SpeculationProfile TakeProfile(FileReader& reader) {
  SpeculationProfile profile;
  profile.baseline = reader.Take<uint64_t>("a profile");
  profile.deoptimisations = reader.Take<uint32_t>("a profile");
  const uint32_t deoptimised = reader.TakeCount(8, "the deoptimised values");
  for (uint32_t i = 0; i < deoptimised; ++i)
    profile.deoptimised.insert(reader.Take<uint64_t>("the deoptimised values"));
  profile.seen.runs = reader.Take<uint32_t>("a profile");
  const uint32_t values = reader.TakeCount(8 + kLeastValueBytes, "a profile's values");
  for (uint32_t i = 0; i < values; ++i) {
    const auto number = reader.Take<uint64_t>("a value's number");
    profile.seen.values[number] = TakeValue(reader);
  }
  return profile;
}

}  // namespace hearth
