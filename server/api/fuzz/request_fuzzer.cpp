// Feeds any bytes to the readers of requests, of the Open Inference Protocol and of hearth.v1. The first byte says how
// large the slices are in which they come; the rest is the message. What comes out is looked at in full, so that a
// tensor that reaches past its bytes is seen by AddressSanitizer.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "proto/hearth.pb.h"
#include "server/api/request_message.h"
#include "server/api/split_message.h"
#include "wire/message_from_value.h"
#include "wire/value_from_message.h"

namespace hearth::server {
namespace {

grpc::ByteBuffer Cut(const uint8_t* data, size_t size, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < size; at += piece) slices.emplace_back(data + at, std::min(piece, size - at));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void Touch(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
  uint64_t sum = 0;
  for (size_t i = 0; i < tensor.nbytes(); ++i) sum += bytes[i];
  if (sum == UINT64_MAX) std::abort();
}

void ReadInference(const grpc::ByteBuffer& buffer) {
  google::protobuf::Arena arena;
  auto parsed = ParseInferRequest(buffer, arena);
  if (!parsed.ok()) return;
  const auto request = MatchContents(*std::move(parsed));
  if (!request.ok()) return;
  const auto inputs = ReadInputs(*request);
  if (!inputs.ok()) return;
  for (const WireTensor& input : *inputs) Touch(input.tensor);
}

// None in a tensor's place, which has no type.
bool HasNoTensor(const c10::IValue& value) {
  bool found = false;
  value.visit([&](const c10::IValue& part) {
    found = found || (part.isTensor() && !part.toTensor().defined());
    return found;
  });
  return found;
}

std::vector<c10::TypePtr> Types() {
  using namespace c10;
  const auto object = ClassType::create(QualifiedName("__torch__.C"), {});
  object->addAttribute("a", AnyType::get());
  return {
      TensorType::get(),
      FloatType::get(),
      AnyType::get(),
      ListType::create(IntType::get()),
      ListType::create(OptionalType::create(TensorType::get())),
      DictType::create(StringType::get(), ListType::create(ComplexType::get())),
      DictType::create(FloatType::get(), BoolType::get()),
      TupleType::createNamed(QualifiedName("__torch__.T"), std::vector<std::string>{"a", "b"},
                             {TensorType::get(), StringType::get()}),
      UnionType::create({FloatType::get(), StringType::get(), ListType::create(IntType::get())}),
      EnumType::create(QualifiedName("__torch__.E"), IntType::get(), {{"A", IValue(1)}}, {}),
      DeviceObjType::get(),
      object,
  };
}

void ReadCall(const grpc::ByteBuffer& buffer) {
  static const std::vector<c10::TypePtr> types = Types();
  auto split = SplitMessage::Of(buffer, v1::CallRequest::kPayloadsFieldNumber);
  v1::CallRequest request;
  if (!split.ok() || !split->ParseRest(request)) return;
  const std::vector<RawBytes> payloads = split->TakeRaw();
  for (const v1::Value& message : request.args()) {
    std::vector<at::Tensor> tensors;
    for (const c10::TypePtr& type : types) {
      const auto value = ValueReader(payloads).Read(message, type, "x");
      if (!value.ok()) continue;
      if (!HasNoTensor(*value) && !value->type<c10::Type>()->isSubtypeOf(*type)) std::abort();
      v1::Value written;
      if (!ValueToMessage(*value, "x", written, tensors).ok()) std::abort();
    }
    const auto value = ValueReader(payloads).ReadWithoutSchema(message, "x");
    v1::Value written;
    if (value.ok() && !ValueToMessage(*value, "x", written, tensors).ok()) std::abort();
    for (const at::Tensor& tensor : tensors) Touch(tensor);
  }
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const grpc::ByteBuffer buffer = hearth::server::Cut(data + 1, size - 1, data[0] == 0 ? size : data[0]);
  hearth::server::ReadInference(buffer);
  hearth::server::ReadCall(buffer);
  return 0;
}
