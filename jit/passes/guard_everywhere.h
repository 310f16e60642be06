// Puts a guard that always holds before every node of a plan that a FrameState covers, for tests that make guards fail.
#pragma once

namespace hearth {

class Compilation;

bool GuardEverywhere(Compilation& compilation);

}  // namespace hearth
