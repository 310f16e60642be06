#include "cli/answer_difference.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/hearth.pb.h"
#include "proto/inference/service.pb.h"
#include "wire/flat_answer.h"
#include "wire/raw_bytes.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {
namespace {

using AnswerTensors = std::vector<WireTensor>;

absl::StatusOr<AnswerTensors> TensorsOf(const inference::ModelInferResponse& answer) {
  if (answer.raw_output_contents_size() != answer.outputs_size()) {
    return absl::InvalidArgumentError(absl::StrCat("the answer has ", answer.outputs_size(), " outputs and ",
                                                   answer.raw_output_contents_size(), " raw_output_contents"));
  }
  AnswerTensors tensors;
  for (int i = 0; i < answer.outputs_size(); ++i) {
    const auto& output = answer.outputs(i);
    const c10::IntArrayRef shape(output.shape().data(), static_cast<size_t>(output.shape_size()));
    auto tensor = ReadRaw(output.name(), output.datatype(), shape, RawBytes::Of(answer.raw_output_contents(i)));
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("output '", output.name(), "' ", tensor.status().message()));
    }
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

absl::StatusOr<AnswerTensors> TensorsOf(const v1::CallResponse& answer) { return FlattenAnswer(answer); }

template <typename Answer>
absl::StatusOr<AnswerTensors> ReadAnswer(const void* bytes, size_t size, const char* which) {
  Answer answer;
  if (size > INT32_MAX || !answer.ParseFromArray(bytes, static_cast<int>(size))) {
    return absl::InvalidArgumentError(absl::StrCat(which, " is no ", Answer::descriptor()->full_name()));
  }
  auto tensors = TensorsOf(answer);
  if (tensors.ok()) return tensors;
  return {absl::Status(tensors.status().code(), absl::StrCat(which, ": ", tensors.status().message()))};
}

template <typename Answer>
absl::StatusOr<TensorDifference> CompareAs(const std::string& recorded, const grpc::ByteBuffer& got, double tolerance) {
  const auto expected = ReadAnswer<Answer>(recorded.data(), recorded.size(), "the recorded answer");
  if (!expected.ok()) return expected.status();
  grpc::Slice whole;
  if (!got.DumpToSingleSlice(&whole).ok()) return absl::InternalError("the answer cannot be read");
  const auto answered = ReadAnswer<Answer>(whole.begin(), whole.size(), "the answer");
  if (!answered.ok()) return answered.status();
  return CompareTensors(*expected, *answered, tolerance);
}

}  // namespace

absl::StatusOr<TensorDifference> CompareAnswers(std::string_view method, const std::string& recorded,
                                                const grpc::ByteBuffer& got, double tolerance) {
  if (method == kInferMethod) return CompareAs<inference::ModelInferResponse>(recorded, got, tolerance);
  if (method == kCallMethod) return CompareAs<v1::CallResponse>(recorded, got, tolerance);
  return absl::UnimplementedError(absl::StrCat("answers of ", std::string(method), " are not compared"));
}

}  // namespace hearth::cli
