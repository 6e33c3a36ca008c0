# Sums between ranks of one host; bench/allreduce.py runs it beside MPI and gloo.
add_executable(allreduce_bench allreduce_bench.cpp)
target_link_libraries(allreduce_bench PRIVATE hone_comm)
if(TARGET hone_mpi)
  find_package(MPI COMPONENTS CXX REQUIRED)  # its target is one of src alone
  add_executable(allreduce_mpi allreduce_mpi.cpp)
  target_link_libraries(allreduce_mpi PRIVATE MPI::MPI_CXX)
endif()
