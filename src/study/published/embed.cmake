# Published figures become strings of a source file, so that the program carries them.
foreach(name published.jsonl money.json)
  string(MAKE_C_IDENTIFIER ${name} variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${name})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," ${variable} "${bytes}")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/text.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/published_text.cpp)
target_sources(hone_study PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/published_text.cpp)
