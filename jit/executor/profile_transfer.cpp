#include "jit/executor/profile_transfer.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace hearth {
namespace {

std::optional<SpeculationProfile> SpeculationOf(const CodeEntry& entry, const ModelPlans& plans) {
  if (entry.profile() == nullptr) return entry.earlier() == nullptr ? std::nullopt : entry.earlier()->speculation;
  SpeculationProfile speculation = entry.profile()->Snapshot();
  if (speculation.seen.runs == 0 && speculation.deoptimised.empty()) return std::nullopt;
  speculation.baseline = plans.compiler(entry.method()).fingerprint();
  return speculation;
}

std::vector<StoredShape> ShapesOf(const CodeEntry& entry) {
  std::vector<StoredShape> shapes;
  const EntryProfile* profile = entry.profile();
  for (const EntryProfile::CountedShape& counted : profile != nullptr ? profile->Shapes() : EarlierShapes(entry)) {
    const auto numbers = counted.shape.numbers();
    shapes.push_back({{numbers.begin(), numbers.end()}, counted.calls, counted.taken});
  }
  return shapes;
}

}  // namespace

std::vector<SpecProfile> CollectProfiles(const ModelPlans& plans) {
  std::vector<SpecProfile> profiles;
  for (const auto& entry : plans.cache().Entries()) {
    std::optional<SpeculationProfile> speculation = SpeculationOf(*entry, plans);
    if (entry->state() == CodeEntry::State::kCold && entry->earlier() == nullptr && !speculation) continue;
    std::optional<StoredSpec> spec = StoredSpec::Of(entry->spec());
    if (!spec) continue;
    SpecProfile& profile = profiles.emplace_back();
    profile.method = plans.name(entry->method());
    profile.calls = entry->state() == CodeEntry::State::kFailed ? 0 : entry->all_calls();
    profile.spec = *std::move(spec);
    profile.shapes = ShapesOf(*entry);
    profile.speculation = std::move(speculation);
  }
  return profiles;
}

size_t RestoreProfiles(std::vector<SpecProfile> profiles, const StoredSpec::FindClass& find_class, ModelPlans& plans,
                       CompileJobs* jobs) {
  size_t asked = 0;
  std::ranges::stable_sort(profiles, std::greater(), &SpecProfile::calls);
  for (SpecProfile& each : profiles) {
    const std::optional<size_t> method = plans.Find(each.method);
    const std::optional<ArgumentSpec> spec = each.spec.Restore(find_class);
    if (!method || !spec) continue;
    if (jobs != nullptr) each.CountHalf();
    if (each.calls == 0) continue;
    // A method's self is not in the spec.
    const size_t given = spec->Facts().size();
    if (given != plans.num_inputs(*method) && given + 1 != plans.num_inputs(*method)) continue;
    const auto entry = plans.cache().AddQueued(*method, *spec, std::make_shared<const SpecProfile>(std::move(each)));
    if (entry == nullptr) continue;
    if (jobs != nullptr) {
      if (jobs->Compile(entry)) ++asked;
    } else {
      plans.MakeProfile(*entry, 1);
      plans.cache().Postpone(*entry);
    }
  }
  return asked;
}

}  // namespace hearth
