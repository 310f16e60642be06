// What an archive holds, for people who look into it.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "jit/executor/model_executor.h"
#include "jit/executor/tiers.h"
#include "jit/module/compilation_unit.h"
#include "jit/runtime.h"

namespace hearth {

// Every attribute of the object and of the modules in it, depth first; a module that is shared is listed once, under
// its first path.
std::vector<AttributeInfo> ListAttributes(const c10::ivalue::Object& module);

// Bytes of the storages of the tensors among these attributes, shared ones counted once.
uint64_t WeightBytes(const c10::ivalue::Object& module);

// What a model's methods are called with, the most called first, and the plans for it.
std::vector<PlanInfo> ListPlans(const Tiers& tiers, bool with_graphs);

// What of it is being compiled just now.
std::vector<CompilationInfo> ListCompilations(const Tiers& tiers);

// A run of the method, as a call's report has it.
CallReport::Run DescribeRun(const std::string& method, const RunReport& run);

// The registered operators that the unit's functions call, by name; how many nodes call each.
std::vector<OperatorUse> CountOperators(const CompilationUnit& unit);

}  // namespace hearth
