# gp_embed_text(input output): a build rule that turns a text file into a C++ string literal for #include. The rule runs this
# file as a script: cmake -DINPUT=… -DOUTPUT=… -P EmbedText.cmake.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  file(WRITE "${OUTPUT}" "R\"gp_text(${text})gp_text\"\n")
  return()
endif()

set(GP_EMBED_TEXT "${CMAKE_CURRENT_LIST_FILE}")
function(gp_embed_text input output)
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DINPUT=${input}" "-DOUTPUT=${output}" -P "${GP_EMBED_TEXT}"
    DEPENDS "${input}" "${GP_EMBED_TEXT}" VERBATIM)
endfunction()
