#include "server/repository/batch_padding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hearth::server {
namespace {

constexpr int64_t kMostMultiple = 1 << 20;
constexpr double kMostFactor = 1e6;
// As many dimensions as a tensor may have.
constexpr int64_t kMostDimension = 63;

// A configuration's parameter; empty where it is not there.
std::string TextOfParameter(const inference::ModelConfig& config, const char* name) {
  const auto found = config.parameters().find(name);
  return found == config.parameters().end() ? "" : found->second.string_value();
}

template <typename... Parts>
absl::Status WrongPadding(const inference::ModelConfig& config, const char* name, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("the parameter ", name, " is '", TextOfParameter(config, name), "'; ", parts...));
}

// "NAME:DIMENSION".
struct Place {
  std::string name;
  std::optional<int64_t> dimension;  // nothing: it is left out
};

// Nothing for what is not written so.
std::optional<Place> ParsePlace(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  Place place{std::string(text), {}};
  if (const size_t colon = text.rfind(':'); colon != absl::string_view::npos) {
    place.name = std::string(absl::StripAsciiWhitespace(text.substr(0, colon)));
    int64_t dimension = 0;
    if (!absl::SimpleAtoi(text.substr(colon + 1), &dimension) || dimension < 1 || dimension > kMostDimension)
      return std::nullopt;
    place.dimension = dimension;
  }
  if (place.name.empty()) return std::nullopt;
  return place;
}

// What stands before and behind the last '='; nothing behind it where there is none.
std::pair<absl::string_view, std::optional<absl::string_view>> Halves(absl::string_view entry) {
  const size_t equals = entry.rfind('=');
  if (equals == absl::string_view::npos) return {entry, std::nullopt};
  return {entry.substr(0, equals), entry.substr(equals + 1)};
}

template <typename Integer>
bool IsWithin(double value) {
  // The largest of 64 bits is no double; the next one is.
  return value >= static_cast<double>(std::numeric_limits<Integer>::min()) &&
         value < std::ldexp(1.0, std::numeric_limits<Integer>::digits);
}

bool HasValue(inference::DataType datatype, double value) {
  const bool whole = std::floor(value) == value;
  switch (datatype) {
    case inference::TYPE_BOOL:
      return value == 0 || value == 1;
    case inference::TYPE_UINT8:
      return whole && IsWithin<uint8_t>(value);
    case inference::TYPE_UINT16:
      return whole && IsWithin<uint16_t>(value);
    case inference::TYPE_UINT32:
      return whole && IsWithin<uint32_t>(value);
    case inference::TYPE_UINT64:
      return whole && IsWithin<uint64_t>(value);
    case inference::TYPE_INT8:
      return whole && IsWithin<int8_t>(value);
    case inference::TYPE_INT16:
      return whole && IsWithin<int16_t>(value);
    case inference::TYPE_INT32:
      return whole && IsWithin<int32_t>(value);
    case inference::TYPE_INT64:
      return whole && IsWithin<int64_t>(value);
    case inference::TYPE_STRING:
      return false;
    default:
      return true;
  }
}

// What the configuration's tensors say against it; empty: nothing.
template <typename Tensors>
std::string Contradiction(const Tensors& tensors, const char* kind, const std::string& name, int64_t dimension) {
  if (tensors.empty()) return "";
  const auto tensor = std::ranges::find(tensors, name, [](const auto& each) { return each.name(); });
  if (tensor == tensors.end()) return absl::StrCat("the configuration has no ", kind, " '", name, "'");
  const auto& sizes = tensor->has_reshape() ? tensor->reshape().shape() : tensor->dims();
  if (dimension > sizes.size())
    return absl::StrCat(kind, " '", name, "' has ", sizes.size(), " dimensions beside the batch");
  if (const int64_t size = sizes[static_cast<int>(dimension) - 1]; size != -1)
    return absl::StrCat("dimension ", dimension, " of ", kind, " '", name, "' is always ", size);
  return "";
}

