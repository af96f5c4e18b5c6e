((comment) @injection.content
  (#set! injection.language "comment"))

; What a macro stands for is SaC mostly, though not always a whole piece of it.
(preproc_define
  value: (preproc_text) @injection.content
  (#set! injection.language "sac"))

((call_expression
  function: (identifier) @_function
  arguments: (arguments
    (string_literal
      (string_content) @injection.content)))
  (#any-of? @_function "printf" "fprintf" "sprintf" "scanf" "fscanf" "sscanf")
  (#set! injection.language "printf")
  (#set! injection.combined))
