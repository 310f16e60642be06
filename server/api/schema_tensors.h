// The tensors of a method's arguments, or of its result, as far as the schema's types tell: named by their paths, and
// numbered. A List or Dict of unknown length is "x.*", one number for all of its elements; so is a part whose type
// tells nothing of its form (Any, an instance of a class), whose number is that of all tensors below its path.
//
// Immutable, thread-safe.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wire/datatypes.h"
#include "wire/tensors_from_value.h"

namespace hearth::server {

// What is known of an input or output before it is there.
struct TensorSpec {
  // Where datatype and shape are from. What is assumed stands for what nobody knows: FP32, and [-1] for any shape.
  enum class Source { kDeclared, kObserved, kAssumed };

  std::string name;
  const Datatype* datatype = nullptr;           // null: any, or the model's own choice
  std::optional<std::vector<int64_t>> shape{};  // -1 varies; none: not known
  bool optional = false;
  Source source = Source::kDeclared;
};

class SchemaTensors {
 public:
  // `schema` outlives the call alone.
  static SchemaTensors OfArguments(const c10::FunctionSchema& schema);
  static SchemaTensors OfResult(const c10::FunctionSchema& schema);

  const std::vector<TensorSpec>& specs() const { return specs_; }
  // Whether the number stands for any number of tensors.
  bool IsOpen(size_t number) const { return open_[number]; }
  // Whether exactly these tensors are there each time: no number is open, and what may be None has no parts.
  bool AllNamed() const { return all_named_; }
  // The number of a tensor by its whole path; the result that is one tensor has the empty path. None: it is not of the
  // schema.
  std::optional<size_t> Find(const std::string& path) const;

 private:
  void Append(const c10::Type& type, const std::string& name, bool optional);
  void Index();

  std::vector<TensorSpec> specs_;
  std::vector<bool> open_;
  bool all_named_ = true;
  absl::flat_hash_map<std::string, size_t> named_;
};

}  // namespace hearth::server
