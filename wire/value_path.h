// The place of a value in what it is part of, for messages: "argument 'boxes'[3]['name'].key".
//
// Each step points to the one before, and all lie on the stack of whoever walks through the value. The text is made
// where somebody asks for it and not for every value: keys may be as long as a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace hearth {

// The path that it is made from, and its texts, must outlive it.
class ValuePath {
 public:
  explicit ValuePath(std::string_view name) : step_(name) {}

  // [3]
  ValuePath Item(int64_t index) const { return {*this, "[", index, "]"}; }
  // ['name']
  ValuePath Key(std::string_view key) const { return {*this, "['", key, "']"}; }
  // [float], where the key is of a kind that is not written out.
  ValuePath KeyOfKind(std::string_view kind) const { return {*this, "[", kind, "]"}; }
  // .name
  ValuePath Field(std::string_view name) const { return {*this, ".", name, ""}; }

  std::string Text() const {
    std::string text = outer_ == nullptr ? "" : outer_->Text();
    text += open_;
    const auto* const number = std::get_if<int64_t>(&step_);
    text += number != nullptr ? std::to_string(*number) : std::string(std::get<std::string_view>(step_));
    return text += close_;
  }

 private:
  ValuePath(const ValuePath& outer, const char* open, std::variant<std::string_view, int64_t> step, const char* close)
      : outer_(&outer), open_(open), step_(step), close_(close) {}

  const ValuePath* outer_ = nullptr;
  const char* open_ = "";
  std::variant<std::string_view, int64_t> step_;
  const char* close_ = "";
};

}  // namespace hearth
