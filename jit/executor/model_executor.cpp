#include "jit/executor/model_executor.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

#include "jit/analysis/effects.h"
#include "jit/analysis/state_accesses.h"
#include "jit/analysis/written_memory.h"
#include "jit/executor/batch_proof.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/replayed_run.h"
#include "jit/executor/side_effect.h"
#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"
#include "jit/passes/pipelines.h"

namespace hearth {
namespace {

bool IsStraight(const Block& block) {
  constexpr auto goes_elsewhere = [](c10::Symbol kind) {
    return kind == sym::kLoop || kind == sym::kAwaitable || kind == sym::kCallFunction || kind == sym::kCallMethod;
  };
  for (const Node* node : block) {
    if (goes_elsewhere(node->kind())) return false;
    if (!std::ranges::all_of(node->blocks(), [](const Block* inner) { return IsStraight(*inner); })) return false;
  }
  return true;
}

}  // namespace

ModelExecutor::ModelExecutor(std::shared_ptr<CompilationUnit> unit, c10::intrusive_ptr<c10::ivalue::Object> module,
                             CodeBuilder& builder, std::shared_ptr<TurnList> generators, ThreadPool* pool,
                             const std::optional<TierSettings>& tiers)
    : unit_(std::move(unit)),
      effects_(std::make_unique<const UnitEffects>(*unit_)),
      module_(std::move(module)),
      gate_(std::in_place, std::move(generators)),
      pool_(pool) {
  const c10::ClassTypePtr type = module_->type();
  const auto bind = [&](torch::jit::Function* declared) {
    auto* function = static_cast<Function*>(declared);
    entries_.push_back({function, builder.Baseline(*function, module_, effects_.get()), nullptr, {}, false});
  };
  for (torch::jit::Function* method : type->methods()) bind(method);
  num_methods_ = entries_.size();
  for (const auto& hooks : {type->getForwardPreHooks(), type->getForwardHooks()}) {
    for (torch::jit::Function* hook : hooks) {
      if (Find(*hook) == nullptr) bind(hook);
    }
  }
  PlanState();
  for (Method& entry : entries_) {
    entry.code = builder.Build(*entry.baseline, *entry.function);
    entry.straight = IsStraight(*entry.baseline->block());
    entry.uses_self = !entry.baseline->inputs()[0]->uses().empty();
    const FunctionEffects acts = effects_->Of(*entry.baseline);
    entry.repeatable = entry.plan.empty() && !acts.random && !acts.seeds && !acts.acts && !acts.writes_constants;
    entry.leaves_arguments = !effects_->WritesArguments(*entry.baseline) && entry.state_write.empty();
  }
  MakeTiers(tiers);
}

StateWrites ModelExecutor::FindStateWrites() const {
  StateWrites all;
  for (const Method& entry : entries_) {
    const StateWrites writes = WrittenMemory(*entry.baseline, effects_.get()).to_state();
    all.tensors |= writes.tensors;
    all.shapes |= writes.shapes;
  }
  return all;
}

void ModelExecutor::MakeTiers(const std::optional<TierSettings>& settings) {
  if (!settings) return;
  std::vector<ModelPlans::Method> methods;
  for (const Method& entry : entries_)
    methods.push_back({entry.function->qualname().qualifiedName(), entry.baseline.get(), effects_.get()});
  const StateWrites state_writes = FindStateWrites();
  tiers_ = std::make_unique<Tiers>(*settings, methods, state_writes);
}

void ModelExecutor::PlanState() {
  std::vector<Graph*> graphs;
  for (const Method& entry : entries_) graphs.push_back(entry.baseline.get());
  BuildState(graphs, *module_, *effects_);
  const std::vector<const Graph*> finished(graphs.begin(), graphs.end());
  const StateAccesses accesses(finished, *module_, *effects_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].state_write = StateWriteOf(accesses.methods()[i]);
    entries_[i].plan = InsertStateSteps(graphs[i], accesses.methods()[i]);
    for (const size_t part : accesses.methods()[i].All().writes) writes_state_ |= part != kGenerators;
  }
}

ModelExecutor::ModelExecutor(std::shared_ptr<CompilationUnit> unit, std::span<Function* const> functions,
                             CodeBuilder& builder, ThreadPool* pool, const std::optional<TierSettings>& tiers)
    : unit_(std::move(unit)), effects_(std::make_unique<const UnitEffects>(*unit_)), pool_(pool) {
  for (Function* function : functions) {
    std::unique_ptr<Graph> baseline = builder.Baseline(*function, nullptr, effects_.get());
    std::shared_ptr<const Code> code = builder.Build(*baseline, *function);
    const bool straight = IsStraight(*baseline->block());
    entries_.push_back({function, std::move(baseline), std::move(code), {}, straight});
  }
  num_methods_ = entries_.size();
  MakeTiers(tiers);
}

const ModelExecutor::Method* ModelExecutor::Find(std::string_view name) const {
  const auto found = std::ranges::find(methods(), name, &Method::name);
  return found == methods().end() ? nullptr : &*found;
}

const ModelExecutor::Method* ModelExecutor::Find(const torch::jit::Function& function) const {
  const auto found = std::ranges::find(entries_, &function, &Method::function);
  return found == entries_.end() ? nullptr : &*found;
}

