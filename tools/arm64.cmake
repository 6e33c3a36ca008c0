# Debian's cross toolchain for 64-bit ARM, with the libraries that tools/setup-arm64 makes; headers
# that are the same everywhere are the machine's own. Programs run under qemu, as the processor that
# QEMU_CPU names.
get_filename_component(hone_arm64 ${CMAKE_CURRENT_LIST_DIR}/../.cache/arm64/usr ABSOLUTE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_PREFIX_PATH ${hone_arm64})
set(LIBLZMA_LIBRARY_RELEASE ${hone_arm64}/lib/aarch64-linux-gnu/liblzma.a CACHE FILEPATH "")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
