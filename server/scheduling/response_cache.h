// Answers of models that give the same answer to the same arguments, kept for the next request with these. The least
// recently used go when there is no more room. Thread-safe.
//
// A key is the SHA-256 of which load of a model is asked, the method, and the arguments: their structure, datatypes,
// shapes and contents. So no version answers for another one.
#pragma once

#include <ATen/core/ivalue.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "server/scheduling/dispatched_call.h"

namespace hearth::server {

class ResponseCache {
 public:
  using Key = std::array<unsigned char, 32>;

  explicit ResponseCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  // `load` is another number for each load of a model. Nothing for arguments of which some have no contents to compare.
  static std::optional<Key> KeyOf(uint64_t load, const DispatchedCall& call);

  // Not to be written into.
  std::optional<c10::IValue> Find(const Key& key);
  // Keeps a copy, unless the answer alone is larger than the cache, or holds other things than tensors and plain
  // values, or there is no memory for it.
  void Put(const Key& key, const c10::IValue& answer);

  size_t bytes() const;

 private:
  struct Entry {
    Key key;
    c10::IValue answer;
    size_t bytes;
  };

  void DropOldest();

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest used first
  absl::flat_hash_map<Key, std::list<Entry>::iterator> found_;
};

}  // namespace hearth::server
