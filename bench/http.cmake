add_executable(http_bench http_bench.cpp)
target_link_libraries(http_bench PRIVATE hone_http)
add_dependencies(http_bench hone_http_server)  # it opens the module
