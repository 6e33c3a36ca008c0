# make package: Debian packages and archives of what cmake --install installs. Each plugin that needs
# more than any system has is a package of its own.
set(CPACK_PACKAGE_VENDOR "the hone project")
set(CPACK_PACKAGE_CONTACT "the hone project <hone@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Fine-tunes, shrinks, runs and serves classifiers of the BERT family")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME hone-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL hone)
foreach(plugin cuda hdf5 mpi)
  string(TOUPPER ${plugin} component)
  set(CPACK_ARCHIVE_${component}_FILE_NAME hone-${plugin}-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME hone-${plugin})
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "hone (= ${PROJECT_VERSION})")
  if(TARGET hone_${plugin})
    list(APPEND CPACK_COMPONENTS_ALL ${plugin})
  endif()
endforeach()

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/generator.cmake)
set(CPACK_ARCHIVE_HONE_FILE_NAME hone-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_HONE_PACKAGE_NAME hone)
set(CPACK_COMPONENT_HONE_DESCRIPTION "hone takes Hugging Face folders as they are, fine-tunes them, makes
them smaller, answers with them on processors and GPUs, and serves them over HTTP. The program, a
C++ library and its headers are in this package.")
if(TARGET hone_cuda)
  # What the plugin opens has the number of the headers that it was built with.
  file(STRINGS ${CUBLASLT_INCLUDE}/cublas_api.h hone_cublas REGEX "define CUBLAS_VER_MAJOR +[0-9]+")
  string(REGEX MATCH "[0-9]+$" hone_cublas "${hone_cublas}")
  set(CPACK_COMPONENT_CUDA_DESCRIPTION "The plugin with which hone runs on NVIDIA GPUs. It opens a
driver for CUDA ${hone_cublas} or later and libcublasLt.so.${hone_cublas}, of NVIDIA's packages, where it finds them.")
endif()
set(CPACK_COMPONENT_MPI_DESCRIPTION "The plugin with which ranks of hone train speak to each other
between hosts, where mpirun or srun started them. It takes MPI from the system that it was built on.")
set(CPACK_COMPONENT_HDF5_DESCRIPTION "The plugin with which hone reads and writes tables of HDF5, whose
library it takes from the system that it was built on.")
include(CPack)
