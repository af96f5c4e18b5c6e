; Captures as Neovim has them.

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
] @indent.begin

(if_statement
  consequence: (statement) @indent.begin)

(while_statement
  body: (statement) @indent.begin)

(for_statement
  body: (statement) @indent.begin)

[
  ")"
  "]"
  "}"
] @indent.branch @indent.end

[
  (directive)
  (preproc_text)
] @indent.zero

[
  (comment)
  (string_literal)
] @indent.auto

(ERROR
  "{") @indent.begin
