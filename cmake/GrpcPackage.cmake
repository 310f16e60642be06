# Finds Protobuf and gRPC for the folder that includes this: their targets are known to that folder only.
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
# gRPC's package hands on a -pthread of re2's, which would part these targets from the shared precompiled header.
if(TARGET re2::re2)
  set_target_properties(re2::re2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")
endif()
