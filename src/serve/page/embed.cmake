# Writes OUT: the functions of serve/page.h over the bytes of FOLDER's files.
set(text "#include \"serve/page.h\"\n\nnamespace hone::serve {\n")
foreach(entry index_page:index.html docs_page:docs.html openapi_document:openapi.json)
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 function)
  list(GET entry 1 file)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND text
    "namespace {\nconstexpr unsigned char k_${function}[] = {${bytes}};\n}\n"
    "std::string_view ${function}() {\n"
    "  return {reinterpret_cast<const char*>(k_${function}), sizeof k_${function}};\n}\n")
endforeach()
string(APPEND text "}  // namespace hone::serve\n")
file(WRITE ${OUT} "${text}")
