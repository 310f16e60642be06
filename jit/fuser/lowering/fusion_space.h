// The sizes and the order in memory of what a group's nodes compute (group_lowering.h), and which nodes may be in a
// group by these.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/definitions/gather_rules.h"
#include "jit/ir/graph.h"

namespace hearth {

// The sizes and the order in memory of what a node gives that may be part of a group; of a reduction, what it reduces.
struct FusionSpace {
  c10::Device device;
  KnownSizes sizes;
  std::vector<size_t> nesting;  // of the dimensions that do not have one element
  size_t row = 0;  // how many of these, from the innermost on, are the rows that nodes depend on; 0: none do
  // False: what has an element for each row may lie in another order than the rows, and then may not leave the group.
  bool in_order = true;
  // Whether each tensor that it reads is expanded, so that little memory is read in whichever order.
  bool reads_little = false;
  bool moves = false;  // whether a node reads elements in other places (definitions/place_rules.h)
};
// Whether runs raise in which two spaces have several elements each along that dimension, and not as many.
using AreBound = std::function<bool(size_t dimension)>;
// The space of a group of both, where what gives the one may be fused with what is given it and gives the other: the
// device and sizes are the same, or bound to be, and so are the rows, if both have any; or one has an element for each
// of the other one's rows. Else none.
std::optional<FusionSpace> Joined(const FusionSpace& a, const FusionSpace& b, const SizeAlgebra& algebra,
                                  const AreBound& are_bound);
// The same where nothing of `within` leaves the group: the space is that of `around`, and the two may be nested
// otherwise, but for the innermost dimension unless `within` reads little.
std::optional<FusionSpace> JoinedWithin(const FusionSpace& within, const FusionSpace& around,
                                        const SizeAlgebra& algebra, const AreBound& are_bound);
// Whether another node of the group may read what the node gives: not where it has lost dimensions.
bool IsReadInGroup(const Node& node, ValueFactTable& facts);
// None if the node cannot be.
std::optional<FusionSpace> SpaceOf(const Node& node, ValueFactTable& facts);

// Along which dimensions of its result a node reads elements in other places; null where a kernel cannot.
std::optional<std::vector<size_t>> MovedDimensions(const Node& node, ValueFactTable& facts);
// Which elements a node picks; null where a kernel cannot, or the node is none that does.
std::optional<Gather> GatherOf(const Node& node, ValueFactTable& facts);
// Whether kernels read what the node is given elsewhere than in the place of their loops, so that nothing computes it
// on the way.
bool ReadsMemory(const Node& node);

// ---- For the lowering ----

// How a tensor's dimensions are nested that do not have one element, and where there may be gaps.
std::vector<PartOrder::Level> LevelsOf(const ValueFacts& facts);
// Whether kernels can read a tensor with these facts.
bool IsReadable(const ValueFacts& facts);
// Whether a size is what the space's is, in every run that does not raise: of a tensor that is computed with others of
// that size.
bool IsWhole(KnownSize size, KnownSize of_space, const SizeAlgebra& algebra);
bool IsReduction(const Node& node);
// Whether what has the space has an element for each row of the other one, in the same order if that one asks for it.
bool IsForRowsOf(const FusionSpace& space, const FusionSpace& of);
// Which dimensions of what it reduces a reduction's result has.
std::vector<size_t> KeptDimensions(const Node& node, ValueFactTable& facts);
// Whether the results of a node that gives one for each row lie in memory as the rows do.
bool GivesRowsInOrder(const Node& node, const FusionSpace& space, ValueFactTable& facts);

}  // namespace hearth
