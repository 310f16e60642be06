#include "jit/weights/derived_constants.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

// Until it is there: runs with streams of their own do not wait for this thread's.
void WaitFor(const at::Tensor& made) {
  if (!made.defined() || made.is_cpu() || made.is_meta()) return;
  c10::impl::VirtualGuardImpl(made.device().type()).getStream(made.device()).synchronize();
}

std::string_view BytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

size_t MemoryOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? std::min(tensor.nbytes(), tensor.storage().nbytes()) : tensor.nbytes();
}

bool AreSame(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return false;
  if (a.is_same(b)) return true;
  if (!a.is_cpu()) return false;
  if (a.layout() != b.layout() || a.device() != b.device() || a.dtype() != b.dtype() || a.sizes() != b.sizes()) {
    return false;
  }
  const bool dense = a.layout() == at::kStrided && a.strides() == b.strides() && a.is_non_overlapping_and_dense();
  return dense && BytesOf(a) == BytesOf(b);
}

size_t DerivedConstantBudget::Sum() const {
  size_t sum = 0;
  for (const DerivedConstantTable* table : tables_) sum += table->held_;
  return sum;
}

bool DerivedConstantBudget::TryHold(DerivedConstantTable& table, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [&] { return bytes <= limit_ && Sum() - table.held_ <= limit_ - bytes; };
  if (!fits()) {
    // Plans of others may have gone meanwhile. Who is making something now counts by himself.
    for (DerivedConstantTable* other : tables_) {
      if (other == &table) continue;
      if (const std::unique_lock counting(other->mutex_, std::try_to_lock); counting.owns_lock()) {
        other->held_ = other->BytesHeld();
      }
    }
    if (!fits()) return false;
  }
  table.held_ = bytes;
  return true;
}

DerivedConstantTable::DerivedConstantTable(std::shared_ptr<DerivedConstantBudget> budget) : budget_(std::move(budget)) {
  const std::lock_guard lock(budget_->mutex_);
  budget_->tables_.push_back(this);
}

DerivedConstantTable::~DerivedConstantTable() {
  const std::lock_guard lock(budget_->mutex_);
  std::erase(budget_->tables_, this);
}

std::vector<at::Tensor> DerivedConstantTable::Get(const std::string& purpose, const std::string& variant,
                                                  const std::vector<at::Tensor>& from,
                                                  const std::function<std::vector<at::Tensor>()>& make,
                                                  bool* lacks_room) {
  const std::lock_guard lock(mutex_);
  Key key{purpose, {}, variant};
  for (const at::Tensor& tensor : from) key.from.push_back(SourceOf(tensor));
  Entry& entry = EntryOf(key);
  if (std::optional<std::vector<at::Tensor>> alive = Alive(entry)) return *std::move(alive);
  std::erase_if(origins_, [](const auto& origin) { return origin.second.tensor.expired(); });
  const MemoryAccount::Scope nobody(nullptr);
  std::vector<at::Tensor> tensors = make();
  for (const at::Tensor& tensor : tensors) WaitFor(tensor);
  Share(key, tensors);
  const bool of_numbers = std::ranges::all_of(from, [&](const at::Tensor& tensor) { return IsOfNumbers(tensor); });
  size_t more = 0;
  for (const at::Tensor& tensor : tensors) {
    const bool is_new = tensor.defined() && weights_.count(tensor.unsafeGetTensorImpl()) == 0 &&
                        origins_.count(tensor.unsafeGetTensorImpl()) == 0;
    if (is_new && !IsPartOfWeight(tensor, from)) more += MemoryOf(tensor);
  }
  const bool is_small = of_numbers && more <= kMostBytesOfNumbers;
  more += BytesHeld();
  const bool is_too_much = !is_small && more > std::max(kMostCopies * weight_bytes_, kAlwaysBytes);
  if (is_too_much || !budget_->TryHold(*this, more)) {
    if (lacks_room != nullptr) *lacks_room = true;
    return {};
  }
  entry.made.clear();
  for (const at::Tensor& tensor : tensors) {
    const WeakTensor weak(tensor.getIntrusivePtr());
    if (tensor.defined() && weights_.count(tensor.unsafeGetTensorImpl()) == 0) {
      const Source source{.entry = entry.number, .index = entry.made.size()};
      origins_.try_emplace(tensor.unsafeGetTensorImpl(),
                           Origin{weak, source, of_numbers, IsPartOfWeight(tensor, from)});
    }
    entry.made.push_back({weak, tensor.defined()});
  }
  return tensors;
}

DerivedConstantTable::Source DerivedConstantTable::SourceOf(const at::Tensor& tensor) {
  const auto found = origins_.find(tensor.unsafeGetTensorImpl());
  if (found != origins_.end() && !found->second.tensor.expired()) return found->second.source;
  const Source source{.weight = tensor.unsafeGetTensorImpl()};
  if (weights_.emplace(source.weight, tensor).second && tensor.defined()) weight_bytes_ += tensor.nbytes();
  return source;
}

