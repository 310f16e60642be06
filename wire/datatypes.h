// The datatypes of the protocol, in its three spellings: on the wire ("FP32"), in config.pbtxt (TYPE_FP32) and in
// LibTorch (at::kFloat). A table; thread-safe.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <string_view>

#include "proto/inference/model_config.pb.h"

namespace hearth {

struct Datatype {
  const char* name;
  inference::DataType config;
  c10::ScalarType scalar;  // Undefined for BYTES
  size_t size;             // bytes of an element; 0 for BYTES, whose elements have a length each

  bool is_bytes() const { return size == 0; }
};

// Null if there is none. Pointers are comparable and live as long as the process.
const Datatype* FindDatatype(std::string_view name);
const Datatype* FindDatatype(inference::DataType config);
const Datatype* FindDatatype(c10::ScalarType scalar);
const Datatype* BytesDatatype();

}  // namespace hearth
