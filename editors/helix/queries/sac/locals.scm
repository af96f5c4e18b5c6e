[
  (function_definition)
  (function_declaration)
  (comprehension_part)
  (with_part)
] @local.scope

(parameter
  name: (identifier) @local.definition.variable.parameter)

(identifier) @local.reference
