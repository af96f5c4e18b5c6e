[
  (block)
  (field_list)
  (with_parts)
  (comprehension)
  (symbol_set)
  (array_literal)
  (arguments)
  (parameters)
  (parenthesized_expression)
  (selectors)
] @indent

[
  ")"
  "]"
  "}"
] @outdent
