# Every Kiln target is made by a function of this file.
#
#   kiln_tablegen(<out> <td> <flags>...)      one generated file, dependencies tracked
#   kiln_add_library(<name> [EXCEPTIONS] [NO_PCH] SOURCES ... LINK ...)   compiler code
#   kiln_add_tool(<name> SOURCES ... LINK ...)                            a program in build/bin
#   kiln_add_unittest(<name> SOURCES ... LINK ...)                        a GoogleTest program
#   kiln_add_op_families(<Dialect>)           every folder of dialects/<Dialect>/ops
include_guard(GLOBAL)

find_program(KILN_MLIR_TABLEGEN mlir-tblgen PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH REQUIRED)
find_program(KILN_LIT NAMES lit llvm-lit PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH REQUIRED)

# Facets of an op family: <Family>.<facet>.cpp goes into one library a facet.
set(KILN_FACETS import reference kernels)

# Include paths, warnings and language flags of compiler code, in one place.
add_library(KilnCompilerFlags INTERFACE)
target_compile_features(KilnCompilerFlags INTERFACE cxx_std_17)
# SYSTEM: neither LLVM's headers nor generated code may warn under -Werror.
target_include_directories(KilnCompilerFlags SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS} ${PROJECT_BINARY_DIR}/generated)
target_include_directories(KilnCompilerFlags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(KilnCompilerFlags INTERFACE
  -fPIC -Wall -Wextra -Werror -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
add_library(KilnNoExceptions INTERFACE)
target_compile_options(KilnNoExceptions INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)

if(KILN_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Without a time stamp inside, ccache can reuse objects built on top of the header.
  target_compile_options(KilnCompilerFlags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

if(KILN_SANITIZE)
  add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${KILN_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${LLVM_TOOLS_BINARY_DIR}/ld.lld)
endif()

if(KILN_PCH)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/pch.cpp CONTENT "")
  add_library(KilnPCH STATIC ${PROJECT_BINARY_DIR}/pch.cpp)
  target_link_libraries(KilnPCH PUBLIC KilnCompilerFlags PRIVATE KilnNoExceptions)
  target_precompile_headers(KilnPCH PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/Precompiled.h)
endif()

function(kiln_tablegen out td)
  set(file ${PROJECT_BINARY_DIR}/generated/${out})
  get_filename_component(dir ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${file}
    COMMAND ${KILN_MLIR_TABLEGEN} ${ARGN} ${td} -I${PROJECT_SOURCE_DIR}
            -I${PROJECT_BINARY_DIR}/generated -I${MLIR_INCLUDE_DIRS} --write-if-changed -d ${file}.d -o ${file}
    DEPFILE ${file}.d DEPENDS ${td} ${KILN_MLIR_TABLEGEN} COMMENT "" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY KILN_TABLEGEN_OUTPUTS ${file})
endfunction()

# Call once, after the last kiln_tablegen.
function(kiln_finish_tablegen)
  get_property(outputs GLOBAL PROPERTY KILN_TABLEGEN_OUTPUTS)
  add_custom_target(kiln-tablegen DEPENDS ${outputs})
endfunction()

function(kiln_add_library name)
  cmake_parse_arguments(A "EXCEPTIONS;NO_PCH" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC KilnCompilerFlags ${A_LINK})
  add_dependencies(${name} kiln-tablegen)
  if(NOT A_EXCEPTIONS)
    target_link_libraries(${name} PRIVATE KilnNoExceptions)
    if(KILN_PCH AND NOT A_NO_PCH)
      target_precompile_headers(${name} REUSE_FROM KilnPCH)
    endif()
  endif()
endfunction()

set(KILN_SANITIZER_DEFAULTS ${CMAKE_CURRENT_LIST_DIR}/SanitizerDefaults.cpp)

function(kiln_add_tool name)
  cmake_parse_arguments(A "NO_PCH" "" "SOURCES;LINK" ${ARGN})
  if(KILN_SANITIZE MATCHES address)
    list(APPEND A_SOURCES ${KILN_SANITIZER_DEFAULTS})
    set_source_files_properties(${KILN_SANITIZER_DEFAULTS} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE KilnCompilerFlags KilnNoExceptions ${A_LINK})
  add_dependencies(${name} kiln-tablegen)
  if(KILN_PCH AND NOT A_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM KilnPCH)
  endif()
endfunction()

# One ctest entry a program; the runner counts its cases from the JSON that it writes.
function(kiln_add_unittest name)
  kiln_add_tool(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name} --gtest_output=json:${PROJECT_BINARY_DIR}/test-results/gtest/${name}.json)
  set_property(GLOBAL APPEND PROPERTY KILN_TEST_TARGETS ${name})
endfunction()

# Discovers dialects/<Dialect>/ops/<Family>/<Family>.td: a folder is the only registration.
# Sets in the caller: KILN_FAMILY_SOURCES and KILN_FAMILY_SOURCES_<facet>.
function(kiln_add_op_families dialect)
  set(root ${PROJECT_SOURCE_DIR}/dialects/${dialect}/ops)
  file(GLOB tds CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*/*.td)
  list(SORT tds)
  foreach(td IN LISTS tds)
    get_filename_component(family ${td} DIRECTORY)
    if(NOT td STREQUAL "${family}/${family}.td")
      message(FATAL_ERROR "${root}/${td}: expected ${family}/${family}.td")
    endif()
    set(path dialects/${dialect}/ops/${family}/${family})
    kiln_tablegen(${path}.h.inc ${root}/${td} -gen-op-decls)
    kiln_tablegen(${path}.cpp.inc ${root}/${td} -gen-op-defs)
    list(APPEND sources ${root}/${family}/${family}.cpp)
    foreach(facet IN LISTS KILN_FACETS)
      file(GLOB found CONFIGURE_DEPENDS ${root}/${family}/${family}.${facet}.cpp)
      if(found)
        list(APPEND sources_${facet} ${found})
        string(APPEND calls_${facet} "KILN_FAMILY(${family})\n")
      endif()
    endforeach()
    string(APPEND declarations "void register${family}Ops(${dialect}Dialect &);\n")
    string(APPEND calls "  register${family}Ops(dialect);\n")
    string(APPEND td_includes "include \"${path}.td\"\n")
  endforeach()
  set(out ${PROJECT_BINARY_DIR}/generated/dialects/${dialect}/ops)
  file(GENERATE OUTPUT ${out}/Families.cpp CONTENT
"#include \"dialects/${dialect}/IR/${dialect}Dialect.h\"
namespace kiln {
${declarations}void registerFamilyOps(${dialect}Dialect &dialect) {
${calls}}
} // namespace kiln
")
  file(GENERATE OUTPUT ${out}/All.td CONTENT "${td_includes}")
  foreach(facet IN LISTS KILN_FACETS)
    file(GENERATE OUTPUT ${out}/Families.${facet}.inc CONTENT "${calls_${facet}}")
    set(KILN_FAMILY_SOURCES_${facet} ${sources_${facet}} PARENT_SCOPE)
  endforeach()
  set(KILN_FAMILY_SOURCES ${sources} ${out}/Families.cpp PARENT_SCOPE)
endfunction()
