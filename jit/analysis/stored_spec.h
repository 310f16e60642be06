// An ArgumentSpec as it outlives its process: words, in which classes are known by name. Made of a spec and made into
// one again for another load of the same archive; it may come from anywhere, and is checked.
//
// Values. Tensors that are not plain (sparse, quantized, of a subclass) are not stored.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"

namespace hearth {

class StoredSpec {
 public:
  StoredSpec() = default;
  // As it was read from somewhere.
  StoredSpec(std::vector<uint64_t> words, std::vector<std::string> classes)
      : words_(std::move(words)), classes_(std::move(classes)) {}

  // Null: the spec holds what is not stored.
  static std::optional<StoredSpec> Of(const ArgumentSpec& spec);

  // The class of a qualified name, or null; the spec then refers to it.
  using FindClass = std::function<const c10::Type*(const std::string& name)>;
  // Null if these are no words of a spec, or a class is not found.
  std::optional<ArgumentSpec> Restore(const FindClass& find_class) const;

  const std::vector<uint64_t>& words() const { return words_; }
  const std::vector<std::string>& classes() const { return classes_; }
  bool operator==(const StoredSpec&) const = default;

 private:
  // As the spec's, but for classes, which are given by their place in `classes_`.
  std::vector<uint64_t> words_;
  std::vector<std::string> classes_;
};

}  // namespace hearth
