// The versions of a model that served at one time, and how requests found them: what a rollback has serve again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/client_files.h"
#include "server/repository/servable.h"
#include "server/repository/version_routing.h"

namespace hearth::server {

// The parameter of a configuration that has the versions which its model takes the place of kept in memory.
inline constexpr const char* kKeepPrevious = "keep_previous";

// Whether that is "true"; kInvalidArgument unless it is that, "false" or not there.
absl::StatusOr<bool> KeepsPrevious(const inference::ModelConfig& config);

// Whether two configurations serve a version alike: they differ at most in which versions are chosen and how requests
// find them, in keep_previous, and in what is asked of versions to come (shadow_traffic.h).
bool ServeAlike(const inference::ModelConfig& one, const inference::ModelConfig& other);

class ServedSet {
 public:
  struct Version {
    inference::ModelConfig config;
    std::string archive_stamp;
    std::weak_ptr<const Servable> servable;
    ServablePtr kept;        // the same, where it stays in memory; may be null
    bool of_client = false;  // loaded from files that came with a load:
    std::weak_ptr<const ClientFiles> files;
  };

  ServedSet() = default;
  explicit ServedSet(VersionRouting routing) : routing_(std::move(routing)) {}

  void Add(const ServablePtr& servable);
  // Keeps the versions in memory that are still there and are none of those that serve `now`.
  void Keep(const ServedSet& now);
  // Keeps none any longer.
  void LetGo();
  bool Keeps(int64_t version) const;

  // Whether they are of the same archives and configurations.
  bool IsSame(const ServedSet& other) const;
  // That version alone, which every label names; with the configuration of the highest if it is none of these. There
  // are some.
  ServedSet Only(int64_t version) const;

  const std::map<int64_t, Version>& versions() const { return versions_; }
  const VersionRouting& routing() const { return routing_; }
  // "1, 2"
  std::string Names() const;

 private:
  std::map<int64_t, Version> versions_;
  VersionRouting routing_;
};

}  // namespace hearth::server
