# kiln_add_model(<name> MODEL <file.onnx> [OPTIONS <option>...] [DEPENDS <file>...])
#
# Compiles a model when the build needs it, and makes it a library: what links to <name> sees <name>.h and runs
# with <name>.so. OPTIONS go to kilnc; DEPENDS are files beside the model, such as its external data. The library is
# again compiled when the model, one of these files or kilnc changes.
#
#   kiln_add_model(digits MODEL digits.onnx OPTIONS --cpu=x86-64-v3)
#   target_link_libraries(app PRIVATE digits)
#
# $<TARGET_FILE:<name>> is the artefact, for install() or for a program that opens it with libkiln.
function(kiln_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL" "OPTIONS;DEPENDS")
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_add_model(<name> MODEL <file> [OPTIONS <option>...] [DEPENDS <file>...])")
  endif()
  get_filename_component(model "${arg_MODEL}" ABSOLUTE)
  # A folder of its own: programs see the headers of models that they link, no others.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.model)
  set(library ${folder}/${name}.so)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${library} ${folder}/${name}.h
    COMMAND Kiln::kilnc ${arg_OPTIONS} -o ${library} --header ${folder}/${name}.h -- ${model}
    DEPENDS ${model} ${arg_DEPENDS} Kiln::kilnc
    COMMENT "Compiling model ${name}" VERBATIM)
  add_custom_target(${name}-model DEPENDS ${library} ${folder}/${name}.h)
  # With its real SONAME: else the linker would be asked for -l<name>, and record this folder's path.
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${library} IMPORTED_SONAME ${name}.so)
  target_include_directories(${name} INTERFACE ${folder}
    $<TARGET_PROPERTY:Kiln::kiln,INTERFACE_INCLUDE_DIRECTORIES>)
  add_dependencies(${name} ${name}-model)
endfunction()