absl::Status ReadInputs(const inference::ModelConfig& config, BatchPadding& padding) {
  const std::string text = TextOfParameter(config, kPadInputs);
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const auto [before, behind] = Halves(entry);
    const std::optional<Place> place = ParsePlace(before);
    double value = 0;
    if (!place || !behind || !absl::SimpleAtod(absl::StripAsciiWhitespace(*behind), &value) || std::isnan(value)) {
      return WrongPadding(config, kPadInputs,
                          "it must be inputs with what they are filled up with and commas between them, as in "
                          "'input_ids=0, image:2=0.5', where 2 is a dimension behind the batch");
    }
    const BatchPadding::Input input{place->name, place->dimension.value_or(1), value};
    const auto is_same = [&](const BatchPadding::Input& other) {
      return other.name == input.name && other.dimension == input.dimension;
    };
    if (std::ranges::any_of(padding.inputs, is_same))
      return WrongPadding(config, kPadInputs, "dimension ", input.dimension, " of '", input.name, "' is there twice");
    const auto is_alike = [&](const BatchPadding::Input& other) {
      return other.name != input.name || other.value == input.value;
    };
    if (!std::ranges::all_of(padding.inputs, is_alike))
      return WrongPadding(config, kPadInputs, "'", input.name, "' is filled up with two values");
    std::string contradiction = Contradiction(config.input(), "input", input.name, input.dimension);
    if (!contradiction.empty()) return WrongPadding(config, kPadInputs, contradiction);
    const auto known = std::ranges::find(config.input(), input.name, [](const auto& each) { return each.name(); });
    if (known != config.input().end() && !HasValue(known->data_type(), value))
      return WrongPadding(config, kPadInputs, "input '", input.name, "' is ",
                          inference::DataType_Name(known->data_type()), ", which has no ", value);
    padding.inputs.push_back(input);
    if (padding.inputs.size() > BatchPadding::kMostEntries)
      return WrongPadding(config, kPadInputs, "it may have ", BatchPadding::kMostEntries, " entries");
  }
  return absl::OkStatus();
}

absl::Status ReadOutputs(const inference::ModelConfig& config, BatchPadding& padding) {
  const std::string text = TextOfParameter(config, kTrimOutputs);
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const auto [before, behind] = Halves(entry);
    const std::optional<Place> place = ParsePlace(before);
    const std::optional<Place> source =
        behind ? ParsePlace(*behind) : std::optional<Place>({padding.inputs[0].name, {}});
    if (!place || !source) {
      return WrongPadding(
          config, kTrimOutputs,
          "it must be outputs with commas between them, as in 'logits, 1:2=image:2', where 2 is a dimension "
          "behind the batch and image one of pad_inputs");
    }
    const auto input = std::ranges::find_if(padding.inputs, [&](const BatchPadding::Input& padded) {
      return padded.name == source->name && padded.dimension == source->dimension.value_or(padded.dimension);
    });
    if (input == padding.inputs.end())
      return WrongPadding(config, kTrimOutputs, "pad_inputs has no '", absl::StripAsciiWhitespace(*behind), "'");
    const BatchPadding::Output output{place->name, place->dimension.value_or(1),
                                      static_cast<size_t>(input - padding.inputs.begin())};
    const auto is_same = [&](const BatchPadding::Output& other) {
      return other.name == output.name && other.dimension == output.dimension;
    };
    if (std::ranges::any_of(padding.outputs, is_same))
      return WrongPadding(config, kTrimOutputs, "dimension ", output.dimension, " of '", output.name,
                          "' is there twice");
    std::string contradiction = Contradiction(config.output(), "output", output.name, output.dimension);
    if (!contradiction.empty()) return WrongPadding(config, kTrimOutputs, contradiction);
    padding.outputs.push_back(output);
    if (padding.outputs.size() > BatchPadding::kMostEntries)
      return WrongPadding(config, kTrimOutputs, "it may have ", BatchPadding::kMostEntries, " entries");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BatchPadding> PaddingOf(const inference::ModelConfig& config) {
  BatchPadding padding;
  const auto is_given = [&](const char* name) { return config.parameters().contains(name); };
  for (const char* other : {kTrimOutputs, kPadMultiple, kPaddingFactor}) {
    if (is_given(other) && !is_given(kPadInputs))
      return WrongPadding(config, other, "it needs the parameter pad_inputs");
  }
  if (!is_given(kPadInputs)) return padding;
  if (absl::Status status = ReadInputs(config, padding); !status.ok()) return status;
  if (is_given(kTrimOutputs)) {
    if (absl::Status status = ReadOutputs(config, padding); !status.ok()) return status;
  }
  if (is_given(kPadMultiple) && (!absl::SimpleAtoi(TextOfParameter(config, kPadMultiple), &padding.multiple) ||
                                 padding.multiple < 1 || padding.multiple > kMostMultiple))
    return WrongPadding(config, kPadMultiple, "it must be a whole number from 1 to ", kMostMultiple);
  // Written so that a NaN is out of bounds.
  if (is_given(kPaddingFactor) && (!absl::SimpleAtod(TextOfParameter(config, kPaddingFactor), &padding.most) ||
                                   !(padding.most >= 1 && padding.most <= kMostFactor)))
    return WrongPadding(config, kPaddingFactor, "it must be a number from 1 to 1e6");
  return padding;
}

}  // namespace hearth::server
