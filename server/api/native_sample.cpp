#include "server/api/native_sample.h"

#include <google/protobuf/arena.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/hearth.pb.h"
#include "server/api/native_message.h"
#include "server/api/recorded_message.h"
#include "server/repository/servable.h"
#include "wire/flat_answer.h"
#include "wire/message_from_value.h"
#include "wire/raw_bytes.h"
#include "wire/tensor_difference.h"

namespace hearth::server {

absl::StatusOr<BoundArguments> NativeSample::Bind(const Servable& version) const {
  const c10::FunctionSchema* const schema = version.model->FindMethod(method_);
  if (schema == nullptr) return absl::NotFoundError(absl::StrCat("there is no method '", method_, "'"));
  google::protobuf::Arena arena;
  // The tensors are over the message's memory, which the run may write.
  auto message = ParseCallRequest(CopyOfMessage(message_), arena);
  if (!message.ok()) return message.status();
  return ReadCallArguments(*std::move(message), *schema);
}

absl::StatusOr<AnswerDifference> NativeSample::Compare(c10::IValue result, const Servable&, double tolerance) const {
  v1::CallResponse got;
  std::vector<at::Tensor> payloads;
  absl::Status status = ValueToMessage(result, "the result", *got.mutable_result(), payloads);
  if (!status.ok()) return status;
  for (at::Tensor& payload : payloads) {
    const at::Tensor bytes = ReadyToSend(std::move(payload));
    got.add_payloads(bytes.const_data_ptr(), bytes.nbytes());
  }
  grpc::Slice whole;
  v1::CallResponse expected;
  if (!answer_.DumpToSingleSlice(&whole).ok() ||
      !expected.ParseFromArray(whole.begin(), static_cast<int>(whole.size()))) {
    return absl::InternalError("the answer that was sent cannot be read");
  }
  const auto sent = FlattenAnswer(expected);
  if (!sent.ok()) return sent.status();
  const auto answered = FlattenAnswer(got);
  if (!answered.ok()) return answered.status();
  TensorDifference difference = CompareTensors(*sent, *answered, tolerance);
  return AnswerDifference{std::move(difference.text), difference.largest};
}

}  // namespace hearth::server
