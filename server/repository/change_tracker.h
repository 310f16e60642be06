// Decides which models are to be loaded again, of what their files look like at each look: those that have changed
// since they were loaded and that nobody has written to since the look before. A half-written model is so left alone
// until it is whole. For one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace hearth::server {

class ChangeTracker {
 public:
  using Stamps = std::map<std::string, std::string>;  // by model; one that is not there has none

  // `seen`: of what lies there, which is loaded or being loaded, but for the models that are `unsettled`: perhaps
  // somebody still writes to these. Each of them comes in some look, also if it is gone by then.
  explicit ChangeTracker(const Stamps& seen, const std::set<std::string>& unsettled = {});

  // The models that are settled and not what was loaded, those that are gone included; they count as loaded then.
  std::vector<std::string> Look(const Stamps& now);

 private:
  struct Model {
    std::string loaded;
    std::string seen;  // at the last look
  };

  std::map<std::string, Model> models_;
};

}  // namespace hearth::server
