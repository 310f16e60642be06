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

void Underline(size_t column, size_t width, std::string& out) {
  out.append(column, ' ').append(std::max<size_t>(width, 1), '~').append(" <--- HERE\n");
}

// The lines around the range, two before and two after, the range underlined where it starts.
void PrintSerialized(const Place& place, std::string& out) {
  constexpr size_t kContext = 2;
  const SourceRange& range = *place.range;
  if (range.source == nullptr) {
    out.append("  in ").append(place.function).append("\n");
    return;
  }
  const Source::Position start = range.source->PositionOf(range.begin);
  const Source::Position last = range.source->PositionOf(range.source->text().size());
  out.append("  File \"").append(range.source->name()).append("\", line ").append(std::to_string(start.line));
  out.append(", in ").append(place.function).append("\n");
  const size_t first_line = start.line > kContext ? start.line - kContext : 1;
  for (size_t line = first_line; line <= std::min(start.line + kContext, last.line); ++line) {
    const std::string_view text = range.source->Line(line);
    if (line == last.line && text.empty()) break;
    out.append(text).append("\n");
    if (line == start.line) {
      const size_t room = text.size() > start.column ? text.size() - start.column : 0;
      Underline(start.column, std::min<size_t>(range.end - range.begin, room), out);
    }
  }
}

bool PrintOriginal(const Place& place, std::string& out) {
  const SourceRange& range = *place.range;
  if (range.source == nullptr || range.source->originals() == nullptr) return false;
  OriginalLocation location;
  if (!range.source->originals()->Find(range.begin, &location)) return false;
  out.append("  File \"").append(location.file).append("\", line ").append(std::to_string(location.line));
  out.append(", in ").append(place.function).append("\n");
  out.append(location.source_line).append("\n");
  Underline(static_cast<size_t>(location.column), static_cast<size_t>(location.length), out);
  return true;
}

std::string Report(std::span<const TracebackFrame> frames, const std::string& class_name, const std::string& message) {
  std::vector<Place> places;
  for (const TracebackFrame& frame : frames) AddPlaces(frame, places);
  std::string serialized;
  std::string original;
  bool has_original = false;
  for (const Place& place : places) {
    PrintSerialized(place, serialized);
    has_original = PrintOriginal(place, original) || has_original;
  }
  std::string report = "The following operation failed in the TorchScript interpreter.\n";
  if (has_original) {
    report.append("Traceback of TorchScript, serialized code (most recent call last):\n").append(serialized);
    report.append("\nTraceback of TorchScript, original code (most recent call last):\n").append(original);
  } else {
    report.append("Traceback of TorchScript, serialized code (most recent call last):\n").append(serialized);
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
