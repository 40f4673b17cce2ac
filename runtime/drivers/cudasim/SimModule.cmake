# Kernels for the simulator.
#
#   kiln_add_sim_module(<name> [FLAGS <flag>...] SOURCES <file.cu>... KERNELS <kernel>...)
#
# makes <name>.plain.so and <name>.checked.so from the kernels' text in the current
# binary folder, and a target <name> for both. Whatever the build's compiler and
# sanitizers are, modules are made by clang without any.
#
# KILN_CUDA_SIM says whether that is possible here: x86-64, clang 22, and CUDA's
# headers (tools/dev/cuda gets them). Headers only; nvcc has no part in it.
include_guard(GLOBAL)

set(KILN_CUDA_SIM_FOLDER ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(DEFINED ENV{KILN_CACHE})
  set(cache $ENV{KILN_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(cache $ENV{XDG_CACHE_HOME}/kiln)
else()
  set(cache $ENV{HOME}/.cache/kiln)
endif()
find_path(KILN_CUDA_INCLUDE cuda_fp16.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include ${cache}/cuda/include
  DOC "Folder of CUDA's headers (cuda_fp16.h)" NO_CMAKE_FIND_ROOT_PATH)
find_program(KILN_SIM_CLANG NAMES clang++-22 clang++ HINTS /usr/lib/llvm-22/bin
  DOC "clang that compiles kernels for the simulator")
find_path(KILN_SIM_LLVM_INCLUDE llvm/Plugins/PassPlugin.h HINTS /usr/lib/llvm-22/include
  DOC "Headers of the LLVM that KILN_SIM_CLANG is built on" NO_CMAKE_FIND_ROOT_PATH)
set(KILN_CUDA_SIM OFF)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(KILN_CUDA_SIM_WHY_NOT "it runs on x86-64 only")
elseif(NOT KILN_CUDA_INCLUDE)
  set(KILN_CUDA_SIM_WHY_NOT "CUDA's headers are missing (tools/dev/cuda gets them)")
elseif(NOT KILN_SIM_CLANG OR NOT KILN_SIM_LLVM_INCLUDE)
  set(KILN_CUDA_SIM_WHY_NOT "clang++-22 or LLVM 22's headers are missing")
else()
  set(KILN_CUDA_SIM ON)
endif()
set(KILN_CUDA_SIM ${KILN_CUDA_SIM} CACHE INTERNAL "")
set(KILN_CUDA_SIM_WHY_NOT "${KILN_CUDA_SIM_WHY_NOT}" CACHE INTERNAL "")

# docs/cuda/simulator.md says why each is there.
set(flag_list ${root}/lib/Target/CUDA/Device/SimulatorFlags.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${flag_list})
foreach(flavour plain checked)
  file(STRINGS ${flag_list} ${flavour}_flags REGEX "^KILN_SIM_FLAG\\(${flavour},")
  list(TRANSFORM ${flavour}_flags REPLACE ".*\"(.*)\".*" "\\1")
endforeach()
set(KILN_SIM_FLAGS ${plain_flags} -Wall -Wextra -Werror -isystem ${KILN_CUDA_INCLUDE}
  -I${root}/lib/Target/CUDA/Device -I${root}/lib/Target/CUDA/Kernels -I${KILN_CUDA_SIM_FOLDER}/shim
  CACHE INTERNAL "")
set(KILN_SIM_CHECKED_FLAGS ${checked_flags} CACHE INTERNAL "")

function(kiln_add_sim_module name)
  cmake_parse_arguments(A "" "" "FLAGS;SOURCES;KERNELS" ${ARGN})
  set(text "")
  foreach(source IN LISTS A_SOURCES)
    get_filename_component(source ${source} ABSOLUTE)
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  string(APPEND text "#include \"kiln/cudasim/Module.h\"\n")
  foreach(kernel IN LISTS A_KERNELS)
    string(APPEND text "KILN_SIM_KERNEL(${kernel});\n")
  endforeach()
  set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${name}.module.cpp)
  file(GENERATE OUTPUT ${wrapper} CONTENT "${text}")
  set(modules)
  foreach(flavour plain checked)
    set(flags ${KILN_SIM_FLAGS} ${A_FLAGS})
    if(flavour STREQUAL "checked")
      list(APPEND flags ${KILN_SIM_CHECKED_FLAGS} -fpass-plugin=$<TARGET_FILE:KilnSimCounter>)
    endif()
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${flavour}.o)
    set(module ${CMAKE_CURRENT_BINARY_DIR}/${name}.${flavour}.so)
    add_custom_command(OUTPUT ${module}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${KILN_SIM_CLANG} ${flags} -MD -MF ${object}.d -MT ${module}
              -c ${wrapper} -o ${object}
      COMMAND ${KILN_SIM_CLANG} -shared -Wl,-z,defs -Wl,--build-id=none ${object} -lm -o ${module}
      DEPENDS ${wrapper} ${A_SOURCES} KilnSimCounter DEPFILE ${object}.d
      VERBATIM COMMENT "Compiling ${name} for the simulator, ${flavour}")
    list(APPEND modules ${module})
  endforeach()
  add_custom_target(${name} DEPENDS ${modules})
endfunction()