bool DerivedConstantTable::IsOfNumbers(const at::Tensor& tensor) const {
  const auto found = origins_.find(tensor.unsafeGetTensorImpl());
  return found != origins_.end() && found->second.of_numbers;
}

void DerivedConstantTable::Share(const Key& key, std::vector<at::Tensor>& tensors) const {
  for (auto other = entries_.lower_bound(Key{key.purpose, key.from, ""});
       other != entries_.end() && other->first.purpose == key.purpose && other->first.from == key.from; ++other) {
    const std::optional<std::vector<at::Tensor>> made = Alive(other->second);
    if (!made || made->size() != tensors.size()) continue;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (AreSame(tensors[i], (*made)[i])) tensors[i] = (*made)[i];
    }
  }
}

std::optional<std::vector<at::Tensor>> DerivedConstantTable::Alive(const Entry& entry) {
  if (entry.made.empty()) return {};
  std::vector<at::Tensor> tensors;
  for (const Made& made : entry.made) {
    tensors.emplace_back(made.defined ? made.tensor.lock()
                                      : c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>());
    if (tensors.back().defined() != made.defined) return {};
  }
  return tensors;
}

bool DerivedConstantTable::IsHeld(const Entry& entry) {
  return std::ranges::any_of(entry.made, [](const Made& made) { return made.defined && !made.tensor.expired(); });
}

DerivedConstantTable::Entry& DerivedConstantTable::EntryOf(const Key& key) {
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
  if (entries_.size() >= prune_at_) Prune();
  size_t variants = 0;
  auto going = entries_.end();
  for (auto other = entries_.lower_bound(Key{key.purpose, key.from, ""});
       other != entries_.end() && other->first.purpose == key.purpose && other->first.from == key.from; ++other) {
    ++variants;
    const auto rank = [](const Entry& entry) { return std::pair(IsHeld(entry), entry.number); };
    if (going == entries_.end() || rank(other->second) < rank(going->second)) going = other;
  }
  if (variants >= kMostVariants) entries_.erase(going);
  return entries_.emplace(key, Entry{next_number_++, {}}).first->second;
}

void DerivedConstantTable::Prune() {
  std::unordered_map<size_t, const Key*> keys;
  std::vector<size_t> open;
  for (const auto& [key, entry] : entries_) {
    keys.emplace(entry.number, &key);
    if (IsHeld(entry)) open.push_back(entry.number);
  }
  std::unordered_set<size_t> kept;
  while (!open.empty()) {
    const size_t number = open.back();
    open.pop_back();
    const auto key = keys.find(number);
    if (key == keys.end() || !kept.insert(number).second) continue;
    for (const Source& source : key->second->from) {
      if (source.weight == nullptr) open.push_back(source.entry);
    }
  }
  std::erase_if(entries_, [&](const auto& entry) { return kept.count(entry.second.number) == 0; });
  prune_at_ = std::max<size_t>(prune_at_, 2 * entries_.size());
}

size_t DerivedConstantTable::bytes() const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const std::lock_guard counting(budget_->mutex_);
  if (lock.owns_lock()) held_ = BytesHeld();
  return held_;
}

size_t DerivedConstantTable::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

bool DerivedConstantTable::IsPartOfWeight(const at::Tensor& tensor, const std::vector<at::Tensor>& from) const {
  return std::ranges::any_of(from, [&](const at::Tensor& source) {
    if (!tensor.defined() || !source.defined() || !tensor.has_storage() || !source.has_storage()) return false;
    if (tensor.storage().unsafeGetStorageImpl() != source.storage().unsafeGetStorageImpl()) return false;
    const auto origin = origins_.find(source.unsafeGetTensorImpl());
    return weights_.count(source.unsafeGetTensorImpl()) > 0 ||
           (origin != origins_.end() && origin->second.is_part_of_weight);
  });
}

size_t DerivedConstantTable::BytesHeld() const {
  size_t bytes = 0;
  for (const auto& [address, origin] : origins_) {
    if (origin.is_part_of_weight) continue;
    if (const at::Tensor tensor(origin.tensor.lock()); tensor.defined()) bytes += MemoryOf(tensor);
  }
  return bytes;
}

std::vector<at::Tensor> DerivedConstants::Get(const std::string& purpose, const std::string& variant,
                                              const std::vector<at::Tensor>& from,
                                              const std::function<std::vector<at::Tensor>()>& make) {
  bool made = false;
  const auto counted = [&] {
    made = true;
    return make();
  };
  std::vector<at::Tensor> tensors = table_.Get(purpose, variant, from, counted, &lacks_room_);
  if (made) Rest();
  return tensors;
}

}  // namespace hearth
