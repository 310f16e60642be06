#include "server/repository/ensemble_graph.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/layout.h"

namespace hearth::server {
namespace {

template <typename... Parts>
absl::Status WrongEnsemble(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("ensemble_scheduling", parts...));
}

}  // namespace

class EnsembleGraph::Builder {
 public:
  explicit Builder(const inference::ModelConfig& config) : config_(config) {}

  absl::StatusOr<EnsembleGraph> Build() {
    absl::Status status = AddEdges();
    for (int i = 0; i < config_.ensemble_scheduling().step_size() && status.ok(); ++i) status = AddStep(i);
    if (status.ok()) status = CheckMade();
    if (status.ok()) status = CheckOrder();
    if (status.ok()) status = CheckUsed();
    if (!status.ok()) return status;
    return std::move(graph_);
  }

 private:
  using Step = inference::ModelEnsembling::Step;

  absl::Status AddEdges() {
    const int steps = config_.ensemble_scheduling().step_size();
    if (steps == 0) return WrongEnsemble(" has no step");
    if (steps > kMostEnsembleSteps) return WrongEnsemble(" has ", steps, " steps; it may have ", kMostEnsembleSteps);
    if (config_.input().empty())
      return absl::InvalidArgumentError("an ensemble's inputs must be declared; it has none");
    if (config_.output().empty()) {
      return absl::InvalidArgumentError("an ensemble's outputs must be declared; it has none");
    }
    for (const auto& input : config_.input()) {
      const size_t tensor = TensorOf(input.name());
      graph_.inputs_.push_back(tensor);
      makers_[tensor] = std::nullopt;
    }
    for (const auto& output : config_.output()) {
      graph_.outputs_.push_back(TensorOf(output.name()));
      graph_.tensors_[graph_.outputs_.back()].is_output = true;
    }
    return absl::OkStatus();
  }

  absl::Status AddStep(int index) {
    const Step& step = config_.ensemble_scheduling().step(index);
    graph_.steps_.push_back({.model = step.model_name(), .version = "", .inputs = {}, .outputs = {}});
    const std::string where = absl::StrCat(".step[", index, "] ('", step.model_name(), "')");
    if (step.model_name().empty()) return WrongEnsemble(".step[", index, "] has no model_name");
    if (absl::Status status = CheckModelName(step.model_name()); !status.ok()) {
      return WrongEnsemble(".step[", index, "]: ", status.message());
    }
    if (step.model_name() == config_.name()) return WrongEnsemble(where, " is the ensemble itself");
    if (!step.model_namespace().empty()) {
      return WrongEnsemble(where, " has a model_namespace; models have no namespaces here");
    }
    // Triton's word for any version is -1; 0 is what is not set.
    if (step.model_version() < -1) {
      return WrongEnsemble(where, " has the model_version ", step.model_version(), "; it is a version, or -1 for any");
    }
    if (step.model_version() > 0) graph_.steps_.back().version = std::to_string(step.model_version());
    for (const auto& [name, tensor] : Sorted(step.input_map())) {
      if (tensor.empty()) return WrongEnsemble(where, " has no ensemble tensor for its input '", name, "'");
      const size_t taken = TensorOf(tensor);
      graph_.steps_.back().inputs.push_back({name, taken});
      graph_.tensors_[taken].takers.push_back(index);
    }
    if (step.output_map().empty()) return WrongEnsemble(where, " has no output_map: nothing of it is used");
    for (const auto& [name, tensor] : Sorted(step.output_map())) {
      if (tensor.empty()) return WrongEnsemble(where, " has no ensemble tensor for its output '", name, "'");
      const size_t made = TensorOf(tensor);
      const auto [maker, is_new] = makers_.try_emplace(made, static_cast<size_t>(index));
      if (!is_new) {
        return WrongEnsemble(where, " makes the tensor '", tensor, "', which ",
                             maker->second ? absl::StrCat(graph_.NameOf(*maker->second), " makes, too")
                                           : std::string("is an input of the ensemble"));
      }
      graph_.steps_.back().outputs.push_back({name, made});
    }
    return absl::OkStatus();
  }

