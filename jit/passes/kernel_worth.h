// Whether a fused kernel is faster than LibTorch's operators, where both would do (passes/fuse). Decided by
// measurements on one or two processors and one GPU, not by a model of them.
#pragma once

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/target.h"
#include "jit/fuser/lowering/fusion_space.h"
#include "jit/ir/graph.h"

namespace hearth {

// Both outlive it.
class KernelWorth {
 public:
  KernelWorth(const Target& target, ValueFactTable& facts) : target_(target), facts_(facts) {}

  // A kernel of nothing but this node, whose space it is. What one operator does, LibTorch's does as well, but where
  // - of several threads of a processor, ours are sooner awake (support/worker_threads.h);
  // - rows are short on a GPU, where its kernels are made for long ones;
  // - its kernels for a GPU load single elements and ours vectors, or are several, or look rows up one by one.
  bool IsWorthAlone(const Node& node, const FusionSpace& space) const;
  // A kernel that reads elements in other places (definitions/place_rules.h) in the place of a copy of them.
  bool IsWorthMoving(const Node& node, const FusionSpace& space) const;
  // A kernel that reads a tensor in the place of a copy of it in the space's order. On a CPU, LibTorch's copies to
  // another order are as good.
  bool IsWorthCopying(const Node& node, const FusionSpace& space) const;

 private:
  bool IsShortLookup(const Node& node) const;
  static bool IsFilledOrCopied(const Node& node, const FusionSpace& space);
  bool HasVectorsOfParts(const Node& node, const FusionSpace& space) const;
  bool JoinsVectors(const Node& node, const FusionSpace& space) const;
  bool LiesAlong(const Value& tensor, const FusionSpace& space) const;
  bool LiesAlike(const Value& tensor, const FusionSpace& space) const;

  const Target& target_;
  ValueFactTable& facts_;
};

}  // namespace hearth
