// What a library chose, by what it was chosen for: added once, kept for ever, and found without a lock, since each call
// of the library asks here first. It has room for so many; what finds none is chosen anew in each call.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hearth {

// A hash of numbers, one after the other.
class ChoiceHash {
 public:
  void Add(uint64_t number) { hash_ = (std::rotl(hash_, 23) ^ number) * 0x9e3779b97f4a7c15U; }
  // Places are numbered by the low bits, which a product has of its factors' low bits alone.
  uint64_t value() const { return hash_ ^ hash_ >> 32U; }

 private:
  uint64_t hash_ = 0;
};

// Thread-safe.
template <typename Key, typename Choice, auto kHash>
class ChoiceTable {
 public:
  static constexpr size_t kMost = 8192;

  ChoiceTable() = default;
  ~ChoiceTable() {
    for (std::atomic<const Entry*>& place : places_) delete place.load();
  }
  ChoiceTable(const ChoiceTable&) = delete;
  ChoiceTable& operator=(const ChoiceTable&) = delete;

  // Null if there is none.
  const Choice* Find(const Key& key) const {
    for (size_t i = 0; i < kTries; ++i) {
      const Entry* entry = PlaceOf(key, i).load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->key == key) return &entry->choice;
    }
    return nullptr;
  }

  // Whether it was added: not where there is one, or no room.
  bool Add(const Key& key, const Choice& choice) {
    const auto* const made = new Entry{key, choice};
    for (size_t i = 0; i < kTries; ++i) {
      const Entry* present = nullptr;
      if (PlaceOf(key, i).compare_exchange_strong(present, made, std::memory_order_acq_rel)) return true;
      if (present->key == key) break;
    }
    delete made;
    return false;
  }

 private:
  struct Entry {
    Key key;
    Choice choice;
  };
  static constexpr size_t kTries = 16;

  std::atomic<const Entry*>& PlaceOf(const Key& key, size_t i) const { return places_[(kHash(key) + i) % kMost]; }

  mutable std::array<std::atomic<const Entry*>, kMost> places_{};
};

}  // namespace hearth
