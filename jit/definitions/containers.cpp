// Lists, strings and dicts.
#include <utility>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {

void CopyOfList(Call& call) {
  if (call.in(0).kind == ValueFacts::Kind::kList) call.out() = call.in(0);
}

void JoinedLists(Call& call) {
  const ValueFacts &first = call.in(0), &second = call.in(1);
  if (first.sizes.has_value() != second.sizes.has_value()) return;
  ValueFacts both = first;
  if (both.sizes) both.sizes->insert(both.sizes->end(), second.sizes->begin(), second.sizes->end());
  both.elements.insert(both.elements.end(), second.elements.begin(), second.elements.end());
  call.out() = std::move(both);
}

namespace {

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
