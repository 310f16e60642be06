// How requests of different lengths are put into one batch: a configuration's parameters pad_inputs, trim_outputs,
// pad_multiple_of and max_padding_factor.
//
//   pad_inputs          "input_ids=0, attention_mask=0" or "image:2=0, image:3=0": inputs, each with the dimension
//   whose
//                       size may differ between the requests of a batch (1 where it is left out; 0 is the batch), and
//                       what shorter ones are filled up with
//   trim_outputs        "logits, 1:2=image:2": outputs, each with the dimension that is cut back to the request's own
//                       length (1 where it is left out), and the padded input that has it (the first of pad_inputs
//                       where it is left out; its dimension the first padded one of that input)
//   pad_multiple_of     lengths become multiples of this
//   max_padding_factor  by padding, an input of a batch has at most so many times the elements of its requests
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

inline constexpr char kPadInputs[] = "pad_inputs";
inline constexpr char kTrimOutputs[] = "trim_outputs";
inline constexpr char kPadMultiple[] = "pad_multiple_of";
inline constexpr char kPaddingFactor[] = "max_padding_factor";

struct BatchPadding {
  // Entries of pad_inputs, and of trim_outputs.
  static constexpr size_t kMostEntries = 32;

  // Of the tensors of a call's arguments.
  struct Input {
    std::string name;
    int64_t dimension = 1;
    double value = 0;
    // Where it is, known once the archive is: the argument (by position, or by name) and the path within it.
    size_t argument = 0;
    std::string argument_name = {};
    std::string path = {};
  };
  // Of the tensors of its answer.
  struct Output {
    std::string name;
    int64_t dimension = 1;
    size_t input = 0;       // whose length it is cut back to
    std::string path = {};  // within the answer, known once the archive is
  };

  std::vector<Input> inputs;  // empty: nothing is padded
  std::vector<Output> outputs;
  int64_t multiple = 1;
  double most = 2;

  bool empty() const { return inputs.empty(); }
};

// kInvalidArgument with "the parameter pad_inputs is '...'; ..." for what is not written as above, and for what the
// configuration's inputs and outputs contradict: no such name, a dimension that it has not or whose size is fixed, a
// value that the datatype has not.
absl::StatusOr<BatchPadding> PaddingOf(const inference::ModelConfig& config);

}  // namespace hearth::server
