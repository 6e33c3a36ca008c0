# Files that use intrinsics of one instruction set are compiled for it; they run only after
# device/cpu_info has found it. Everything else is compiled for the baseline and dispatched by Highway.
function(hone_isa_sources flags)
  foreach(file ${ARGN})
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kernels/cpu/${file}
      TARGET_DIRECTORY hone_kernels_cpu PROPERTIES COMPILE_OPTIONS "${flags}")
  endforeach()
endfunction()
