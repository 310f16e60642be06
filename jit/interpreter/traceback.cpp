#include "jit/interpreter/traceback.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "jit/support/errors.h"

namespace hearth {
namespace {

// A place on the stack of calls as the model's author sees it: inlined calls are frames too.
struct Place {
  const SourceRange* range;
  std::string function;
};

std::string ShortName(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  return dot == std::string::npos ? qualified : qualified.substr(dot + 1);
}

void AddPlaces(const TracebackFrame& frame, std::vector<Place>& places) {
  const InstructionOrigin& origin = frame.code->origins[frame.instruction];
  std::vector<const InlinedFrame*> chain;
  for (int32_t i = origin.inlined; i >= 0; i = frame.code->inlined[static_cast<size_t>(i)].caller) {
    chain.push_back(&frame.code->inlined[static_cast<size_t>(i)]);
  }
  std::string function = ShortName(frame.code->function_name);
  for (auto call = chain.rbegin(); call != chain.rend(); ++call) {
    places.push_back({&(*call)->call_site, std::move(function)});
    function = ShortName((*call)->callee);
  }
  places.push_back({&origin.range, std::move(function)});
}

size_t LineBegin(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t LineEnd(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// The mark under one line of a range, from its first character that is not blank.
void Underline(std::string_view text, size_t begin, size_t end, size_t line_end, std::string& out) {
  const size_t line_begin = LineBegin(text, begin);
  const size_t last = std::min(line_end, end);
  size_t first = begin;
  while (first < last && text[first] == ' ') ++first;
  if (first == last) return;
  out.append(first - line_begin, ' ').append(last - first, '~');
  const bool goes_on = line_end < end && text.substr(line_end, end - line_end).find_first_not_of(" \n") != text.npos;
  out.append(goes_on ? "\n" : " <--- HERE\n");
}

// The lines of the range, underlined, with two lines before and two after.
void PrintExcerpt(std::string_view text, size_t begin, size_t end, std::string& out) {
  constexpr int kContext = 2;
  size_t from = LineBegin(text, begin);
  size_t until = LineEnd(text, end);
  for (int i = 0; i < kContext; ++i) {
    if (from > 0) from = LineBegin(text, from - 1);
    if (until < text.size()) until = LineEnd(text, until + 1);
  }
  out.append(text.substr(from, begin - from));
  size_t at = begin;
  while (at < end) {
    const size_t line_end = LineEnd(text, at);
    out.append(text.substr(at, line_end - at)).append("\n");
    Underline(text, at, end, line_end, out);
    at = line_end + 1;
  }
  if (at >= until) return;
  out.append(text.substr(at, until - at));
  if (out.back() != '\n') out.append("\n");
}

void PrintHead(std::string_view file, int64_t line, const std::string& function, std::string& out) {
  out.append("  File \"").append(file).append("\", line ").append(std::to_string(line));
  out.append(", in ").append(function).append("\n");
}

void PrintSerialized(const Place& place, std::string& out) {
  const SourceRange& range = *place.range;
  if (range.source == nullptr) {
    out.append("  in ").append(place.function).append("\n");
    return;
  }
  PrintHead(range.source->name(), static_cast<int64_t>(range.source->PositionOf(range.begin).line), place.function,
            out);
  PrintExcerpt(range.source->text(), range.begin, range.end, out);
}

// False if the archive does not say where the place came from.
bool PrintOriginal(const Place& place, std::string& out) {
  const SourceRange& range = *place.range;
  if (range.source == nullptr || range.source->originals() == nullptr) return false;
  OriginalLocation location;
  if (!range.source->originals()->Find(range.begin, &location)) return false;
  if (location.end - location.begin == location.text.size()) {
    // A traced call's is the Python stack, no excerpt of a file.
    out.append(location.text);
    return true;
  }
  if (!location.file.empty()) PrintHead(location.file, location.line(), place.function, out);
  PrintExcerpt(location.text, location.begin, location.end, out);
  return true;
}

// In the words and the form of LibTorch, whose users and tools know them.
std::string Report(std::span<const TracebackFrame> frames, const std::string& class_name, const std::string& message) {
  std::vector<Place> places;
  for (const TracebackFrame& frame : frames) AddPlaces(frame, places);
  std::string serialized;
  std::string original;
  bool has_original = false;
  for (const Place& place : places) {
    PrintSerialized(place, serialized);
    if (PrintOriginal(place, original)) {
      has_original = true;
    } else {
      PrintSerialized(place, original);
    }
  }
  std::string report = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript";
  report.append(has_original ? ", serialized code" : "").append(" (most recent call last):\n").append(serialized);
  if (has_original) {
    report.append("\nTraceback of TorchScript, original code (most recent call last):\n").append(original);
  }
  return report.append(class_name).append(": ").append(message).append("\n");
}

std::exception_ptr Make(std::span<const TracebackFrame> frames, const std::string& class_name,
                        const std::string& message) {
  return std::make_exception_ptr(ModelError(class_name, message, Report(frames, class_name, message)));
}

}  // namespace

std::exception_ptr WithTraceback(std::exception_ptr error, std::span<const TracebackFrame> frames) {
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return error;
  } catch (const RaisedException& raised) {
    return Make(frames, raised.class_name, raised.message);
  } catch (const c10::Error& failed) {
    return Make(frames, "RuntimeError", failed.what_without_backtrace());
  } catch (const std::exception& failed) {
    return Make(frames, "RuntimeError", failed.what());
  } catch (...) {
    return Make(frames, "RuntimeError", "unknown exception");
  }
}

}  // namespace hearth
