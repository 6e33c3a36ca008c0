# cmake --install: the program, libhone.so with its headers, the libraries that both open when they
# need them, and what a system wants to know of them.
include(CMakePackageConfigHelpers)
set(hone_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
set(hone_plugin_dir ${CMAKE_INSTALL_LIBDIR}/hone)  # base/plugin.cpp looks there
set(HONE_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "Where zsh finds completions, below the prefix")

install(TARGETS hone COMPONENT hone)
install(TARGETS hone_shared EXPORT honeTargets COMPONENT hone)
install(TARGETS hone_http_server LIBRARY DESTINATION ${hone_plugin_dir} COMPONENT hone)
foreach(plugin cuda hdf5 mpi)
  if(TARGET hone_${plugin})
    install(TARGETS hone_${plugin} LIBRARY DESTINATION ${hone_plugin_dir} COMPONENT ${plugin})
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone TYPE INCLUDE COMPONENT hone)

install(EXPORT honeTargets NAMESPACE hone:: DESTINATION ${hone_cmake_dir} COMPONENT hone)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/honeConfig.cmake.in
  ${CMAKE_BINARY_DIR}/install/honeConfig.cmake INSTALL_DESTINATION ${hone_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/honeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/honeConfig.cmake
  ${CMAKE_BINARY_DIR}/install/honeConfigVersion.cmake DESTINATION ${hone_cmake_dir} COMPONENT hone)
file(RELATIVE_PATH HONE_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hone.pc.in ${CMAKE_BINARY_DIR}/install/hone.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT hone)

# The program writes its manual page and its completions, from the declarations that --help shows.
set(hone_texts ${CMAKE_BINARY_DIR}/hone.1)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/hone.1 DEPENDS hone VERBATIM
  COMMAND hone help --man > ${CMAKE_BINARY_DIR}/hone.1)
install(FILES ${CMAKE_BINARY_DIR}/hone.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT hone)
function(hone_completion shell destination name)
  set(file ${CMAKE_BINARY_DIR}/install/completion.${shell})
  add_custom_command(OUTPUT ${file} DEPENDS hone VERBATIM
    COMMAND hone completion ${shell} > ${file})
  install(FILES ${file} DESTINATION ${destination} RENAME ${name} COMPONENT hone)
  set(hone_texts ${hone_texts} ${file} PARENT_SCOPE)
endfunction()
hone_completion(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions hone)
hone_completion(zsh ${HONE_ZSH_DIR} _hone)
hone_completion(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d hone.fish)
add_custom_target(program_texts ALL DEPENDS ${hone_texts})

file(READ ${PROJECT_SOURCE_DIR}/packaging/systemd/hone-serve.service unit)
string(REPLACE "/usr/bin/hone" "${CMAKE_INSTALL_FULL_BINDIR}/hone" unit "${unit}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/install/hone-serve.service CONTENT "${unit}" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/hone-serve.service DESTINATION lib/systemd/system
  COMPONENT hone)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright
  COMPONENT hone)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/serve.env
  ${PROJECT_SOURCE_DIR}/examples/classify.cpp ${PROJECT_SOURCE_DIR}/examples/similar.cpp
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT hone)
if(HONE_ARCHIVES)
  install(DIRECTORY ${HONE_ARCHIVES}/licences DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT hone)
endif()
