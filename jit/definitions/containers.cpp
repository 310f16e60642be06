// Lists, strings and dicts.
#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

// Another list of the same elements.
void CopyOfList(Call& call) {
  if (call.in(0).kind == ValueFacts::Kind::kList) call.out() = call.in(0);
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::dict", .kind = kContainer},
    {.name = "aten::keys", .kind = kContainer},
    {.name = "aten::values", .kind = kContainer},
    {.name = "aten::len",
     .kind = kContainer,
     .number = number::Length,
     .list = ListRole::kRead,
     .raises = Raises::kNotOnContainers,
     .folding = Folding::kScalars},
    {.name = "aten::__contains__", .kind = kContainer, .list = ListRole::kRead, .folding = Folding::kScalars},
    {.name = "aten::append", .kind = kContainer, .list = ListRole::kAdd},
    {.name = "aten::insert", .kind = kContainer, .list = ListRole::kAdd},
    {.name = "aten::_set_item", .kind = kContainer, .list = ListRole::kAdd},
    {.name = "aten::extend", .kind = kContainer, .list = ListRole::kExtend},
    {.name = "aten::pop", .kind = kContainer, .list = ListRole::kTake},
    {.name = "aten::list", .kind = kContainer, .facts = CopyOfList, .list = ListRole::kCopy},
    {.name = "aten::clear", .kind = kContainer, .list = ListRole::kClear},
    {.name = "aten::reverse", .kind = kContainer, .list = ListRole::kClear},
};

}  // namespace

std::span<const OperatorDefinition> ContainerDefinitions() { return kDefinitions; }

}  // namespace hearth
