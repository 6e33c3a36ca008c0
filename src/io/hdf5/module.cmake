# libhone_hdf5.so: all that knows HDF5 and libdeflate, opened at run time by io/hdf5.cpp. It is built
# where both are found.
find_path(HDF5_SERIAL_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5_SERIAL NAMES hdf5_serial hdf5)
find_path(LIBDEFLATE_INCLUDE libdeflate.h)
find_library(LIBDEFLATE deflate)
if(HDF5_SERIAL_INCLUDE AND HDF5_SERIAL AND LIBDEFLATE_INCLUDE AND LIBDEFLATE)
  file(GLOB hone_hdf5_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/io/hdf5/*.cpp)
  add_library(hone_hdf5 MODULE ${hone_hdf5_sources})
  target_include_directories(hone_hdf5 SYSTEM PRIVATE ${HDF5_SERIAL_INCLUDE} ${LIBDEFLATE_INCLUDE})
  target_link_libraries(hone_hdf5 PRIVATE hone_flags hone_base ${HDF5_SERIAL} ${LIBDEFLATE})
  target_link_options(hone_hdf5 PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(hone_hdf5 PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD ${HONE_UNITY})
  add_dependencies(hone_io hone_hdf5)  # whoever is built with tables can open them
endif()
