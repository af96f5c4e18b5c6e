[
  (block)
  (field_list)
  (with_parts)
  (comprehension)
  (array_literal)
  (symbol_set)
  (macro_arguments)
  (preproc_define)
  (comment)
] @fold
