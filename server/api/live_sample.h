// A live inference as another version is compared on it: its named tensors and those of its answer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/repository/live_calls.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Of tensors' contents.
size_t BytesOf(const std::vector<WireTensor>& tensors);

class LiveSample final : public LiveCall {
 public:
  // Memory that nobody writes any more. `requested`: the outputs that the client named.
  LiveSample(std::vector<WireTensor> inputs, std::vector<std::string> requested)
      : inputs_(std::move(inputs)), requested_(std::move(requested)) {}

  // As it was sent, but for the form that the client asked for; on the CPU.
  void SetAnswer(std::vector<WireTensor> answer) { answer_ = std::move(answer); }
  size_t bytes() const { return BytesOf(inputs_) + BytesOf(answer_); }

  const std::string& method() const override { return method_; }
  absl::StatusOr<BoundArguments> Bind(const Servable& version) const override;
  absl::StatusOr<AnswerDifference> Compare(c10::IValue result, const Servable& version,
                                           double tolerance) const override;

 private:
  const std::string method_ = "forward";
  const std::vector<WireTensor> inputs_;
  const std::vector<std::string> requested_;
  std::vector<WireTensor> answer_;
};

}  // namespace hearth::server
