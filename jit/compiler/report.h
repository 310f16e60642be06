// What became of a compilation, for who goes on with its graph and for people.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

namespace hearth {

struct CompilationReport {
  // One run of a pass.
  struct Step {
    std::string_view pass;
    std::chrono::duration<double> time{};  // of the thread's processor
    bool changed = false;
    size_t nodes_before = 0;
    size_t nodes_after = 0;
  };
  std::vector<Step> steps;        // in order
  std::vector<size_t> questions;  // numbers of the Values that would be guarded if the profile said so
  bool lacks_room = false;        // the weights' table had none for a constant that it would have
};

}  // namespace hearth
