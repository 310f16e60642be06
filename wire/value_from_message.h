// Values of the protocol hearth.v1 to TorchScript's.
//
// Where a schema gives the type, a value becomes one of that type as torch.jit makes one of Python's values
// (torch/csrc/jit/python/pybind_utils.cpp, toIValue):
//
//   float, complex       also from an int, a bool, and a tensor of one element; complex also from a float
//   int                  also from a bool and a tensor of one element
//   bool                 also from None, a number, and a tensor of one element: whether it is not zero
//   number               from a bool, int, float or complex, which it stays
//   Tensor               also from None, which becomes an undefined tensor
//   device               also from a str
//   List[T]              also from a tuple; the elements become Ts
//   Tuple[...], NamedTuple   also from a list, of the right length; fields that are named must be the type's, in order
//   Dict[K, V]           keys become Ks, values Vs
//   Optional[T]          None or a T
//   Union[...]           a value whose own type, found as for Any, is a subtype of it
//   Any                  a value of its own type; a list or dict must have elements, all of one type
//   a class              an object with each attribute of the class and no other; not a module
//   an enum              an enum with one of the class's names; a value that comes with it must be that name's
//
// Without a schema (an answer, as a client reads it) a list and a dict keep the types of their elements where these
// agree and have elements of Any otherwise; objects become dicts of their fields and enums their values, for their
// classes are the server's.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/hearth.pb.h"
#include "wire/raw_bytes.h"

namespace hearth {

// Reads the values of one message, whose tensors' bytes are its payloads. Not thread-safe. Errors are kInvalidArgument,
// name the part ("args[0]['boxes']") and say what was expected and what came; they are also given for values nested
// deeper than kDeepestValue, and for more of them than kMostValues. Throws what CheckConversion does.
class ValueReader {
 public:
  static constexpr int kDeepestValue = 32;
  static constexpr size_t kMostValues = 1 << 20;

  explicit ValueReader(std::vector<RawBytes> payloads)
      : payloads_(std::move(payloads)), payload_used_(payloads_.size(), false) {}

  // `name` is the value's, for messages.
  absl::StatusOr<c10::IValue> Read(const v1::Value& message, const c10::TypePtr& type, const std::string& name);
  absl::StatusOr<c10::IValue> ReadWithoutSchema(const v1::Value& message, const std::string& name);

  // After all values: whether every payload has been used.
  absl::Status CheckPayloads() const;

 private:
  class Visit;

  std::vector<RawBytes> payloads_;
  std::vector<bool> payload_used_;
  size_t values_ = 0;
};

}  // namespace hearth
