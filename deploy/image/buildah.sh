# A shell function that deploy/image/make and test share. Sourced after deploy/packaging.sh, never run.

# images COMMAND...: buildah with a storage of its own in build/packages, without mounts or overlays.
images() { buildah --root "$PACKAGES/stage/images" --runroot "$PACKAGES/stage/images-run" --storage-driver vfs "$@"; }
