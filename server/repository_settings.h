// The repository as hearthd's settings say, and what it derives from each model that it loads.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "proto/settings.pb.h"
#include "server/ensembles/ensemble.h"
#include "server/repository/repository.h"
#include "server/storage/mirror.h"

namespace hearth::server {

ModelControl ControlOf(const config::Settings& settings);

// The mirrors of the repositories that are in object storage.
absl::StatusOr<std::unique_ptr<Mirrors>> MirrorsOf(const config::Settings& settings);

// Where files of clients are put; null if there may be none. Removes what killed processes left there.
absl::StatusOr<std::shared_ptr<ClientFilesStore>> ClientFilesOf(const config::Settings& settings);

// `mirrors` outlives the repository. Loads with files are refused until the options have a place for these.
Repository::Options RepositoryOptionsOf(const config::Settings& settings, Mirrors& mirrors);

// The signature that requests are bound to; kInvalidArgument for a model that cannot serve them.
CallInterfaceFactory SignatureFactory();

// What ensembles are served with; all outlives it.
EnsembleEnvironment EnsemblesOn(const config::Settings& settings, Runtime& runtime, Repository& repository,
                                Dispatcher& dispatcher, AlarmClock& alarms);

}  // namespace hearth::server
