#include "jit/passes/plan_recurrences.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/cudnn_is_acceptable.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/recurrence.h"
#include "jit/operators/operator.h"
#include "jit/operators/registry.h"
#include "jit/support/operator_threads.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

// Operands of aten::lstm and aten::gru with one tensor as input.
enum Operand : size_t {
  kInput,
  kStates,
  kParameters,
  kHasBiases,
  kLayers,
  kDropout,
  kTrain,
  kBidirectional,
  kBatchFirst
};

bool IsRecurrence(const Node& node) {
  return (node.kind() == c10::aten::lstm || node.kind() == c10::aten::gru) && node.op() != nullptr &&
         node.op()->schema().overload_name() == "input" && node.inputs().size() == kBatchFirst + 1;
}

class RecurrencePlanner {
 public:
  explicit RecurrencePlanner(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run(Block* block) {
    bool changed = false;
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) changed |= Run(nested);
      if (IsRecurrence(*node)) changed |= TryPlan(node);
    }
    return changed;
  }

 private:
  // Empty if one is no constant.
  static std::vector<at::Tensor> ParametersOf(const Value& list) {
    if (const c10::IValue* constant = ConstantOf(list)) {
      return constant->isTensorList() ? constant->toTensorVector() : std::vector<at::Tensor>();
    }
    std::vector<at::Tensor> parameters;
    if (list.node()->kind() != sym::kListConstruct) return {};
    for (const Value* element : list.node()->inputs()) {
      const at::Tensor* parameter = ConstantTensor(*element);
      if (parameter == nullptr) return {};
      parameters.push_back(*parameter);
    }
    return parameters;
  }

  static std::optional<libraries::RecurrenceSettings> SettingsOf(const Node& node) {
    for (const Operand operand : {kHasBiases, kLayers, kTrain, kBidirectional, kBatchFirst}) {
      if (ConstantOf(*node.input(operand)) == nullptr) return {};
    }
    const auto is_set = [&](Operand operand) { return ConstantOf(*node.input(operand))->toBool(); };
    if (is_set(kTrain)) return {};
    return libraries::RecurrenceSettings{.has_memory = node.kind() == c10::aten::lstm,
                                         .has_biases = is_set(kHasBiases),
                                         .layers = ConstantOf(*node.input(kLayers))->toInt(),
                                         .directions = is_set(kBidirectional) ? 2 : 1,
                                         .batch_first = is_set(kBatchFirst)};
  }

  bool TryPlan(Node* node) {
    const std::optional<libraries::RecurrenceSettings> settings = SettingsOf(*node);
    const std::optional<std::vector<int64_t>> sizes =
        LikelySizes(facts_.sizes(), facts_.Of(*node->input(kInput)).sizes);
    std::vector<at::Tensor> parameters = ParametersOf(*node->input(kParameters));
    if (!settings || parameters.empty()) return false;
    if (parameters.front().is_cuda()) return TryFlatten(node, *settings, parameters);
    if (!sizes || sizes->size() != 3) return false;
    for (const at::Tensor& parameter : parameters) {
      if (!parameter.defined() || !target_.PacksWeights(parameter.device(), parameter.scalar_type())) return false;
    }
    const int64_t steps = (*sizes)[settings->batch_first ? 1 : 0], sequences = (*sizes)[settings->batch_first ? 0 : 1];
    c10::intrusive_ptr<libraries::Recurrence> planned;
    try {
      planned = c10::make_intrusive<libraries::Recurrence>(*settings, parameters);
    } catch (const c10::Error&) {
      return false;  // LibTorch says what is wrong with them, or knows layers that are not known here
    }
    std::string forms;
    AsIfOnThreads(target_.threads, [&] { forms = planned->FormsFor(steps, sequences); });
    if (forms.empty()) return false;
    std::vector<at::Tensor> packed;
    AsIfOnThreads(target_.threads, [&] {
      packed =
          derived_.Get("packed recurrent layer", forms, parameters, [&] { return planned->PackFor(steps, sequences); });
    });
    if (packed.empty()) return false;
    planned->SetWeights(std::move(forms), std::move(packed));
    for (const int threads : OperatorThreadCounts(target_.threads)) {
      AsIfOnThreads(threads, [&] { planned->Prepare(steps, sequences); });
    }
    Replace(node, std::move(planned));
    return true;
  }

  // On a GPU: cuDNN wants the weights in one piece, and copies them there in every call where they are not.
  bool TryFlatten(Node* node, const libraries::RecurrenceSettings& settings,
                  const std::vector<at::Tensor>& parameters) {
    constexpr int64_t kLstm = 2, kGru = 3;  // cuDNN's numbers
    const int64_t of_one = settings.has_biases ? 4 : 2;
    const bool is_plain =
        static_cast<int64_t>(parameters.size()) == settings.layers * settings.directions * of_one &&
        std::ranges::all_of(parameters, [](const at::Tensor& each) { return each.defined() && each.is_cuda(); });
    if (!is_plain || !at::cudnn_is_acceptable(parameters.front())) return false;
    const std::string variant =
        c10::str(settings.has_memory, settings.has_biases, settings.layers, settings.directions);
    const auto flatten = [&] {
      std::vector<at::Tensor> copies;
      for (const at::Tensor& parameter : parameters) copies.push_back(parameter.clone());
      // Makes them views of the one piece.
      at::_cudnn_rnn_flatten_weight(copies, of_one, copies[0].size(1), settings.has_memory ? kLstm : kGru,
                                    copies[1].size(1), /*proj_size=*/0, settings.layers, settings.batch_first,
                                    settings.directions == 2);
      return copies;
    };
    std::vector<at::Tensor> flat;
    try {
      flat = derived_.Get("flat recurrent layer", variant, parameters, flatten);
    } catch (const c10::Error&) {
      return false;  // as above
    }
    if (flat.empty()) return false;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    node->ReplaceInput(kParameters, graph_.InsertConstant(c10::List<at::Tensor>(flat), c10::ListType::ofTensors()));
    return true;
  }

  void Replace(Node* node, c10::intrusive_ptr<libraries::Recurrence> planned) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const Symbol symbol = Symbol::fromQualString(planned->settings().has_memory ? "hearth::lstm" : "hearth::gru");
    std::vector<Value*> operands(node->inputs().begin(), node->inputs().end());
    operands.insert(operands.begin() + kParameters,
                    graph_.InsertConstant(libraries::Recurrence::Wrap(std::move(planned)), c10::CapsuleType::get()));
    Node* made = graph_.Insert(graph_.Create(symbol, operands, node->outputs().size()));
    made->SetOperator(OperatorRegistry::Global().Find(symbol, ""));
    made->SetInlinedCall(node->inlined_call());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      made->output(i)->SetType(node->output(i)->type());
      made->output(i)->SetName(node->output(i)->name());
      node->output(i)->ReplaceAllUsesWith(made->output(i));
    }
    node->Destroy();
    facts_.Infer(*made);
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
};

}  // namespace

bool PlanRecurrences(Compilation& compilation) {
  return AnyNode(*compilation.source().block(), IsRecurrence) &&
         RecurrencePlanner(compilation).Run(compilation.graph().block());
}

}  // namespace hearth
