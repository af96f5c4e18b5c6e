(function_definition
  body: (block) @function.inside) @function.around

(parameter) @parameter.inside

(arguments
  (_) @parameter.inside)

(comment) @comment.inside

(comment)+ @comment.around

(struct_definition
  body: (field_list) @class.inside) @class.around
