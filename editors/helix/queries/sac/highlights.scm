; The scopes are those that Helix has. No two patterns fit one node where their order would matter: versions of Helix differ in which one counts.

; Names by their place ---------------------------------------------------------------------------------------------------

(macro_name) @constant

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

(field_identifier) @variable.other.member

(module_identifier) @namespace

(module_header
  name: (identifier) @namespace)

(class_header
  name: (identifier) @namespace)

(use_declaration
  module: (identifier) @namespace)

; Functions --------------------------------------------------------------------------------------------------------------

(function_definition
  name: (identifier) @function)

(function_declaration
  name: (identifier) @function)

(call_expression
  function: (identifier) @function)

(call_expression
  function: (qualified_identifier
    name: (identifier) @function))

(fold_function
  (identifier) @function)

[
  (operator_name)
  (qualified_operator)
  (reference)
] @operator

; Types ------------------------------------------------------------------------------------------------------------------

(type_identifier) @type

(qualified_type
  name: (identifier) @type)

[
  (primitive_type)
  (void)
] @type.builtin

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
] @keyword.control.import

[
  "classtype"
  "struct"
  "typedef"
  "nested"
] @keyword.storage.type

[
  "objdef"
  "deprecated"
] @keyword

(attribute) @keyword.storage.modifier

[
  "if"
  "else"
] @keyword.control.conditional

[
  "for"
  "while"
  "do"
  "with"
  "step"
  "width"
] @keyword.control.repeat

"return" @keyword.control.return

(with_operation
  operation: _ @keyword.function)

; Literals ---------------------------------------------------------------------------------------------------------------

(number) @constant.numeric

(boolean) @constant.builtin.boolean

[
  (string_content)
  (system_path)
  "\""
] @string

(character) @constant.character

(escape_sequence) @constant.character.escape

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
  ":"
  "::"
] @punctuation.delimiter

; The preprocessor -------------------------------------------------------------------------------------------------------

(directive) @keyword.directive

(preproc_define
  name: (identifier) @function.macro)

(macro_parameters
  (identifier) @variable.parameter)

(pragma_kind) @attribute
