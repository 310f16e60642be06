// What somebody who mistyped a name may have meant.
#pragma once

#include <string>
#include <vector>

namespace hearth::server {

// The name that takes the fewest insertions, deletions and changes of letters to get from `name`, the first of several;
// empty if that is more than a third of the letters.
std::string NearestName(const std::string& name, const std::vector<std::string>& names);

}  // namespace hearth::server