std::string ModelExecutor::SideEffect(const Method& method) const {
  return method.state_write.empty() ? SideEffectOf(*method.baseline, *effects_) : method.state_write;
}

BatchProof ModelExecutor::ProveBatch(const Method& method, std::span<const BatchArgument> arguments,
                                     c10::Device device) const {
  return hearth::ProveBatch({*method.baseline, method.schema(), *effects_, FindStateWrites(), device}, arguments);
}

size_t ModelExecutor::RestoreProfiles(std::vector<SpecProfile> profiles) const {
  return tiers_->RestoreProfiles(
      std::move(profiles), [&](const std::string& name) -> const c10::Type* { return unit_->FindType(name).get(); });
}

ShadowRuns::Call ModelExecutor::ShadowCallOf(const Method& method, const std::shared_ptr<const ExecutionPlan>& plan,
                                             std::span<const c10::IValue> arguments,
                                             const CallSettings& settings) const {
  ShadowRuns::Call call{method.function->qualname().qualifiedName(), method.code, settings.self, settings.stream};
  if (settings.stream || !plan->has_kernels()) return call;
  call.differs =
      [this, number = static_cast<size_t>(&method - entries_.data()), plan, spec = ArgumentSpec::Of(arguments).value(),
       shape = plan->tier() == 2 ? ExactShape::Of(arguments) : std::nullopt](const ShadowRuns::Difference& difference) {
        tiers_->CheckKernels(number, spec, shape, *plan, difference);
      };
  return call;
}

bool ModelExecutor::MayReplay(const Method& method, const PlanChoice& choice, std::span<const c10::IValue> arguments,
                              const CallSettings& settings) const {
  if (choice.plan == nullptr || choice.plan->captured() == nullptr || !method.plan.empty() || !settings.stream)
    return false;
  // Who asks how a run went, or makes a guard fail, wants a run of the code.
  if (choice.observed != nullptr || choice.failing_guard >= 0 || settings.report != nullptr) return false;
  CapturedPlan& captured = *choice.plan->captured();
  if (!captured.ready() && captured.TakeTurn()) {
    tiers_->Record(static_cast<size_t>(&method - entries_.data()), choice.plan, arguments,
                   static_cast<size_t>(module_ != nullptr), *settings.stream);
  }
  return captured.ready();
}

void ModelExecutor::RunAsync(const Method& method, std::vector<c10::IValue> arguments, CallSettings settings,
                             Completion completion) {
  if (settings.self == nullptr) settings.self = shared_from_this();
  // Counted with its owner, of which each thread has another count.
  std::shared_ptr<const Code> code(settings.self, method.code.get());
  RunOptions options;
  if (settings.tier != nullptr) *settings.tier = 0;
  std::shared_ptr<const ExecutionPlan> replayed;
  if (tiers_ != nullptr) {
    try {
      const auto self = static_cast<size_t>(module_ != nullptr);
      PlanChoice choice = tiers_->Choose(static_cast<size_t>(&method - entries_.data()),
                                         std::span(arguments).subspan(self), settings.request);
      if (choice.plan != nullptr) code = {choice.plan, choice.plan->executable().entry().get()};
      if (settings.tier != nullptr && choice.plan != nullptr) *settings.tier = choice.plan->tier();
      options.keep_alive[1] = choice.plan;
      if (choice.observed != nullptr) code = std::move(choice.observed);
      options.samples = std::move(choice.samples);
      options.failing_guard = choice.failing_guard;
      if (MayReplay(method, choice, arguments, settings)) replayed = choice.plan;
      ShadowRuns* shadow = tiers_->shadow();
      if (shadow != nullptr && choice.plan != nullptr && method.repeatable && shadow->Draw()) {
        completion = shadow->Watch(ShadowCallOf(method, choice.plan, std::span(arguments).subspan(self), settings),
                                   arguments, self, std::move(completion));
      }
      if (settings.report != nullptr && choice.plan != nullptr) {
        settings.report->arguments = ArgumentSpec::Of(std::span(arguments).subspan(self))->ToString();
        settings.report->plan = std::move(choice.plan);
      }
    } catch (...) {
      return completion(c10::IValue(), std::current_exception());
    }
  }
  options.token = std::move(settings.token);
  options.memory = std::move(settings.memory);
  options.pool = settings.pool != nullptr && method.plan.generators.empty() ? settings.pool : pool_;
  options.keep_alive[0] = std::move(settings.self);
  // The turn ends with the run and its forks, after the completion: the answer may be part of the module's state, and
  // the next run that writes it waits until the answer has been taken.
  if (gate_) options.turn = gate_->Arrive(method.plan);
  options.on_start = std::move(settings.on_start);
  options.stream = settings.stream;
  options.operator_threads = settings.operator_threads;
  if (settings.report != nullptr) options.profile = {settings.report, &settings.report->profile};
  options.begin_here = settings.may_run_here && method.may_begin_on_caller();
  if (replayed != nullptr) {
    return ReplayAsync({std::move(replayed), std::move(code), std::move(arguments), std::move(options)},
                       std::move(completion));
  }
  hearth::RunAsync(std::move(code), std::move(arguments), std::move(options), std::move(completion));
}

}  // namespace hearth
