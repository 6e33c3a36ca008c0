# Writes OUT: the functions of explain/page_parts.h over FOLDER's files. The page's content policy
# names its style and its script by their hashes.
include(${FOLDER}/../../base64_sha256.cmake)

function(hex_of text result)
  string(HEX "${text}" hex)
  set(${result} ${hex} PARENT_SCOPE)
endfunction()

base64_sha256(${FOLDER}/style.css style_hash)
base64_sha256(${FOLDER}/script.js script_hash)
file(READ ${FOLDER}/top.html top HEX)
foreach(kind STYLE SCRIPT)
  string(TOLOWER ${kind} name)
  hex_of("@${kind}_HASH@" mark)
  hex_of("${${name}_hash}" hash)
  string(REPLACE ${mark} ${hash} top ${top})
endforeach()
foreach(part body.html style.css script.js)
  string(REGEX REPLACE "\\..*" "" name ${part})
  file(READ ${FOLDER}/${part} ${name} HEX)
endforeach()
foreach(mark "<style>" "</style>\n" "<script type=\"application/json\" id=\"data\">" "</script>\n<script>"
        "</script>\n</body>\n</html>\n")
  hex_of("${mark}" hex)
  list(APPEND marks ${hex})
endforeach()
list(GET marks 0 style_begin)
list(GET marks 1 style_end)
list(GET marks 2 data_begin)
list(GET marks 3 script_begin)
list(GET marks 4 end)
set(page_before_data ${top}${style_begin}${style}${style_end}${body}${data_begin})
set(page_behind_data ${script_begin}${script}${end})

set(text "#include \"explain/page_parts.h\"\n\nnamespace hone::explain {\n")
foreach(function page_before_data page_behind_data)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${${function}}")
  string(APPEND text
    "namespace {\nconstexpr unsigned char k_${function}[] = {${bytes}};\n}\n"
    "std::string_view ${function}() {\n"
    "  return {reinterpret_cast<const char*>(k_${function}), sizeof k_${function}};\n}\n")
endforeach()
string(APPEND text "}  // namespace hone::explain\n")
file(WRITE ${OUT} "${text}")
