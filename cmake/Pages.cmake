# gp_embed_pages(target): compiles the gateway's web pages and the description of its endpoints into `target`. A page is a
# folder of client/gateway/pages with a page.html. It is listed below, and scripts/inline_page merges it into one file;
# dygraphs comes from Debian (MIT).
include(EmbedText)
set(GP_DYGRAPHS "/usr/share/javascript/dygraphs" CACHE PATH "Folder of dygraph.min.js and dygraph.min.css")

# Writes the merged page to `output` as a string literal.
function(gp_embed_page folder output)
  set(whole "${output}.html")
  add_custom_command(OUTPUT "${whole}"
    COMMAND /usr/bin/python3 "${CMAKE_SOURCE_DIR}/scripts/inline_page" "${folder}/page.html" "${whole}"
            --path "${folder}/../shared" --path "${GP_DYGRAPHS}" --depfile "${whole}.d"
    DEPENDS "${folder}/page.html" "${CMAKE_SOURCE_DIR}/scripts/inline_page"
    DEPFILE "${whole}.d" VERBATIM)
  gp_embed_text("${whole}" "${output}")
endfunction()

function(gp_embed_pages target)
  set(generated "${CMAKE_BINARY_DIR}/generated/client/gateway")
  file(MAKE_DIRECTORY "${generated}")
  set(parts "${generated}/openapi.json.inc")
  gp_embed_text("${CMAKE_CURRENT_SOURCE_DIR}/completions/openapi.json" "${parts}")
  set(table "")
  foreach(name IN ITEMS playground runs)
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}/pages/${name}")
    if(NOT EXISTS "${folder}/page.html")
      continue()
    endif()
    gp_embed_page("${folder}" "${generated}/${name}.inc")
    list(APPEND parts "${generated}/${name}.inc")
    set(path "/${name}")
    if(name STREQUAL "playground")
      set(path "/")
    endif()
    string(APPEND table "      {\"${path}\",\n#include \"client/gateway/${name}.inc\"\n      },\n")
  endforeach()
  set(GP_PAGE_TABLE "${table}")
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/built_in_texts.cc.in" "${generated}/built_in_texts.cc" @ONLY)
  set_source_files_properties("${generated}/built_in_texts.cc" PROPERTIES OBJECT_DEPENDS "${parts}")
  target_sources(${target} PRIVATE "${generated}/built_in_texts.cc")
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated")
endfunction()
