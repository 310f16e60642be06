#include "server/repository/signature_difference.h"

#include <map>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::server {
namespace {

// What each thing of a kind is, by name.
using Descriptions = std::map<std::string, std::string>;

std::string Bounded(std::string text) {
  if (text.size() <= kLongestSignature) return text;
  return absl::StrCat(text.substr(0, kLongestSignature), "...");
}

// Without the marks by which torch tells classes of one name apart: they are not the same from save to save.
std::string TypeName(const c10::Argument& argument) {
  static const std::regex mangled("___torch_mangle_[0-9]+\\.");
  return std::regex_replace(argument.type()->annotation_str(), mangled, "");
}

std::string Describe(const MethodInfo& method) {
  const auto parameter = [](std::string* out, const c10::Argument& argument) {
    absl::StrAppend(out, TypeName(argument), " ", argument.name(), argument.default_value() ? "=..." : "");
  };
  const auto result = [](std::string* out, const c10::Argument& argument) { *out += TypeName(argument); };
  return Bounded(absl::StrCat("(", absl::StrJoin(method.arguments(), ", ", parameter), ") -> ",
                              absl::StrJoin(method.schema->returns(), ", ", result)));
}

Descriptions MethodsOf(const Model& model) {
  Descriptions methods;
  for (const MethodInfo& method : model.methods()) methods[method.name] = Describe(method);
  return methods;
}

template <typename Tensors>
Descriptions DescribeTensors(const Tensors& tensors) {
  Descriptions described;
  for (const auto& tensor : tensors) {
    described[tensor.name()] = Bounded(
        absl::StrCat(inference::DataType_Name(tensor.data_type()), " [", absl::StrJoin(tensor.dims(), ", "), "]"));
  }
  return described;
}

void Compare(const std::string& kind, const Descriptions& before, const Descriptions& now,
             std::vector<std::string>& differences) {
  for (const auto& [name, was] : before) {
    const auto found = now.find(name);
    if (found == now.end()) {
      differences.push_back(absl::StrCat(kind, " '", name, "' is gone"));
    } else if (found->second != was) {
      differences.push_back(absl::StrCat(kind, " '", name, "' was ", was, ", is ", found->second));
    }
  }
  for (const auto& [name, is] : now) {
    if (!before.contains(name)) differences.push_back(absl::StrCat(kind, " '", name, "' is new: ", is));
  }
}

}  // namespace

std::vector<std::string> SignatureDifferences(const Model& before, const inference::ModelConfig& config_before,
                                              const Model& now, const inference::ModelConfig& config_now) {
  std::vector<std::string> differences;
  Compare("method", MethodsOf(before), MethodsOf(now), differences);
  Compare("input", DescribeTensors(config_before.input()), DescribeTensors(config_now.input()), differences);
  Compare("output", DescribeTensors(config_before.output()), DescribeTensors(config_now.output()), differences);
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
