# libhone_http.so: the HTTP server and all that knows Boost and OpenSSL, opened at run time by
# http/http.cpp. What reads requests is a library of its own, which tests and fuzz drivers link.

set(hone_http_server ${CMAKE_CURRENT_SOURCE_DIR}/http/server)
add_library(hone_http_reader STATIC ${hone_http_server}/framing.cpp
  ${hone_http_server}/header_scanner.cpp ${hone_http_server}/request_reader.cpp)
target_link_libraries(hone_http_reader PUBLIC hone_flags hone_http Boost::headers)

file(GLOB hone_http_sources CONFIGURE_DEPENDS ${hone_http_server}/*.cpp)
list(FILTER hone_http_sources EXCLUDE REGEX "/(framing|header_scanner|request_reader)\\.cpp$")
add_library(hone_http_server MODULE ${hone_http_sources})
target_link_libraries(hone_http_server PRIVATE hone_http_reader hone_base OpenSSL::SSL)
target_link_options(hone_http_server PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(hone_http_server PROPERTIES OUTPUT_NAME hone_http
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ${HONE_UNITY})
