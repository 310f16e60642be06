// What became of a compilation, for who goes on with its graph and for people.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
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
  // What is known of a plan's memory before it runs, for the sizes that are likely.
  struct Memory {
    size_t results = 0;  // of operators that make a tensor
    size_t planned = 0;  // of those, how many have a place in the plan's arena
    size_t bytes = 0;    // of the arena
    size_t peak = 0;     // the most of these results that is in use at one time
  };
  std::vector<Step> steps;  // in order
  Memory memory;
  std::vector<size_t> questions;     // numbers of the Values that would be guarded if the profile said so
  std::vector<std::string> kernels;  // texts of those whose code it would have had
  bool lacks_room = false;           // the weights' table had none for a constant that it would have
};

}  // namespace hearth
