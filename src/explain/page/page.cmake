# The files of this folder become arrays of bytes in a source file, so that the program carries them.
set(explain_page_files top.html body.html style.css script.js)
list(TRANSFORM explain_page_files PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set(explain_page_source ${CMAKE_CURRENT_BINARY_DIR}/explain_page.cpp)
add_custom_command(OUTPUT ${explain_page_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${explain_page_source} -DFOLDER=${CMAKE_CURRENT_LIST_DIR}
    -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${explain_page_files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    ${CMAKE_CURRENT_SOURCE_DIR}/base64_sha256.cmake
  COMMENT "Embedding the page of hone explain" VERBATIM)
target_sources(hone_explain PRIVATE ${explain_page_source})
