// Classes of aliases whose lists may be apart from what they hold: each then says which class that is.
#pragma once

#include <cstddef>

namespace hearth {

// Has classes become one that hold one another in a circle, or are nested so deeply that they may be taken for one.
// `bound` is above all ids; `elements_of` gives what the class of an id holds, `none` if that is nothing apart from it;
// `unify` makes two of them one.
template <typename ElementsOf, typename Unify>
void CollapseNested(size_t bound, size_t none, ElementsOf elements_of, Unify unify) {
  constexpr int kMaxDepth = 8;
  for (size_t id = 0; id < bound; ++id) {
    const auto depth = [&] {
      int count = 0;
      for (size_t at = elements_of(id); at != none && count <= kMaxDepth; at = elements_of(at)) ++count;
      return count;
    };
    while (depth() > kMaxDepth) unify(id, elements_of(id));
  }
}

}  // namespace hearth
