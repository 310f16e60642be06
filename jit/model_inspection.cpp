#include "jit/model_inspection.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>

#include "jit/executor/captured_plan.h"
#include "jit/ir/printer.h"

namespace hearth {
namespace {

class AttributeLister {
 public:
  std::vector<AttributeInfo> attributes;

  void Visit(const c10::ivalue::Object& object, const std::string& prefix) {
    if (!visited_.insert(&object).second) return;
    const c10::ClassTypePtr type = object.type();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue& value = object.getSlot(i);
      const std::string path = prefix + type->getAttributeName(i);
      if (value.isObject() && value.toObjectRef().type()->is_module()) {
        Visit(value.toObjectRef(), path + ".");
        continue;
      }
      AttributeInfo& info = attributes.emplace_back();
      info.path = path;
      info.type = type->getAttribute(i)->annotation_str();
      info.is_parameter = type->is_parameter(i);
      info.is_buffer = type->is_buffer(i);
      if (value.isTensor()) {
        info.tensor = value.toTensor();
      } else if (!value.isObject()) {
        std::ostringstream text;
        text << value;
        info.value = text.str();
      }
    }
  }

 private:
  std::unordered_set<const c10::ivalue::Object*> visited_;
};

void CountIn(const Block& block, std::map<std::string, int64_t>* calls) {
  for (const Node* node : block) {
    if (node->op() != nullptr) ++(*calls)[node->kind().toQualString()];
    for (const Block* nested : node->blocks()) CountIn(*nested, calls);
  }
}

}  // namespace

std::vector<AttributeInfo> ListAttributes(const c10::ivalue::Object& module) {
  AttributeLister lister;
  lister.Visit(module, "");
  return std::move(lister.attributes);
}

uint64_t WeightBytes(const c10::ivalue::Object& module) {
  std::unordered_set<const c10::StorageImpl*> storages;
  uint64_t bytes = 0;
  for (const AttributeInfo& attribute : ListAttributes(module)) {
    if (!attribute.tensor || !attribute.tensor->defined() || !attribute.tensor->has_storage()) continue;
    const c10::Storage& storage = attribute.tensor->storage();
    if (storages.insert(storage.unsafeGetStorageImpl()).second) bytes += storage.nbytes();
  }
  return bytes;
}

std::vector<OperatorUse> CountOperators(const CompilationUnit& unit) {
  std::map<std::string, int64_t> calls;
  for (const std::unique_ptr<Function>& function : unit.functions()) {
    if (function->defined()) CountIn(*function->emitted_graph().block(), &calls);
  }
  std::vector<OperatorUse> uses;
  for (const auto& [name, count] : calls) uses.push_back({name, count});
  return uses;
}

namespace {

PlanInfo::State StateOf(CodeEntry::State state) {
  switch (state) {
    case CodeEntry::State::kCold:
      return PlanInfo::State::kCold;
    case CodeEntry::State::kQueued:
      return PlanInfo::State::kQueued;
    case CodeEntry::State::kCompiled:
      return PlanInfo::State::kCompiled;
    case CodeEntry::State::kFailed:
      return PlanInfo::State::kFailed;
    case CodeEntry::State::kDeoptimised:
      return PlanInfo::State::kDeoptimised;
  }
  return PlanInfo::State::kCold;
}

}  // namespace

namespace {

// By pass, the one with the most time first.
std::vector<CallReport::Pass> DescribePasses(const std::vector<CompilationReport::Step>& steps) {
  std::vector<CallReport::Pass> passes;
  for (const CompilationReport::Step& step : steps) {
    auto pass = std::ranges::find(passes, step.pass, &CallReport::Pass::name);
    if (pass == passes.end()) pass = passes.insert(pass, {.name = std::string(step.pass)});
    ++pass->runs;
    pass->changes += step.changed ? 1 : 0;
    pass->time += std::chrono::duration_cast<std::chrono::nanoseconds>(step.time);
  }
  std::ranges::stable_sort(passes, std::ranges::greater(), &CallReport::Pass::time);
  return passes;
}

}  // namespace

