#include "server/repository/signature_difference.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "wire/signature_text.h"

namespace hearth::server {
namespace {

Descriptions MethodsOf(const Model& model) {
  Descriptions methods;
  for (const MethodInfo& method : model.methods()) {
    methods[method.name] = SignatureText(method.arguments(), method.schema->returns());
  }
  return methods;
}

template <typename Tensors>
Descriptions DescribeTensors(const Tensors& tensors) {
  Descriptions described;
  for (const auto& tensor : tensors) {
    described[tensor.name()] =
        absl::StrCat(inference::DataType_Name(tensor.data_type()), " [", absl::StrJoin(tensor.dims(), ", "), "]");
  }
  return described;
}

void Append(std::vector<std::string> more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> SignatureDifferences(const Model& before, const inference::ModelConfig& config_before,
                                              const Model& now, const inference::ModelConfig& config_now) {
  std::vector<std::string> differences = Differences("method", MethodsOf(before), MethodsOf(now));
  Append(Differences("input", DescribeTensors(config_before.input()), DescribeTensors(config_now.input())),
         differences);
  Append(Differences("output", DescribeTensors(config_before.output()), DescribeTensors(config_now.output())),
         differences);
  if (config_before.max_batch_size() != config_now.max_batch_size()) {
    differences.push_back(
        absl::StrCat("max_batch_size was ", config_before.max_batch_size(), ", is ", config_now.max_batch_size()));
  }
  if (differences.size() > kMostDifferences) {
    const size_t more = differences.size() - kMostDifferences;
    differences.resize(kMostDifferences);
    differences.push_back(absl::StrCat(more, " more"));
  }
  return differences;
}

}  // namespace hearth::server
