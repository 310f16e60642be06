// What the tiers of a model know of its calls, handed on to another load of the same archive: to the next process by
// the profile store, to the next version by the version that it takes the place of.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/analysis/stored_spec.h"
#include "jit/executor/compile_jobs.h"
#include "jit/executor/model_plans.h"
#include "jit/executor/spec_profile.h"

namespace hearth {

// Of all that was called often enough to be compiled; with no calls where compiling failed.
std::vector<SpecProfile> CollectProfiles(const ModelPlans& plans);

// Asks for plans for what these say was called, the most called first, and when those for all sizes are made for the
// ones for some alone; how many specs that are. Their calls count half. What does not belong to this archive, whatever
// it is, is left out. Where `jobs` is null nothing is compiled, and calls go on from the profiles. May wait for locks
// of the compiler's.
size_t RestoreProfiles(std::vector<SpecProfile> profiles, const StoredSpec::FindClass& find_class, ModelPlans& plans,
                       CompileJobs* jobs);

}  // namespace hearth
