#include "server/repository/observed_tensors.h"

#include <algorithm>

namespace hearth::server {
namespace {

uint32_t BitOf(const Datatype& datatype) { return uint32_t{1} << datatype.config; }

}  // namespace

bool ObservedTensors::Slot::Covers(const Datatype& datatype, c10::IntArrayRef shape) const {
  if ((datatypes_.load(std::memory_order_relaxed) & BitOf(datatype)) == 0) return false;
  // The sizes are set before the rank is.
  const int rank = rank_.load(std::memory_order_acquire);
  if (rank == kVaries) return true;
  if (rank != static_cast<int>(shape.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = sizes_[i].load(std::memory_order_relaxed);
    if (size != -1 && size != shape[i]) return false;
  }
  return true;
}

void ObservedTensors::Slot::Add(const Datatype& datatype, c10::IntArrayRef shape) {
  if (first_ == nullptr) first_ = &datatype;
  datatypes_ |= BitOf(datatype);
  const int rank = rank_;
  if (rank == kVaries) return;
  if (shape.size() > kMostDimensions || (rank != kUnseen && rank != static_cast<int>(shape.size()))) {
    rank_ = kVaries;
    return;
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (rank == kUnseen) {
      sizes_[i] = shape[i];
    } else if (sizes_[i] != shape[i]) {
      sizes_[i] = -1;
    }
  }
  rank_ = static_cast<int>(shape.size());
}

std::optional<TensorFacts> ObservedTensors::Slot::facts() const {
  const int rank = rank_;
  if (rank == kUnseen) return std::nullopt;
  TensorFacts facts;
  facts.datatypes.push_back(first_);
  for (int number = inference::DataType_MIN; number <= inference::DataType_MAX; ++number) {
    const Datatype* datatype = FindDatatype(static_cast<inference::DataType>(number));
    if (datatype == nullptr || datatype == first_ || (datatypes_ & BitOf(*datatype)) == 0) continue;
    facts.datatypes.push_back(datatype);
  }
  if (rank != kVaries) facts.shape.emplace(sizes_.begin(), sizes_.begin() + rank);
  return facts;
}

template <typename Slots>
auto ObservedTensors::Find(Slots& named, size_t number, std::string_view name, size_t hint) -> decltype(named.data()) {
  const auto is_it = [&](const NamedSlot& slot) { return slot.number == number && slot.name == name; };
  if (hint < named.size() && is_it(named[hint])) return &named[hint];
  const auto found = std::find_if(named.begin(), named.end(), is_it);
  return found == named.end() ? nullptr : &*found;
}

bool ObservedTensors::Covers(std::span<const SeenTensor> call) const {
  const bool names_vary = names_vary_.load(std::memory_order_relaxed);
  const NamedSlots* named = named_.load(std::memory_order_acquire);
  size_t count = 0;
  for (const SeenTensor& tensor : call) {
    if (!slots_[tensor.number].Covers(*tensor.datatype, tensor.shape)) return false;
    if (tensor.name.empty() || names_vary) continue;
    if (named == nullptr) return false;
    const NamedSlot* slot = Find(*named, tensor.number, tensor.name, count++);
    if (slot == nullptr || !slot->slot.Covers(*tensor.datatype, tensor.shape)) return false;
  }
  return names_vary || named == nullptr || count == named->size();
}

void ObservedTensors::Record(std::span<const Sighting> call) {
  const std::lock_guard lock(recording_);
  for (const Sighting& tensor : call) slots_[tensor.number].Add(*tensor.datatype, tensor.shape);
  RecordNames(call);
}

void ObservedTensors::RecordNames(std::span<const Sighting> call) {
  if (names_vary_) return;
  const auto count =
      static_cast<size_t>(std::ranges::count_if(call, [](const Sighting& t) { return !t.name.empty(); }));
  const bool too_long = std::ranges::any_of(call, [](const Sighting& t) { return t.name.size() > kLongestName; });
  if (count > kMostNames || too_long || (owned_ != nullptr && owned_->size() != count)) {
    names_vary_ = true;
    return;
  }
  if (count == 0) return;
  if (owned_ == nullptr) {
    auto named = std::make_unique<NamedSlots>(count);
    size_t next = 0;
    for (const Sighting& tensor : call) {
      if (tensor.name.empty()) continue;
      NamedSlot& slot = (*named)[next++];
      slot.number = tensor.number;
      slot.name = tensor.name;
      slot.slot.Add(*tensor.datatype, tensor.shape);
    }
    owned_ = std::move(named);
    named_.store(owned_.get(), std::memory_order_release);
    return;
  }
  size_t hint = 0;
  for (const Sighting& tensor : call) {
    if (tensor.name.empty()) continue;
    NamedSlot* slot = Find(*owned_, tensor.number, tensor.name, hint++);
    if (slot == nullptr) {
      names_vary_ = true;
      return;
    }
    slot->slot.Add(*tensor.datatype, tensor.shape);
  }
}

std::optional<TensorFacts> ObservedTensors::FactsOf(size_t number) const {
  const std::lock_guard lock(recording_);
  return slots_[number].facts();
}

std::vector<ObservedTensors::Named> ObservedTensors::named() const {
  const std::lock_guard lock(recording_);
  std::vector<Named> named;
  if (names_vary_ || owned_ == nullptr) return named;
  for (const NamedSlot& slot : *owned_) named.push_back({slot.number, slot.name, *slot.slot.facts()});
  return named;
}

}  // namespace hearth::server
