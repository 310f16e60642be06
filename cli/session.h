// What the subcommands that run archives share: a Runtime made as the options say, models loaded on it, and inputs read
// from files.
//
// Operator libraries come from --operator-library and from the environment's HEARTH_OPERATOR_LIBRARIES (paths with ':'
// between). An archive that wants torchvision's operators gets torchvision's own library if it is installed beside the
// LibTorch that this process uses, so that the detectors run without a word of configuration.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"

namespace hearth::cli {

struct SessionOptions {
  std::string device = "cpu";
  std::vector<std::string> libraries;
  int64_t memory_limit = 0;  // of a call, and of loading; 0: none
  double timeout = 0;        // seconds for a call, and for what runs while loading; 0: no limit
  CompilerOptions compiler;
};

// Adds --device and --operator-library.
void AddSessionOptions(CLI::App& app, SessionOptions& options);

// Adds --memory-limit and --timeout.
void AddLimitOptions(CLI::App& app, SessionOptions& options);

// Adds --tier, --profiled and --fail-guards.
void AddTierOptions(CLI::App& app, SessionOptions& options);

struct CallInputs {
  Arguments args;
  KeywordArguments kwargs;
};

class Session {
 public:
  static absl::StatusOr<Session> Open(SessionOptions options);

  // An archive, or a file of source if its name ends in .py, of which nothing but `function` is wanted if that is not
  // empty. `predecessor` as in LoadOptions. Errors name it.
  absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& archive, const std::string& function,
                                              std::shared_ptr<const Model> predecessor = nullptr);
  // One call within the options' time: `method`, or with an empty one the module as Python's module(*args, **kwargs).
  // `settings` may hold a report to be filled, and the guard that is to fail.
  absl::StatusOr<c10::IValue> Call(Model& model, const std::string& method, CallInputs inputs,
                                   CallOptions settings = {}) const;

 private:
  Session(SessionOptions options, std::unique_ptr<Runtime> runtime)
      : options_(std::move(options)), runtime_(std::move(runtime)) {}

  // Whether a runtime with torchvision's library took the place of the one without; tried once.
  bool LoadNeighbourLibrary();

  SessionOptions options_;
  std::unique_ptr<Runtime> runtime_;
  bool searched_neighbours_ = false;
};

// Reads a torch.save file that holds a tuple of arguments, or a dict with "args" and "kwargs" (either may be missing).
absl::StatusOr<CallInputs> ReadInputs(const std::string& path);

// What the random operators draw from now on, as after torch.manual_seed(seed).
void SeedGenerators(uint64_t seed);

// Writes the answer for torch.load. Errors name the file.
absl::Status WriteAnswer(const c10::IValue& answer, const std::string& path);
// The answer together with the arguments as the call left them, so that what was written and what is shared can be
// seen:
// {"args": tuple, "kwargs": dict, "result": answer}, without "result" where there is none.
absl::Status WriteAnswerAndInputs(const c10::IValue* answer, const CallInputs& inputs, const std::string& path);

}  // namespace hearth::cli