CallReport::Run DescribeRun(const std::string& method, const RunReport& run) {
  CallReport::Run described;
  described.method = method;
  if (run.plan != nullptr) {
    described.tier = run.plan->tier();
    described.arguments = run.arguments;
    described.compile_time = run.plan->compile_time();
    described.guards = run.plan->num_guards();
    described.bailouts = run.profile.bailouts();
    described.passes = DescribePasses(run.plan->passes());
    const CompilationReport::Memory& memory = run.plan->memory();
    described.results = memory.results;
    described.planned_results = memory.planned;
    described.planned_bytes = memory.bytes;
    described.planned_peak = memory.peak;
  }
  for (const auto& [name, op] : run.profile.operators()) {
    described.operators.push_back({name, op.calls, op.time, op.device_time});
  }
  std::ranges::stable_sort(described.operators, std::ranges::greater(), &CallReport::Operator::time);
  for (RunProfile::Event& event : run.profile.events()) {
    described.events.push_back({std::move(event.name), std::move(event.where), event.start, event.time, event.thread,
                                event.device_start, event.device_time});
  }
  return described;
}

namespace {

std::string RecordingText(const CapturedPlan::Description& recorded) {
  if (!recorded.refused.empty()) return "not recorded: " + recorded.refused;
  if (recorded.copies == 0) return "";
  std::array<char, 128> text;
  const int length = std::snprintf(text.data(), text.size(), "%zu copies of %zu operations, %.1f MB", recorded.copies,
                                   recorded.operations, static_cast<double>(recorded.bytes) / 1e6);
  return {text.data(), static_cast<size_t>(length)};
}

}  // namespace

std::vector<PlanInfo> ListPlans(const Tiers& tiers, bool with_graphs) {
  std::vector<PlanInfo> infos;
  for (ListedPlan& entry : tiers.plans()) {
    PlanInfo& info = infos.emplace_back();
    info.method = std::move(entry.method);
    info.arguments = std::move(entry.spec);
    info.state = StateOf(entry.state);
    info.calls = entry.calls;
    if (entry.plan == nullptr) continue;
    info.tier = entry.plan->tier();
    info.sizes = entry.plan->shape();
    info.compile_time = entry.plan->compile_time();
    info.bytes = entry.plan->bytes();
    info.guards = entry.plan->num_guards();
    const BailoutRecord& bailouts = entry.plan->executable().bailouts();
    info.bailouts = bailouts.count();
    info.guard_failures = bailouts.guard_failures();
    info.model_exceptions = bailouts.model_exceptions();
    info.plan_exceptions = bailouts.plan_exceptions();
    for (BailoutRecord::PlanException& each : bailouts.exceptions()) {
      info.exceptions.push_back(
          {std::move(each.op), std::move(each.node), std::move(each.where), std::move(each.text), each.runs});
    }
    for (ExecutionPlan::Guard& guard : entry.plan->guards()) {
      if (guard.claim.empty()) continue;
      info.claims.push_back({std::move(guard.claim), std::move(guard.where), guard.failures});
    }
    if (entry.plan->captured() != nullptr) info.recording = RecordingText(entry.plan->captured()->Describe());
    if (!with_graphs) continue;
    info.graph = PrintGraph(entry.plan->executable().graph());
    for (ExecutionPlan::Kernel& kernel : entry.plan->kernels()) {
      info.kernels.push_back({std::move(kernel.results), std::move(kernel.text), kernel.bytes, kernel.set_aside});
    }
  }
  std::ranges::stable_sort(infos, std::ranges::greater(), &PlanInfo::calls);
  return infos;
}

std::vector<CompilationInfo> ListCompilations(const Tiers& tiers) {
  std::vector<CompilationInfo> infos;
  for (BackgroundCompiler::Running& running : tiers.compiling()) {
    infos.push_back({std::move(running.graph), std::move(running.stage), std::move(running.pass), running.since_start,
                     running.resting});
  }
  return infos;
}

}  // namespace hearth
