// hearthd: see server/serve.h.
#include "jit/runtime.h"
#include "server/serve.h"

int main(int argc, char** argv) { return hearth::server::Serve(argc, argv, hearth::Runtime::Create); }
