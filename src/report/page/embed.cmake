# Writes OUT: the functions of report/page_parts.h over FOLDER's files. An element of a page holds
# the file and nothing else, since the hash is of that.
include(${FOLDER}/../../base64_sha256.cmake)
set(text "#include \"report/page_parts.h\"\n\nnamespace hone::report {\n")
foreach(entry chart_style:chart.css page_style:style.css page_script:script.js)
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 function)
  list(GET entry 1 file)
  base64_sha256(${FOLDER}/${file} hash)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND text
    "namespace {\nconstexpr unsigned char k_${function}[] = {${bytes}};\n}\n"
    "std::string_view ${function}() {\n"
    "  return {reinterpret_cast<const char*>(k_${function}), sizeof k_${function}};\n}\n"
    "std::string_view ${function}_hash() { return \"sha256-${hash}\"; }\n")
endforeach()
string(APPEND text "}  // namespace hone::report\n")
file(WRITE ${OUT} "${text}")
