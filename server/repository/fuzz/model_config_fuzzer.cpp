// Feeds any bytes to the readers of model configurations, as text and as JSON. The first byte chooses one of them and
// what model the configuration is for. What is accepted must be all that the server then takes it for.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "server/repository/model_config.h"
#include "server/repository/queue_settings.h"
#include "server/repository/sequence_settings.h"
#include "server/repository/version_policy.h"
#include "wire/datatypes.h"

namespace hearth::server {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Read(uint8_t choice, const std::string& text) {
  auto config = (choice & 1) != 0 ? ParseModelConfigJson(text) : ParseModelConfig(text, "config.pbtxt");
  if (!config.ok()) return;
  const std::string name = (choice & 2) != 0 ? "other" : "m";
  const auto checked = CheckModelConfig(*std::move(config), name);
  if (!checked.ok()) return;
  Require(checked->config.name() == name);
  Require(checked->config.max_batch_size() >= 0);
  for (const auto& input : checked->config.input()) Require(FindDatatype(input.data_type()) != nullptr);
  for (const auto& output : checked->config.output()) Require(FindDatatype(output.data_type()) != nullptr);
  for (const auto& sample : checked->config.model_warmup()) {
    for (const auto& [input_name, input] : sample.inputs()) Require(FindDatatype(input.data_type()) != nullptr);
  }
  Require(SettingsOf(checked->config).ok());
  const QueueSettings queue = QueueSettingsOf(checked->config);
  Require(queue.default_level >= 1 && queue.default_level <= static_cast<int64_t>(queue.levels.size()));
  Require(queue.preferred.empty() || (queue.preferred.front() >= 1 && queue.preferred.back() <= queue.max_rows));
  Require(!queue.allowed || queue.allowed->empty() || queue.allowed->back() == queue.max_rows);
  for (const BatchPadding::Input& input : queue.padding.inputs) Require(input.dimension >= 1);
  for (const BatchPadding::Output& output : queue.padding.outputs)
    Require(output.dimension >= 1 && output.input < queue.padding.inputs.size());
  Require(queue.padding.multiple >= 1 && queue.padding.most >= 1);
  const inference::ModelConfig extended = WithSequenceTensors(checked->config);
  for (const auto& input : extended.input()) Require(FindDatatype(input.data_type()) != nullptr);
  Require(!ChooseVersions(checked->config.version_policy(), {}).ok());
  // What was accepted is accepted again: it is what ModelConfig tells clients.
  Require(CheckModelConfig(checked->config, name).ok());
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  hearth::server::Read(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
