# The files of this folder become arrays of bytes in a source file, so that the program carries them.
set(report_page_files chart.css style.css script.js)
list(TRANSFORM report_page_files PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set(report_page_source ${CMAKE_CURRENT_BINARY_DIR}/report_page.cpp)
add_custom_command(OUTPUT ${report_page_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${report_page_source} -DFOLDER=${CMAKE_CURRENT_LIST_DIR}
    -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${report_page_files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
    ${CMAKE_CURRENT_SOURCE_DIR}/base64_sha256.cmake
  COMMENT "Embedding the page of hone report" VERBATIM)
target_sources(hone_report PRIVATE ${report_page_source})
