// Kernels as text, the way people and tests read them; kernel.h shows one. What is well-formed reads back (parser.h) to
// an equal Kernel, and what this prints reads back to the same text.
//
//   kernel      = "kernel" "(" [symbol {"," symbol}] ")" "{" {instruction} {buffer} {statement} "}"
//   symbol      = value ["f64"]                                      an i64 unless it says so
//   buffer      = ("input" | "output") buffer-id dtype list "strides" list
//               | "local" buffer-id dtype list                       buffers are numbered in order, from 0
//   statement   = instruction | store | loop
//   instruction = value "=" dtype computation
//   computation = "constant" literal
//               | "load" buffer-id list
//               | "load_if" value "," buffer-id list
//               | operation value {"," value}                        the names of operation.h
//   store       = "store" buffer-id list "," value
//   loop        = "parallel" range block
//               | results "=" "reduce" range block                   yield: reduction value {"," reduction value}
//               | "sequential" range block                           without yield
//               | results "=" "sequential" range "(" value "=" value {"," value "=" value} ")" block
//                                                                    yield: value {"," value}
//   results     = value {"," value}
//   range       = value "<" value                                    the index and the extent
//   block       = "{" {statement} ["yield" yield] "}"
//   list        = "[" [value {"," value}] "]"
//   literal     = "true" | "false" | integer | number | ["-"] "inf" | "nan"
//   value       = "%" digits
//   buffer-id   = "@" digits
//
// A sequential loop's values in parentheses are what a round begins with, each with what the first one is given; what
// it yields is what the next round begins with. Line breaks and indentation carry no meaning; "//" begins a comment.
// Floating-point constants are the shortest decimal numbers that read back to the same value of their dtype.
//
// Thread-safe for Kernels that nobody changes. A Kernel need not be well-formed to be printed, as long as no loop lacks
// what its kind has.
#pragma once

#include <string>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

std::string Print(const Kernel& kernel);

// An instruction, or the line that a loop begins with; without a line break.
std::string Print(const Statement& statement);

}  // namespace hearth::fuser
