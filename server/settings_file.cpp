#include "server/settings_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/repository/config_file.h"
#include "server/repository/first_error.h"
#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::Tokenizer;

// Puts tokens together again, each where it stood; behind the one before, where a longer text has taken the place of
// that.
class TextBuilder {
 public:
  void Add(const Tokenizer::Token& token, const std::string& text) {
    for (; line_ < token.line; ++line_, column_ = 0) text_ += '\n';
    const int gap = std::max(token.column - column_, column_ > 0 && replaced_ ? 1 : 0);
    text_.append(static_cast<size_t>(gap), ' ');
    text_ += text;
    column_ += gap + static_cast<int>(text.size());
    replaced_ = text != token.text;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int line_ = 0;
  int column_ = 0;
  bool replaced_ = false;
};

// The text with a number of bytes wherever a size is given as text ("2GiB"), which the text format does not take for a
// number. What is no token at all is `errors`'; places stay as they are but for the rest of a line with such a size.
std::string WithSizesAsNumbers(const std::string& text, FirstError& errors) {
  ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  Tokenizer tokenizer(&stream, &errors);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  TextBuilder builder;
  bool size_name = false;  // the token before is the name of a size
  bool size_next = false;  // the two tokens before are that and a colon
  while (tokenizer.Next() && errors.message().empty()) {
    const Tokenizer::Token& token = tokenizer.current();
    std::string replacement = token.text;
    if (size_next && token.type == Tokenizer::TYPE_STRING) {
      std::string size;
      Tokenizer::ParseString(token.text, &size);
      const auto bytes = BytesFromText(size);
      if (!bytes.ok()) errors.AddError(token.line, token.column, std::string(bytes.status().message()));
      replacement = absl::StrCat(bytes.value_or(0));
    }
    builder.Add(token, replacement);
    size_next = size_name && token.text == ":";
    const SettingField* field = token.type == Tokenizer::TYPE_IDENTIFIER ? FindField(token.text) : nullptr;
    size_name = field != nullptr && field->setting->unit() == config::BYTES;
  }
  return builder.text();
}

}  // namespace

absl::StatusOr<config::Settings> ParseSettings(const std::string& text, const std::string& file) {
  FirstError errors(file);
  const std::string numbers = WithSizesAsNumbers(text, errors);
  config::Settings settings;
  if (errors.message().empty()) {
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    if (parser.ParseFromString(numbers, &settings)) return settings;
  }
  return absl::InvalidArgumentError(errors.message());
}

absl::StatusOr<config::Settings> ReadSettingsFile(const std::string& file) {
  const auto text = ReadConfigFile(file);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  if (!text->has_value()) return absl::InvalidArgumentError(absl::StrCat("there is no file ", file));
  return ParseSettings(**text, file);
}

}  // namespace hearth::server
