// What acts on the process, its threads and their modes, or asks about them.
#include "jit/definitions/definition_lists.h"

namespace hearth {
namespace {

const OperatorDefinition kDefinitions[] = {
    {.name = "prim::Print", .acts = true},
    {.name = "prim::RaiseException", .acts = true},
    {.name = "aten::warn", .acts = true},
    {.name = "aten::save", .acts = true},
    {.name = "aten::manual_seed", .acts = true, .seeds = true},
    {.name = "aten::set_grad_enabled", .records_gradients = true},
    {.name = "aten::wait", .acts = true, .hides_aliases = true},
    {.name = "aten::seed", .acts = true},
    {.name = "prim::AddStatValue", .acts = true},
    {.name = "prim::TimePoint", .acts = true},
    {.name = "aten::_assert_async", .acts = true},
    {.name = "aten::_assert_tensor_metadata", .acts = true},
    {.name = "aten::backward", .records_gradients = true},
    {.name = "prim::awaitable_wait", .acts = true, .hides_aliases = true},
    {.name = "aten::set_data", .acts = true},
    {.name = "prim::BroadcastMKLDNNTensors", .acts = true},
    {.name = "aten::grad", .acts = true, .records_gradients = true, .hides_aliases = true},
    {.name = "aten::requires_grad_", .acts = true},
    {.name = "aten::_assert_scalar", .acts = true},
    {.name = "aten::sym_constrain_range", .acts = true},
    {.name = "aten::is_grad_enabled", .reads_mode = true},
    {.name = "aten::initial_seed", .reads_mode = true},
    {.name = "aten::is_autocast_enabled", .reads_mode = true},
    {.name = "aten::is_autocast_cpu_enabled", .reads_mode = true},
    {.name = "prim::grad", .hides_aliases = true},
    {.name = "prim::awaitable_nowait", .hides_aliases = true},
};

}  // namespace

std::span<const OperatorDefinition> ProcessDefinitions() { return kDefinitions; }

}  // namespace hearth
