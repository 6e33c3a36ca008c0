# libhone.so, the public C++ API: all layers in one file that shows what include/hone declares. A
# project that links hone::hone gets these headers, and none of our flags.
add_library(hone_shared SHARED $<TARGET_OBJECTS:hone_api>)
add_library(hone::hone ALIAS hone_shared)
target_link_libraries(hone_shared PRIVATE hone_infer hone_train)
target_include_directories(hone_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(hone_shared INTERFACE cxx_std_20)
target_link_options(hone_shared PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libhone.map -Wl,--gc-sections)
set_target_properties(hone_shared PROPERTIES OUTPUT_NAME hone EXPORT_NAME hone
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libhone.map
  # Before version 1 a minor version may change the interface.
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
