// Puts prim::Observe nodes into a copy of a baseline graph that tell the run's samples (analysis/value_profile.h) what
// values are, right behind what makes them: what is run for a sample of the calls. The attribute `site` is an index
// into the compilation's sites.
#pragma once

namespace hearth {

class Compilation;

bool InsertObservers(Compilation& compilation);

}  // namespace hearth
