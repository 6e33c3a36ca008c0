foreach(name attention layer_norm train_kernels)
  add_executable(${name}_bench ${name}_bench.cpp)
  target_link_libraries(${name}_bench PRIVATE hone_kernels_cpu benchmark::benchmark)
endforeach()
