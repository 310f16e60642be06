// Finds operators by name. Candidates come in LibTorch's registration order, which its overload resolution depends on.
#pragma once

#include <ATen/core/interned_strings.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/operators/operator.h"

namespace hearth {

class OperatorRegistry {
 public:
  // The process's registry; operators registered later (by a library that is loaded) are seen by names not asked for
  // before, and after Refresh by all.
  static OperatorRegistry& Global();

  // Every overload of `name` ("aten::add"), empty if there is none. Stays valid for the process's life. Thread-safe.
  std::span<const Operator* const> Candidates(c10::Symbol name);
  // The overload with exactly this name ("aten::add", "Tensor"); null if there is none.
  const Operator* Find(c10::Symbol name, std::string_view overload);
  // Forgets what names resolve to, because a library was loaded. Operators handed out stay valid.
  void Refresh();
  // Names close to `name` in the same namespace, for an error's "did you mean".
  std::vector<std::string> Similar(c10::Symbol name);

 private:
  OperatorRegistry();
  struct Impl;
  Impl* impl_;  // lives as long as the process
};

}  // namespace hearth
