# Read by cpack once for each kind of package. An archive's files lie in one folder, which
# `tar --strip-components=1` leaves out; those of a Debian package lie where they are installed.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
else()
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
endif()
