// One step of a compilation, as the table of passes (passes/pass_table.h) lists it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace hearth {

class Compilation;

// What a Compilation computes of its graph when a pass asks for it, and keeps until a pass changes the graph.
enum class Analysis : uint8_t {
  kAliases,    // AliasClasses
  kMemory,     // WrittenMemory
  kPureNodes,  // PureNodes; rests on kMemory
  kPureForks,  // PureForks; rests on kMemory
  kFacts,      // ValueFactTable, all inferred; rests on kMemory
  kLiveness,   // Liveness: of every node where it stands
};

class AnalysisSet {
 public:
  constexpr AnalysisSet() = default;
  constexpr AnalysisSet(std::initializer_list<Analysis> analyses) {  // NOLINT(google-explicit-constructor)
    for (const Analysis analysis : analyses) bits_ |= BitOf(analysis);
  }
  // What a pass preserves that moves nodes and changes nothing else.
  static constexpr AnalysisSet AllButOrder() {
    AnalysisSet all;
    all.bits_ = static_cast<uint8_t>(~BitOf(Analysis::kLiveness));
    return all;
  }
  constexpr bool Has(Analysis analysis) const { return (bits_ & BitOf(analysis)) != 0; }

 private:
  static constexpr uint8_t BitOf(Analysis analysis) {
    return static_cast<uint8_t>(1U << static_cast<uint8_t>(analysis));
  }

  uint8_t bits_ = 0;
};

struct Pass {
  std::string_view name;
  // Whether the graph changed.
  bool (*run)(Compilation&);
  std::string_view help;  // one line
  // Analyses that are still right when it has changed the graph.
  AnalysisSet preserves = {};
  // Part of what the graph means, and not subject to HEARTH_OPT_LIMIT.
  bool required = false;
};

}  // namespace hearth
