# Sources of Highway choose their targets in dispatch.h. Files that use intrinsics Highway has not are
# compiled for their instruction set; they run only after device/cpu_info has found it. They must
# not call inline functions of shared headers: the linker keeps one copy of each, perhaps theirs.
function(hone_isa_sources flags)
  foreach(file ${ARGN})
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kernels/cpu/${file}
      TARGET_DIRECTORY hone_kernels_cpu PROPERTIES COMPILE_OPTIONS "${flags}")
  endforeach()
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  hone_isa_sources("-mavx512f;-mavx512bf16" gemm_bf16.cpp)
  hone_isa_sources("-mavx512f;-mavx512vnni" gemm_vnni.cpp)
endif()
