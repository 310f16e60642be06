#include "server/ensembles/step_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/api/signature.h"
#include "server/repository/queue_settings.h"
#include "wire/raw_bytes.h"

namespace hearth::server {
namespace {

using Sizes = std::vector<int64_t>;

template <typename... Parts>
absl::Status WrongStep(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// What somebody says of a tensor.
struct Claim {
  std::string who;
  const Datatype* datatype = nullptr;  // null: nothing
  std::optional<Sizes> dims;           // behind the batch dimension; nothing: nothing is said of the shape
  bool batched = false;

  Sizes shape() const {
    Sizes all = *dims;
    if (batched) all.insert(all.begin(), -1);
    return all;
  }
};

bool Fit(const Sizes& one, const Sizes& other) {
  return std::ranges::equal(one, other, [](int64_t a, int64_t b) { return a == b || a == -1 || b == -1; });
}

// As Triton: also where one side sees a batch dimension and the other one sizes alone.
bool Fit(const Claim& one, const Claim& other) {
  if (!one.dims || !other.dims) return true;
  return Fit(*one.dims, *other.dims) || Fit(one.shape(), other.shape());
}

template <typename Tensor>
Claim ClaimOf(std::string who, const Tensor& tensor, bool batched, bool inner) {
  const auto& dims = inner && tensor.has_reshape() ? tensor.reshape().shape() : tensor.dims();
  return {std::move(who), FindDatatype(tensor.data_type()), Sizes(dims.begin(), dims.end()), batched};
}

class Claims {
 public:
  explicit Claims(const EnsembleGraph& graph) : graph_(graph) {}

  absl::Status Add(size_t tensor, Claim claim) {
    for (const Claim& before : claims_[tensor]) {
      const std::string& name = graph_.tensors()[tensor].name;
      if (before.datatype != nullptr && claim.datatype != nullptr && before.datatype != claim.datatype) {
        return WrongStep("the tensor '", name, "' is ", before.datatype->name, " for ", before.who, " and ",
                         claim.datatype->name, " for ", claim.who);
      }
      if (!Fit(before, claim)) {
        return WrongStep("the tensor '", name, "' has the shape ", ShapeText(before.shape()), " for ", before.who,
                         " and ", ShapeText(claim.shape()), " for ", claim.who);
      }
    }
    claims_[tensor].push_back(std::move(claim));
    return absl::OkStatus();
  }

 private:
  const EnsembleGraph& graph_;
  std::map<size_t, std::vector<Claim>> claims_;
};

std::vector<std::string> NamesOf(const std::vector<EnsembleGraph::Link>& links) {
  std::vector<std::string> names;
  for (const EnsembleGraph::Link& link : links) names.push_back(link.name);
  return names;
}

// What a model's configuration says of its tensor of that name; else what its schema says of the datatype.
template <typename Tensors>
Claim ClaimOfModel(std::string who, const std::string& name, const Tensors& configured,
                   const std::vector<TensorSpec>& specs, bool batched) {
  for (const auto& tensor : configured) {
    if (tensor.name() == name) return ClaimOf(std::move(who), tensor, batched, /*inner=*/false);
  }
  Claim claim{std::move(who), nullptr, std::nullopt, false};
  if (!configured.empty()) return claim;
  for (const TensorSpec& spec : specs) {
    if (spec.name == name && spec.source == TensorSpec::Source::kDeclared) claim.datatype = spec.datatype;
  }
  return claim;
}

absl::Status CheckStep(const EnsembleGraph::Step& step, const std::string& called, int64_t ensemble_batch,
                       const Servable& servable, Claims& claims) {
  const Signature& signature = SignatureOf(servable);
  const inference::ModelConfig& config = servable.config;
  const bool batched = config.max_batch_size() > 0;
  // One that splits large requests takes more than a batch.
  const int64_t most_rows = std::max<int64_t>(config.max_batch_size(), QueueSettingsOf(config).most_request_rows());
  if (batched && most_rows < ensemble_batch) {
    return WrongStep(called, " takes a batch of at most ", most_rows, ", and the ensemble one of ", ensemble_batch);
  }
  if (signature.sequence() != nullptr) {
    return WrongStep(called, " has sequences of requests, which the model of an ensemble's step cannot have");
  }
  absl::Status status = signature.CheckInputs(NamesOf(step.inputs));
  if (status.ok()) status = signature.CheckRequested(NamesOf(step.outputs));
  if (!status.ok()) return WrongStep(called, ": ", status.message());
  const auto inputs = signature.inputs();
  for (const EnsembleGraph::Link& link : step.inputs) {
    const std::string who = absl::StrCat("input '", link.name, "' of ", called);
    status = claims.Add(link.tensor, ClaimOfModel(who, link.name, config.input(), inputs, batched));
    if (!status.ok()) return status;
  }
  const auto outputs = signature.outputs();
  for (const EnsembleGraph::Link& link : step.outputs) {
    const std::string who = absl::StrCat("output '", link.name, "' of ", called);
    status = claims.Add(link.tensor, ClaimOfModel(who, link.name, config.output(), outputs, batched));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// `seen`: at which depths ensembles were met; those that were met as deep before are not looked at again.
absl::Status CheckBelow(const std::string& name, const inference::ModelConfig& config, const Repository& repository,
                        int depth, std::map<std::string, int>& seen) {
  for (const std::string& model : StepModels(config)) {
    if (model == name) return WrongStep("the ensemble '", name, "' is a step of '", config.name(), "', its own step");
    const auto found = repository.Find(model, "");
    if (!found.ok() || !IsEnsemble((*found)->config)) continue;
    if (depth == kDeepestEnsemble) return WrongStep("ensembles nest deeper than ", kDeepestEnsemble, " levels");
    int& deepest = seen[model];
    if (deepest >= depth) continue;
    deepest = depth;
    absl::Status status = CheckBelow(name, (*found)->config, repository, depth + 1, seen);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNesting(const std::string& name, const Servable& step, const Repository& repository) {
  if (!IsEnsemble(step.config)) return absl::OkStatus();
  std::map<std::string, int> seen;
  return CheckBelow(name, step.config, repository, 2, seen);
}

absl::Status CheckEnsembleSteps(const EnsembleGraph& graph, const inference::ModelConfig& config,
                                const Repository& repository) {
  const bool batched = config.max_batch_size() > 0;
  Claims claims(graph);
  for (int i = 0; i < config.input_size(); ++i) {
    const std::string who = absl::StrCat("the ensemble's input '", config.input(i).name(), "'");
    absl::Status status = claims.Add(graph.inputs()[i], ClaimOf(who, config.input(i), batched, /*inner=*/true));
    if (!status.ok()) return status;
  }
  for (int i = 0; i < config.output_size(); ++i) {
    const std::string who = absl::StrCat("the ensemble's output '", config.output(i).name(), "'");
    absl::Status status = claims.Add(graph.outputs()[i], ClaimOf(who, config.output(i), batched, /*inner=*/true));
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < graph.steps().size(); ++i) {
    const EnsembleGraph::Step& step = graph.steps()[i];
    const std::string called = graph.NameOf(i);
    const auto found = repository.Find(step.model, step.version);
    if (IsIdle(found.status())) continue;
    if (!found.ok()) return absl::UnavailableError(absl::StrCat(called, ": ", found.status().message()));
    absl::Status status = CheckNesting(config.name(), **found, repository);
    if (status.ok()) status = CheckStep(step, called, config.max_batch_size(), **found, claims);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
