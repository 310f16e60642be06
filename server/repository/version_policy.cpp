#include "server/repository/version_policy.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::server {

absl::StatusOr<std::vector<int64_t>> ChooseVersions(const inference::ModelVersionPolicy& policy,
                                                    const std::vector<int64_t>& available) {
  if (available.empty()) return absl::NotFoundError("no version folder (a positive number) is there");
  switch (policy.policy_choice_case()) {
    case inference::ModelVersionPolicy::kAll:
      return available;
    case inference::ModelVersionPolicy::kSpecific: {
      const std::set<int64_t> wanted(policy.specific().versions().begin(), policy.specific().versions().end());
      if (wanted.empty()) return absl::NotFoundError("version_policy specific names no version");
      std::vector<int64_t> missing;
      std::set_difference(wanted.begin(), wanted.end(), available.begin(), available.end(),
                          std::back_inserter(missing));
      if (!missing.empty()) {
        return absl::NotFoundError(absl::StrCat("version_policy asks for ", absl::StrJoin(missing, ", "),
                                                "; there are ", absl::StrJoin(available, ", ")));
      }
      return std::vector<int64_t>(wanted.begin(), wanted.end());
    }
    case inference::ModelVersionPolicy::kLatest:
    case inference::ModelVersionPolicy::POLICY_CHOICE_NOT_SET:
      break;
  }
  const size_t wanted = std::max<size_t>(1, policy.latest().num_versions());
  return std::vector<int64_t>(available.end() - std::min(wanted, available.size()), available.end());
}

}  // namespace hearth::server
