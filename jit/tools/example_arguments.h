// Arguments as hearth-opt is given them, one text each:
//   Float[2, 3]                    a tensor of zeros; dtypes as c10 names them
//   Float[2, 3, 4, 4]:channels_last, Float[2]:requires_grad
//   (Long[1], None), [Float[2], Float[3]]    tuples, lists of tensors
//   None, int, float, bool, str    a value of the type
//   ints:3                         a list of so many ints
//   self                           the object that the graph's first input is bound to
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/value_profile.h"
#include "jit/compiler/profile_claims.h"
#include "jit/ir/graph.h"

namespace hearth {

// What a plan for such arguments may rely on: for whatever sizes, for exactly theirs, or for any while theirs are
// likely. Throws std::runtime_error for what is none of the above.
enum class ExampleSizes { kAny, kExact, kLikely };
std::vector<ArgumentFacts> FactsOfExamples(std::span<const std::string> texts,
                                           const c10::intrusive_ptr<c10::ivalue::Object>& self, ExampleSizes sizes);

// A profile of a graph's values, written as "flag=True*9", "n=3*20", "name='text'*8", "x=Float[2, 3]*10": nine runs in
// which the value of that name was True, ...; a name that comes again was otherwise in further runs. Throws if a text
// is nothing of that.
class ExampleProfile {
 public:
  ExampleProfile(std::span<const std::string> texts, const Graph& graph);
  ExampleProfile(const ExampleProfile&) = delete;
  ExampleProfile& operator=(const ExampleProfile&) = delete;

  const ProfileClaims& claims() const { return claims_; }

 private:
  std::map<size_t, ValueObservation> seen_;
  ProfileClaims claims_;
};

}  // namespace hearth
