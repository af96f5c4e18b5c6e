; A name is visible from its first assignment to the end of its function; blocks open no scope. Parts of with-loops and comprehensions do.

[
  (function_definition)
  (function_declaration)
  (comprehension_part)
  (with_part)
] @local.scope

(parameter
  name: (identifier) @local.definition.parameter)

(axis_name
  (identifier) @local.definition.parameter)

(assignment
  target: (identifier) @local.definition.var)

(variable_declaration
  name: (identifier) @local.definition.var)

(comprehension_part
  index: (identifier) @local.definition.var)

(index_list
  (identifier) @local.definition.var)

(generator
  index: (identifier) @local.definition.var)

(identifier) @local.reference
