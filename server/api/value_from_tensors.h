// Builds one argument of a method from the tensors of a request whose names begin with the argument's. How a value is
// spelt:
//
//   Tensor                       x                       any shape and datatype but BYTES
//   int, float, bool, Number     x                       one element, of shape [] or [1]
//   str                          x                       one element of BYTES
//   List[int|float|bool|str]     x                       one dimension
//   List[T]                      x.0, x.1, ...           without gaps
//   Tuple[T, ...]                x.0, x.1, ...; a NamedTuple's fields also by name: x.boxes
//   Dict[K, T]                   x.KEY                   K is str or int; a key with dots only where T needs no path
//   Optional[T]                  as T, or nothing for None
//   Any                          a Tensor, or for BYTES a str
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

struct TensorAtPath {
  std::string path;  // what follows the value's name: "" for the value itself, "0.x" for a part of it
  WireTensor* tensor;
};

// `name` is the value's, for messages. Takes the tensors' contents, which stay on the CPU.
// kInvalidArgument if a part is missing, does not belong, or has the wrong datatype or shape; kUnimplemented for a type
// that has no spelling.
absl::StatusOr<c10::IValue> ValueFromTensors(const c10::TypePtr& type, const std::string& name,
                                             std::vector<TensorAtPath> parts);

// Whether a value of the type is one tensor, named as the value is.
bool IsOneTensor(const c10::Type& type);

// The datatype of a value of the type that is one tensor; null if it may have any.
const Datatype* DatatypeOf(const c10::Type& type);

}  // namespace hearth::server
