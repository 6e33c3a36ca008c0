# The files of this folder become arrays of bytes in a source file, so that the program carries them.
set(pages index.html docs.html openapi.json)
list(TRANSFORM pages PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE page_files)
set(page_source ${CMAKE_CURRENT_BINARY_DIR}/serve_pages.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${page_source} -DFOLDER=${CMAKE_CURRENT_LIST_DIR}
    -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${page_files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  COMMENT "Embedding the pages of hone serve" VERBATIM)
target_sources(hone_serve PRIVATE ${page_source})
