# Sources of Highway choose their targets in dispatch.h. Files that use intrinsics Highway has not are
# compiled for their instruction set; they run only after device/cpu_info has found it. They must
# not call inline functions of shared headers: the linker keeps one copy of each, perhaps theirs.
function(hone_isa_sources flags)
  foreach(file ${ARGN})
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kernels/cpu/${file}
      TARGET_DIRECTORY hone_kernels_cpu PROPERTIES COMPILE_OPTIONS "${flags}")
  endforeach()
endfunction()

# Sources of the other architecture are left out.
function(hone_leave_out pattern)
  get_target_property(sources hone_kernels_cpu SOURCES)
  list(FILTER sources EXCLUDE REGEX "/(${pattern})\\.cpp$")
  set_property(TARGET hone_kernels_cpu PROPERTY SOURCES ${sources})
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  hone_leave_out("[a-z0-9_]*_neon[a-z0-9_]*")
  hone_isa_sources("-mavx512f;-mavx512bf16" gemm_bf16.cpp)
  hone_isa_sources("-mavx512f;-mavx512vnni" gemm_vnni.cpp inner_products_x86.cpp)
else()
  hone_leave_out("[a-z0-9_]*_x86|gemm_(amx|bf16|int8|vnni)")
  # GCC's scheduling before it hands out registers brings loads so early that sums are spilt.
  set(as_written -fno-schedule-insns)
  hone_isa_sources(${as_written} gemm_neon_int8.cpp)
  hone_isa_sources("-march=armv8.2-a+dotprod" gemm_neon_dotprod.cpp)
  hone_isa_sources("-march=armv8.2-a+i8mm;${as_written}" gemm_neon_i8mm.cpp)
  hone_isa_sources("-march=armv8.2-a+bf16;${as_written}" gemm_neon_bf16.cpp)
endif()
