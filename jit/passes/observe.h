// A copy of a baseline graph in which prim::Observe nodes tell the run's samples (analysis/value_profile.h) what values
// are, right behind what makes them: what is run for a sample of the calls.
#pragma once

#include <memory>
#include <span>

#include "jit/analysis/value_profile.h"
#include "jit/ir/graph.h"

namespace hearth {

// `sites` are FindProfileSites' of the same graph; the attribute `site` is an index into them.
std::unique_ptr<Graph> CloneWithObservers(const Graph& baseline, std::span<const ProfileSite> sites);

}  // namespace hearth
