; The names of captures are those that Neovim and the tree-sitter command line share. Of two patterns for one node the later one counts.

(identifier) @variable

; Names by their place ---------------------------------------------------------------------------------------------------

(macro_name) @constant.macro

((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]+$"))

(parameter
  name: (identifier) @variable.parameter)

(axis_name
  (identifier) @variable.parameter)

(index_list
  (identifier) @variable.parameter)

(generator
  index: (identifier) @variable.parameter)

(comprehension_part
  index: (identifier) @variable.parameter)

(field_identifier) @property

(module_identifier) @module

(module_header
  name: (identifier) @module)

(class_header
  name: (identifier) @module)

(use_declaration
  module: (identifier) @module)

; Functions --------------------------------------------------------------------------------------------------------------

(function_definition
  name: (identifier) @function)

(function_declaration
  name: (identifier) @function)

(call_expression
  function: (identifier) @function.call)

(call_expression
  function: (qualified_identifier
    name: (identifier) @function.call))

; Primitives of the compiler, such as `_sel_VxA_`.
((identifier) @function.builtin
  (#match? @function.builtin "^_[a-zA-Z]+(_[a-zA-Z]+)*_$"))

(fold_function
  (identifier) @function.call)

(macro_invocation
  name: (macro_name) @function.macro)

(operator_name) @operator

(qualified_operator) @operator

; Types ------------------------------------------------------------------------------------------------------------------

(type_identifier) @type

(qualified_type
  name: (identifier) @type)

(primitive_type) @type.builtin

(void) @type.builtin

; Words ------------------------------------------------------------------------------------------------------------------

[
  "module"
  "class"
  "use"
  "import"
  "export"
  "provide"
  "all"
  "except"
] @keyword.import

[
  "classtype"
  "struct"
  "typedef"
  "nested"
] @keyword.type

[
  "objdef"
  "deprecated"
] @keyword

(attribute) @keyword.modifier

(type_definition
  "external" @keyword.modifier)

(object_definition
  "external" @keyword.modifier)

(class_header
  "external" @keyword.modifier)

[
  "if"
  "else"
] @keyword.conditional

[
  "for"
  "while"
  "do"
  "with"
  "step"
  "width"
] @keyword.repeat

"return" @keyword.return

(with_operation
  operation: _ @keyword.function)

; Literals ---------------------------------------------------------------------------------------------------------------

(number) @number

(boolean) @boolean

(string_literal) @string

(system_path) @string

(char_literal) @character

(escape_sequence) @string.escape

(comment) @comment

; Operators and punctuation ----------------------------------------------------------------------------------------------

[
  "+"
  "-"
  "*"
  "/"
  "%"
  "=="
  "!="
  "<"
  "<="
  ">"
  ">="
  "<<"
  ">>"
  "&"
  "|"
  "^"
  "&&"
  "||"
  "!"
  "~"
  "++"
  "--"
  "++^"
  "@"
  "="
  "+="
  "-="
  "*="
  "/="
  "%="
  "&="
  "|="
  "^="
  "<<="
  ">>="
  "->"
  "?"
] @operator

(reference) @operator

(conditional_expression
  ":" @operator)

(axis) @punctuation.special

(axis
  (number) @number)

(axis
  (axis_name
    (identifier) @variable.parameter))

[
  (dot)
  (dots)
  (variadic)
] @punctuation.special

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket

[
  ","
  ";"
  "."
  ":"
  "::"
] @punctuation.delimiter

; The preprocessor -------------------------------------------------------------------------------------------------------

(directive) @keyword.directive

(preproc_define
  name: (identifier) @constant.macro)

(preproc_define
  name: (identifier) @function.macro
  parameters: (macro_parameters))

(macro_parameters
  (identifier) @variable.parameter)

(pragma_kind) @attribute
