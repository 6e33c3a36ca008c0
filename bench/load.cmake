# The generator of load for HTTP servers; a library, so that tests can run it against their own.
add_library(hone_load STATIC load/arrivals.cpp load/connection.cpp load/driver.cpp
  load/requests.cpp load/response_parser.cpp load/summary.cpp)
target_include_directories(hone_load PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hone_load PUBLIC hone_base)
add_executable(load_generator load_generator.cpp)
target_link_libraries(load_generator PRIVATE hone_load CLI11::CLI11)
add_executable(in_process_bench in_process_bench.cpp)
target_link_libraries(in_process_bench PRIVATE hone_load hone_api CLI11::CLI11)
