# libhone_mpi.so: ranks of several hosts, opened at run time by comm/mpi_plugin.cpp where a run was
# started by mpirun or srun. Built where MPI is found.

set(HONE_MPI auto CACHE STRING "The MPI library: auto (where MPI is found), on, off")
if(NOT HONE_MPI STREQUAL "off")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS CXX QUIET)
  if(NOT MPI_CXX_FOUND AND HONE_MPI STREQUAL "on")
    message(FATAL_ERROR "HONE_MPI=on: no MPI was found (Debian: libopenmpi-dev)")
  endif()
endif()
if(MPI_CXX_FOUND AND NOT HONE_MPI STREQUAL "off")
  add_library(hone_mpi MODULE ${CMAKE_CURRENT_SOURCE_DIR}/comm/mpi/mpi_link.cpp)
  target_link_libraries(hone_mpi PRIVATE hone_flags hone_base MPI::MPI_CXX)
  target_link_options(hone_mpi PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(hone_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
else()
  message(STATUS "MPI library: not built (${HONE_MPI})")
endif()