  absl::Status CheckMade() const {
    for (const size_t output : graph_.outputs_) {
      if (makers_.contains(output)) continue;
      return WrongEnsemble(": no step makes the output '", graph_.tensors_[output].name, "'");
    }
    for (size_t i = 0; i < graph_.steps_.size(); ++i) {
      for (const Link& input : graph_.steps_[i].inputs) {
        if (makers_.contains(input.tensor)) continue;
        return WrongEnsemble(".step[", i, "] ('", graph_.steps_[i].model, "') takes the tensor '",
                             graph_.tensors_[input.tensor].name, "', which is no input and no step makes");
      }
    }
    return absl::OkStatus();
  }

  // Takes away the steps whose inputs are there, again and again: those that are left wait for each other.
  absl::Status CheckOrder() const {
    std::vector<size_t> missing(graph_.steps_.size());
    std::deque<size_t> ready;
    for (size_t i = 0; i < graph_.steps_.size(); ++i) {
      const auto& inputs = graph_.steps_[i].inputs;
      missing[i] = static_cast<size_t>(
          std::ranges::count_if(inputs, [&](const Link& input) { return makers_.at(input.tensor).has_value(); }));
      if (missing[i] == 0) ready.push_back(i);
    }
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      const size_t step = ready.front();
      ready.pop_front();
      for (const Link& output : graph_.steps_[step].outputs) {
        for (const size_t taker : graph_.tensors_[output.tensor].takers) {
          if (--missing[taker] == 0) ready.push_back(taker);
        }
      }
    }
    if (done == graph_.steps_.size()) return absl::OkStatus();
    std::vector<std::string> stuck;
    for (size_t i = 0; i < missing.size(); ++i) {
      if (missing[i] > 0) stuck.push_back(graph_.NameOf(i));
    }
    return WrongEnsemble(": steps wait for each other's outputs: ", absl::StrJoin(stuck, ", "));
  }

  absl::Status CheckUsed() const {
    for (const Tensor& tensor : graph_.tensors_) {
      if (tensor.takers.empty() && !tensor.is_output) {
        return WrongEnsemble(": the tensor '", tensor.name, "' is of use to no step and no output");
      }
    }
    // A request may name an input by a path below it.
    for (const size_t one : graph_.inputs_) {
      for (const size_t other : graph_.inputs_) {
        if (absl::StartsWith(graph_.tensors_[other].name, graph_.tensors_[one].name + ".")) {
          return WrongEnsemble(": the inputs '", graph_.tensors_[one].name, "' and '", graph_.tensors_[other].name,
                               "' cannot both be there: the second is named as a part of the first");
        }
      }
    }
    return absl::OkStatus();
  }

  size_t TensorOf(const std::string& name) {
    const auto [place, is_new] = numbers_.try_emplace(name, graph_.tensors_.size());
    if (is_new) graph_.tensors_.push_back({.name = name, .takers = {}});
    return place->second;
  }

  // A map's order is not the file's; sorted, so that the same file always gives the same graph.
  template <typename Map>
  static std::map<std::string, std::string> Sorted(const Map& map) {
    return {map.begin(), map.end()};
  }

  const inference::ModelConfig& config_;
  EnsembleGraph graph_;
  std::map<std::string, size_t> numbers_;
  std::map<size_t, std::optional<size_t>> makers_;  // of each tensor that is made, the step; nothing for an input
};

absl::StatusOr<EnsembleGraph> EnsembleGraph::Create(const inference::ModelConfig& config) {
  return Builder(config).Build();
}

std::string EnsembleGraph::NameOf(size_t step) const {
  return absl::StrCat("step ", step + 1, " ('", steps_[step].model, "')");
}

std::set<std::string> StepModels(const inference::ModelConfig& config) {
  std::set<std::string> models;
  for (const auto& step : config.ensemble_scheduling().step()) models.insert(step.model_name());
  return models;
}

}  // namespace hearth::server
