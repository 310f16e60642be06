// A dict whose keys came from outside. c10::Dict doubles its table until no key is far from the place where its hash
// puts it, so a few keys that are chosen for it would take all memory there is. Here a table may be larger than its
// entries need by some factor and no more.
#pragma once

#include <ATen/core/Dict.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "jit/support/memory_account.h"

namespace hearth {

class BoundedDict {
 public:
  BoundedDict(const c10::TypePtr& key, const c10::TypePtr& value, size_t entries)
      : dict_(key, value), memory_(static_cast<int64_t>(kBytes + kBytesAnEntry * entries)) {}

  // kInvalidArgument if the keys so far take too large a table.
  absl::Status Insert(c10::IValue key, c10::IValue value) try {
    {
      const MemoryAccount::Scope counting(&memory_);
      dict_.insert_or_assign(std::move(key), std::move(value));
    }
    return memory_.held() <= memory_.limit() ? absl::OkStatus() : Refused();
  } catch (const MemoryLimitError&) {
    return Refused();
  }

  // What it takes counts for the thread's account from here on.
  c10::impl::GenericDict Take() {
    if (MemoryAccount* const account = MemoryAccount::Current()) {
      account->Charge(static_cast<size_t>(std::max<int64_t>(memory_.held(), 0)));
    }
    return std::move(dict_);
  }

 private:
  // An entry of the table has 56 bytes. A table has up to eight for each of the dict, and there are two while it grows.
  static constexpr size_t kBytes = 64 << 10;
  static constexpr size_t kBytesAnEntry = 1024;

  static absl::Status Refused() {
    return absl::InvalidArgumentError("the keys of a dict have hashes that collide too often");
  }

  c10::impl::GenericDict dict_;
  MemoryAccount memory_;
};

}  // namespace hearth
