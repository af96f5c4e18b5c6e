((comment) @injection.content
  (#set! injection.language "comment"))

; What a macro stands for is SaC mostly, though not always a whole piece of it.
(preproc_define
  value: (preproc_text) @injection.content
  (#set! injection.language "sac"))
