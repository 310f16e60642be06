#include "server/api/live_sample.h"

#include "server/api/recorded_message.h"
#include "server/api/signature.h"
#include "wire/raw_bytes.h"
#include "wire/tensor_difference.h"

namespace hearth::server {

size_t BytesOf(const std::vector<WireTensor>& tensors) {
  size_t bytes = 0;
  for (const WireTensor& tensor : tensors) {
    if (tensor.tensor.defined()) bytes += tensor.tensor.nbytes();
    for (const std::string& text : tensor.strings) bytes += sizeof(text) + text.size();
  }
  return bytes;
}

absl::StatusOr<BoundArguments> LiveSample::Bind(const Servable& version) const {
  const auto& signature = static_cast<const Signature&>(*version.call_interface);
  return signature.Bind(KeepTensors(inputs_, /*copies=*/true));
}

absl::StatusOr<AnswerDifference> LiveSample::Compare(c10::IValue result, const Servable& version,
                                                     double tolerance) const {
  const auto& signature = static_cast<const Signature&>(*version.call_interface);
  auto answer = signature.Unbind(std::move(result), requested_);
  if (!answer.ok()) return answer.status();
  for (WireTensor& output : *answer) {
    if (output.tensor.defined()) output.tensor = ReadyToSend(std::move(output.tensor));
  }
  TensorDifference difference = CompareTensors(answer_, *answer, tolerance);
  return AnswerDifference{std::move(difference.text), difference.largest};
}

}  // namespace hearth::server
