# What `cmake --install BUILD --prefix FOLDER` puts where. The folder may be moved afterwards.
#
#   bin/                  kilnc, kiln-run, kiln-opt, kiln-rules, kiln-lsp-server
#   include/kiln-c/       the C interface of artefacts and of libkiln
#   lib/libkiln.{a,so}    libkiln: opens artefacts
#   lib/libkiln-cudasim.so, lib/libkiln-simcounter.so   the simulator of CUDA devices, where it is built
#   share/kiln/cuda/      headers of kernels, for nvcc and for the simulator
#   lib/cmake/Kiln/       find_package(Kiln): Kiln::kiln, Kiln::kiln_shared, Kiln::kilnc, kiln_add_model
#   lib/python3/dist-packages/kiln    the Python package
#
# Of the compiler only programs are exported: its libraries would drag LLVM, flags and headers along.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Kiln)
set(python_dir ${CMAKE_INSTALL_LIBDIR}/python3/dist-packages)

set(programs kilnc kiln-run kiln-opt kiln-rules kiln-lsp-server)
set_target_properties(${programs} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIR}")
set_target_properties(KilnLoader PROPERTIES EXPORT_NAME kiln)
set_target_properties(KilnLoaderShared PROPERTIES EXPORT_NAME kiln_shared)

install(TARGETS ${programs} EXPORT KilnTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS KilnLoader KilnLoaderShared EXPORT KilnTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kiln-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET KilnCudaSim)
  install(TARGETS KilnCudaSim KilnSimCounter LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
foreach(folder lib/Target/CUDA/Device lib/Target/CUDA/Kernels runtime/drivers/cudasim/shim)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kiln/cuda/${folder}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT KilnTargets NAMESPACE Kiln:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/package/KilnConfig.cmake.in ${PROJECT_BINARY_DIR}/package/KilnConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/KilnConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/KilnConfig.cmake
  ${PROJECT_BINARY_DIR}/package/KilnConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/package/KilnModel.cmake
  DESTINATION ${package_dir})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/python/kiln DESTINATION ${python_dir}
  FILES_MATCHING PATTERN "*.py")
# The package looks for the library beside itself first.
file(RELATIVE_PATH library /${python_dir}/kiln /${CMAKE_INSTALL_LIBDIR}/libkiln.so)
install(CODE "
  set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${python_dir}/kiln/libkiln.so\")
  message(STATUS \"Installing: \${link}\")
  file(CREATE_LINK ${library} \${link} SYMBOLIC)")
