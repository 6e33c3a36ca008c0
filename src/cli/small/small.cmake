# hone-small: one file without libraries, for devices that have none. It has the commands of
# small/command_table.cpp and no loader; the linker leaves out what they do not reach.
if(HONE_SMALL)
  # Their namesakes in these libraries are left out, which takes objects of their own.
  set_target_properties(hone_cli PROPERTIES UNITY_BUILD OFF)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/base/library.cpp PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON)
  add_executable(hone_small cli/main/main.cpp cli/small/command_table.cpp base/static/library.cpp)
  target_link_libraries(hone_small PRIVATE $<TARGET_FILE:hone_cli> hone_study CLI11::CLI11)
  add_dependencies(hone_small hone_cli)
  target_link_options(hone_small PRIVATE -static -s -Wl,--gc-sections)
  set_target_properties(hone_small PROPERTIES OUTPUT_NAME hone-small)
endif()
