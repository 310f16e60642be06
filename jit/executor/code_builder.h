// Makes what runs: the baseline graph and Code of functions, and of everything that they may call at run time.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

class UnitEffects;

// Used by one thread while an archive loads.
class CodeBuilder {
 public:
  // `device`: where literal devices are redirected to, if anywhere.
  CodeBuilder(CompilationUnit& unit, std::optional<c10::Device> device) : unit_(unit), device_(device) {}

  // The baseline graph of a function; of a method with `self` bound to an object if one is given, and then `effects`
  // are the unit's.
  std::unique_ptr<Graph> Baseline(Function& function, c10::intrusive_ptr<c10::ivalue::Object> self = nullptr,
                                  const UnitEffects* effects = nullptr) const;
  // Code of such a graph, and of all that it may call.
  std::shared_ptr<const Code> Build(const Graph& baseline, const Function& function);
  // Gives the function its own Code, with self not bound; once. After this function->run works.
  void BuildUnbound(Function& function);

 private:
  // Queues what `graph` may call.
  void FindCallees(const Block& block);
  void FindMethods(const c10::TypePtr& receiver, const std::string& name);
  void Enqueue(torch::jit::Function* function);
  // Builds everything queued.
  void Drain();

  CompilationUnit& unit_;
  std::optional<c10::Device> device_;
  std::unordered_set<const torch::jit::Function*> seen_;
  std::vector<Function*> queue_;
};

}  // namespace hearth
