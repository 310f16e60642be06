// The repository as hearthd's settings say, and what it derives from each model that it loads.
#pragma once

#include "proto/settings.pb.h"
#include "server/ensembles/ensemble.h"
#include "server/repository/repository.h"

namespace hearth::server {

ModelControl ControlOf(const config::Settings& settings);

Repository::Options RepositoryOptionsOf(const config::Settings& settings);

// The signature that requests are bound to; kInvalidArgument for a model that cannot serve them.
CallInterfaceFactory SignatureFactory();

// What ensembles are served with; all outlives it.
EnsembleEnvironment EnsemblesOn(const config::Settings& settings, Runtime& runtime, Repository& repository,
                                Dispatcher& dispatcher, AlarmClock& alarms);

}  // namespace hearth::server
