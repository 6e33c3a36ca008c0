add_executable(step_bench cuda/step_bench.cpp cuda/roberta_step.cpp cuda/roberta_forward.cpp
  cuda/roberta_backward.cpp cuda/roberta_parameters.cpp)
target_include_directories(step_bench PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(step_bench PRIVATE hone_kernels_cuda CLI11::CLI11)
