// The plans of a model's version, and what of it is being compiled, as messages.
#pragma once

#include "proto/hearth.pb.h"
#include "server/repository/servable.h"

namespace hearth::server {

// May wait for a thread of the compiler's.
v1::ListPlansResponse DescribePlans(const Servable& servable, bool graphs);

v1::Compilation DescribeCompilation(CompilationInfo compilation);

}  // namespace hearth::server
