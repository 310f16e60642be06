#include "server/repository/change_tracker.h"

#include <utility>

namespace hearth::server {
namespace {

// No model's stamp, nor that of one which is gone.
constexpr const char* kNothing = "nothing";

}  // namespace

ChangeTracker::ChangeTracker(const Stamps& seen, const std::set<std::string>& unsettled) {
  for (const auto& [name, stamp] : seen) models_.emplace(name, Model{stamp, stamp});
  for (const std::string& name : unsettled) models_[name].loaded = kNothing;
}

std::vector<std::string> ChangeTracker::Look(const Stamps& now) {
  for (const auto& [name, stamp] : now) models_.try_emplace(name);
  std::vector<std::string> changed;
  for (auto it = models_.begin(); it != models_.end();) {
    auto& [name, model] = *it;
    const auto found = now.find(name);
    const std::string stamp = found == now.end() ? std::string() : found->second;
    const bool settled = std::exchange(model.seen, stamp) == stamp;
    if (settled && model.loaded != stamp) {
      model.loaded = stamp;
      changed.push_back(name);
    }
    it = model.loaded.empty() && model.seen.empty() ? models_.erase(it) : std::next(it);
  }
  return changed;
}

}  // namespace hearth::server
