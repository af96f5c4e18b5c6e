/**
 * @file SaC (Single Assignment C) for tree-sitter.
 *
 * The rules follow those of the compiler (compiler/syntax/src/grammar.lalrpop). An editor reads one file, without its modules and without
 * the preprocessor, and so four things differ:
 *
 * - Directives and pragmas may stand between any two tokens. All branches of a conditional are read, one after the other.
 * - No table says which names are types. `(a) [1]` and `(Real) - 1` are read as casts, `(a) - 1` as a difference.
 * - No table says which operators a program defines. `a +++ b` is read as `a ++ (+b)`.
 * - A name in capitals may be a macro, and stand where statements, parameters, generators and pieces of strings do.
 *
 * @license MIT OR Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

/** How tightly operators bind; a larger number binds tighter. */
const PREC = {
  conditional: 1,
  or: 2,
  and: 3,
  bitor: 4,
  bitxor: 5,
  bitand: 6,
  equality: 7,
  relational: 8,
  concat: 9,
  shift: 10,
  sum: 11,
  product: 12,
  user: 13,
  prefix: 14,
  postfix: 15,
};

const PRIMITIVE_TYPES = [
  'bool', 'char', 'byte', 'short', 'int', 'long', 'longlong',
  'ubyte', 'ushort', 'uint', 'ulong', 'ulonglong', 'float', 'double',
];

const INFIX_OPERATORS = ['*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '<<', '>>', '&', '|', '^'];
const PREFIX_OPERATORS = ['+', '-', '!', '~', '++', '--', '++^', '@'];
const ASSIGNMENT_OPERATORS = ['=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='];

/** @param {RuleOrLiteral} rule */
const list1 = rule => seq(rule, repeat(seq(',', rule)));

/** @param {RuleOrLiteral} rule */
const list = rule => optional(list1(rule));

/** A piece of a directive's text, which goes on where a line ends in a backslash and through comments. */
const PIECE = /([^\\\r\n\/]|\\\r?\n|\\[^\r\n]|\/[^*\\\r\n]|\/\\\r?\n|\/\*[^*]*\*+([^*\/][^*]*\*+)*\/)/.source;

module.exports = grammar({
  name: 'sac',

  word: $ => $.identifier,

  extras: $ => [
    /[\s\uFEFF]/,
    /\\[ \t\r]*\n/,
    $.comment,
    $.preproc_include,
    $.preproc_define,
    $.preproc_directive,
    $.pragma,
  ],

  supertypes: $ => [$.expression, $.statement, $.definition, $.type],

  inline: $ => [$._field_name, $._partition_bound],

  conflicts: $ => [
    // `a[n]` in parentheses or at the start of a statement: a type or a selection.
    [$._type_name, $._name],
    [$._type_name, $._name, $._capitalized_type],
    [$._named_type, $._name],
    [$.macro_statement, $._name],
    [$._type_name, $.macro_statement],
  ],

  rules: {
    source_file: $ => repeat(choice($.definition, $.macro_invocation)),

    definition: $ => choice(
      $.module_header,
      $.class_header,
      $.use_declaration,
      $.export_declaration,
      $.type_definition,
      $.object_definition,
      $.struct_definition,
      $.function_definition,
      $.function_declaration,
    ),

    // Headers, imports and exports -------------------------------------------------------------------------------------

    module_header: $ => seq('module', field('name', $.identifier), optional($._deprecated), ';'),

    class_header: $ => seq(
      'class', field('name', $.identifier), optional($._deprecated), ';',
      choice(seq('classtype', field('type', $.type), ';'), seq('external', 'classtype', ';')),
    ),

    _deprecated: $ => seq('deprecated', field('deprecated', $._string)),

    use_declaration: $ => seq(
      choice('use', 'import'), field('module', $.identifier), ':', field('symbols', $._symbols), ';',
    ),

    export_declaration: $ => seq(choice('export', 'provide'), field('symbols', $._symbols), ';'),

    _symbols: $ => choice($.all_symbols, $.symbol_set),

    all_symbols: $ => seq('all', optional(seq('except', $.symbol_set))),

    symbol_set: $ => seq('{', list(choice($.identifier, $.operator_name)), '}'),

    /** Any run of operator characters, for the symbols that a program defines are known to the compiler only. */
    operator_name: _ => token(prec(-1, /[-+*%=!<>&|^~@\/]+/)),

    // Types of one's own, global objects -------------------------------------------------------------------------------

    type_definition: $ => choice(
      seq(optional('nested'), 'typedef', field('type', $.type), field('name', $._type_name), ';'),
      seq('external', 'typedef', field('name', $._type_name), ';'),
    ),

    object_definition: $ => choice(
      seq('objdef', field('type', $.type), field('name', $.identifier), '=', field('value', $.expression), ';'),
      seq('external', 'objdef', field('type', $.type), field('name', $.identifier), ';'),
    ),

    struct_definition: $ => seq('struct', field('name', $._type_name), field('body', $.field_list), ';'),

    field_list: $ => seq('{', repeat($.field_declaration), '}'),

    field_declaration: $ => seq(field('type', $.type), list1(field('name', $._field_name)), ';'),

    _field_name: $ => alias($.identifier, $.field_identifier),

    // Functions --------------------------------------------------------------------------------------------------------

    function_definition: $ => seq($._function_head, field('body', $.block)),

    function_declaration: $ => seq($._function_head, ';'),

    _function_head: $ => seq(
      repeat($.attribute),
      field('result', $._results),
      field('name', choice($.identifier, $.operator_name)),
      field('parameters', $.parameters),
      // What stands first are a macro's arguments then: `KERNEL(C)(double[.] u)`.
      optional(field('parameters', $.parameters)),
      optional(field('conditions', $.conditions)),
    ),

    attribute: _ => choice('external', 'inline', 'noinline', 'specialize'),

    _results: $ => choice(
      $.void,
      $.variadic,
      seq(list1($.type), optional(seq(',', $.variadic))),
    ),

    void: _ => 'void',

    variadic: _ => '...',

    parameters: $ => seq(
      '(',
      optional(choice($.void, $.variadic, seq(list1($.parameter), optional(seq(',', $.variadic))))),
      ')',
    ),

    parameter: $ => choice(
      seq(field('type', $.type), optional($.reference), field('name', $.identifier)),
      $.macro_name,
    ),

    reference: _ => '&',

    conditions: $ => seq('|', list1($.expression)),

    /** `MAP(sin, double)` where a definition could stand: what the macro makes of it, nobody knows here. */
    macro_invocation: $ => prec.right(seq(
      field('name', choice($.macro_name, alias($.identifier, $.macro_name), alias($._capitalized, $.macro_name))),
      field('arguments', $.macro_arguments),
      optional(choice(';', $.block)),
    )),

    macro_arguments: $ => seq('(', repeat($._macro_token), ')'),

    _macro_token: $ => choice(
      seq('(', repeat($._macro_token), ')'),
      seq('[', repeat($._macro_token), ']'),
      seq('{', repeat($._macro_token), '}'),
      $.identifier, alias($._capitalized, $.identifier), alias($.macro_name, $.identifier), $.primitive_type, $.number, $.string_literal, $.char_literal, $.operator_name,
      ',', ';', ':', '::', '.', '...', '->', '?',
    ),

    // Types ------------------------------------------------------------------------------------------------------------

    type: $ => choice($._type_base, $.array_type),

    _capitalized_type: $ => alias($._capitalized, $.type_identifier),

    array_type: $ => seq(field('element', $._type_base), field('shape', $.shape_pattern)),

    _type_base: $ => choice($.primitive_type, $._named_type, $.struct_type),

    primitive_type: _ => choice(...PRIMITIVE_TYPES),

    _named_type: $ => choice($._type_name, alias($.qualified_identifier, $.qualified_type)),

    _type_name: $ => choice(
      alias($.identifier, $.type_identifier),
      alias($._capitalized, $.type_identifier),
      alias($.macro_name, $.type_identifier),
    ),

    struct_type: $ => seq('struct', field('name', $._named_type)),

    shape_pattern: $ => seq('[', list(choice($.axis, $.axes)), ']'),

    /** One axis, or `+` and `*` for any number of them. */
    axis: $ => choice('.', '+', '*', $.number, $.axis_name),

    /** `d:shp`, which stands for `d` axes with the extents `shp`. */
    axes: $ => seq(
      field('count', choice($.number, $.axis_name)),
      optional(seq('>', field('more_than', $.number))),
      ':',
      field('extents', $.axis_name),
    ),

    axis_name: $ => choice($.identifier, alias($._capitalized, $.identifier), alias($.macro_name, $.identifier)),

    // Statements -------------------------------------------------------------------------------------------------------

    block: $ => seq('{', repeat($.statement), '}'),

    statement: $ => choice(
      $.variable_declaration,
      $.assignment,
      $.update_statement,
      $.expression_statement,
      $.if_statement,
      $.while_statement,
      $.do_statement,
      $.for_statement,
      $.return_statement,
      $.macro_statement,
    ),

    variable_declaration: $ => seq(field('type', $.type), list1(field('name', $.identifier)), ';'),

    assignment: $ => seq($._assignment, ';'),

    _assignment: $ => seq(
      list1(field('target', $._lvalue)),
      field('operator', choice(...ASSIGNMENT_OPERATORS)),
      field('value', $.expression),
    ),

    update_statement: $ => seq($._update, ';'),

    _update: $ => choice(
      seq(field('target', $._lvalue), field('operator', choice('++', '--'))),
      seq(field('operator', choice('++', '--')), field('target', $._lvalue)),
    ),

    expression_statement: $ => seq(choice($.call_expression, $.with_loop), ';'),

    /** `SHOW(x)` or `SETUP` without a `;`, perhaps with a block behind it. */
    macro_statement: $ => prec.right(seq(
      choice($.macro_name, alias($._macro_call, $.call_expression)),
      optional($.block),
    )),

    if_statement: $ => prec.right(seq(
      'if', '(', field('condition', $.expression), ')',
      field('consequence', $._branch),
      optional(seq('else', field('alternative', $._branch))),
    )),

    while_statement: $ => seq('while', '(', field('condition', $.expression), ')', field('body', $._branch)),

    do_statement: $ => seq(
      'do', field('body', $._branch), 'while', '(', field('condition', $.expression), ')', ';',
    ),

    for_statement: $ => seq(
      'for', '(',
      field('initializer', list($._simple_statement)), ';',
      field('condition', $.expression), ';',
      field('step', list($._simple_statement)),
      ')',
      field('body', $._branch),
    ),

    _simple_statement: $ => choice(
      alias($._assignment, $.assignment),
      alias($._update, $.update_statement),
      $.call_expression,
      $.with_loop,
    ),

    return_statement: $ => seq('return', optional(choice($.expression, $.no_results)), ';'),

    no_results: _ => seq('(', ')'),

    _branch: $ => choice($.block, $.statement, $.empty_statement),

    empty_statement: _ => ';',

    _lvalue: $ => choice(
      $._name,
      alias($._lvalue_selection, $.selection),
      alias($._lvalue_field, $.field_expression),
    ),

    _lvalue_selection: $ => seq(field('array', $._lvalue), field('selectors', $.selectors)),

    _lvalue_field: $ => seq(field('record', $._lvalue), '.', field('field', $._field_name)),

    // Expressions ------------------------------------------------------------------------------------------------------
    //
    // Three levels stand on their own, as the grammar asks for them by name: an operand binds tighter than relations (bounds of generators),
    // a tight expression tighter than `|`, which ends the value of a comprehension.

    expression: $ => choice($.conditional_expression, $._logical),

    conditional_expression: $ => prec.right(PREC.conditional, seq(
      field('condition', $._logical), '?',
      field('consequence', $.expression), ':',
      field('alternative', $.expression),
    )),

    _logical: $ => choice(alias($._logical_binary, $.binary_expression), $._tight),

    _logical_binary: $ => choice(
      binary(PREC.or, $._logical, '||'),
      binary(PREC.and, $._logical, '&&'),
      binary(PREC.bitor, $._logical, operators($, '|')),
    ),

    _tensor_expression: $ => choice(alias($._tensor_conditional, $.conditional_expression), $._tensor_logical),

    _tensor_conditional: $ => prec.right(PREC.conditional, seq(
      field('condition', $._tensor_logical), '?',
      field('consequence', $.expression), ':',
      field('alternative', $._tensor_expression),
    )),

    _tensor_logical: $ => choice(alias($._tensor_binary, $.binary_expression), $._tight),

    _tensor_binary: $ => choice(
      binary(PREC.or, $._tensor_logical, '||'),
      binary(PREC.and, $._tensor_logical, '&&'),
    ),

    _tight: $ => choice(alias($._tight_binary, $.binary_expression), $._operand),

    _tight_binary: $ => choice(
      binary(PREC.bitxor, $._tight, operators($, '^')),
      binary(PREC.bitand, $._tight, operators($, '&')),
      binary(PREC.equality, $._tight, operators($, '==', '!=')),
      binary(PREC.relational, $._tight, operators($, '<', '<=', '>', '>=')),
    ),

    _operand: $ => choice(alias($._operand_binary, $.binary_expression), $._unary),

    _operand_binary: $ => choice(
      binary(PREC.concat, $._operand, operators($, '++')),
      binary(PREC.shift, $._operand, operators($, '<<', '>>')),
      binary(PREC.sum, $._operand, operators($, '+', '-')),
      binary(PREC.product, $._operand, operators($, '*', '/', '%')),
      binary(PREC.user, $._operand, operators($, '++^', '@')),
    ),

    _unary: $ => choice($.unary_expression, $.cast_expression, $._postfix),

    unary_expression: $ => prec(PREC.prefix, seq(
      field('operator', operators($, ...PREFIX_OPERATORS)), field('operand', $._unary),
    )),

    // Where the type is a name, `(a) - b` may be a difference and `(a) [b]` a selection. The first is likelier to be one, but for `(Real) -1`.
    cast_expression: $ => prec(PREC.prefix, choice(
      prec.dynamic(2, seq('(', field('type', $._capitalized_type), ')', field('value', $.unary_expression))),
      prec.dynamic(-1, seq('(', optional(':'), field('type', $.type), ')', field('value', $.unary_expression))),
      prec.dynamic(1, seq(
        '(', optional(':'), field('type', $.type), ')', field('value', choice($.cast_expression, $._postfix)),
      )),
    )),

    _postfix: $ => choice($.selection, $.field_expression, $._primary),

    selection: $ => prec(PREC.postfix, seq(field('array', $._postfix), field('selectors', $.selectors))),

    selectors: $ => seq('[', list($._selector), ']'),

    _selector: $ => choice($.expression, $.dot, $.dots),

    dot: _ => '.',

    dots: _ => '...',

    field_expression: $ => prec(PREC.postfix, seq(field('record', $._postfix), '.', field('field', $._field_name))),

    _primary: $ => choice(
      $._name,
      $.number,
      $._string,
      $.char_literal,
      $.boolean,
      $.call_expression,
      $.parenthesized_expression,
      $.array_literal,
      $.empty_array,
      $.struct_literal,
      $.comprehension,
      $.with_loop,
    ),

    _name: $ => choice(
      $.identifier,
      alias($._capitalized, $.identifier),
      alias($.macro_name, $.identifier),
      $.qualified_identifier,
    ),

    qualified_identifier: $ => seq(
      field('module', choice(
        alias($.identifier, $.module_identifier),
        alias($._capitalized, $.module_identifier),
        alias($.macro_name, $.module_identifier),
      )),
      '::',
      field('name', $.identifier),
    ),

    call_expression: $ => prec(PREC.postfix, choice(
      seq(
        field('function', choice(
          $._name,
          alias(operators($, ...INFIX_OPERATORS), $.operator_name),
          alias($._macro_call, $.call_expression),
        )),
        field('arguments', $.arguments),
      ),
      $._macro_call,
    )),

    /** A call that may be one of a macro, by its name: all letters are large. It may stand in places where no function's call can. */
    _macro_call: $ => prec(PREC.postfix + 1, seq(
      field('function', alias($.macro_name, $.identifier)),
      field('arguments', $.arguments),
    )),

    /** Types and operators are arguments of macros only. */
    arguments: $ => seq('(', list(choice($.expression, $._macro_argument)), ')'),

    _macro_argument: $ => choice(
      $.primitive_type, $.array_type, $.struct_type,
      alias(choice(...INFIX_OPERATORS, ...PREFIX_OPERATORS), $.operator_name),
    ),

    /** More than one expression is several results, or the operands of an operator that is called: `+(a, b)`. */
    parenthesized_expression: $ => seq('(', list1($.expression), ')'),

    array_literal: $ => seq('[', list($._selector), ']'),

    /** `[:int[3]]`, also written without the colon where the type shows that it is one. */
    empty_array: $ => choice(
      seq('[', ':', field('type', $.type), ']'),
      seq('[', field('type', choice($.primitive_type, $.struct_type, $.array_type)), ']'),
    ),

    struct_literal: $ => seq(
      field('type', $._named_type),
      '{', choice(list($.expression), list1($.field_initializer)), '}',
    ),

    field_initializer: $ => seq('.', field('name', $._field_name), '=', field('value', $.expression)),

    // Comprehensions and with-loops ------------------------------------------------------------------------------------

    comprehension: $ => seq(
      '{', $.comprehension_part, repeat(seq(';', $.comprehension_part)), optional(';'), '}',
    ),

    comprehension_part: $ => seq(
      field('index', choice($.identifier, $.index_list)), '->', field('value', $._tensor_expression),
      optional(seq('|', $._comprehension_range)),
    ),

    _comprehension_range: $ => seq(
      choice(
        seq($._partition_bound, $._relation, $._partition_bound),
        seq($._partition_bound, $._relation, $._operand, $._relation, choice($.expression, $.dot)),
      ),
      optional($.step),
      optional($.width),
    ),

    index_list: $ => seq('[', list(choice($.identifier, $.dot, $.dots)), ']'),

    _partition_bound: $ => choice($._operand, $.dot),

    _relation: _ => choice('<', '<='),

    step: $ => seq('step', $.expression),

    width: $ => seq('width', $.expression),

    with_loop: $ => seq('with', field('parts', $.with_parts), ':', field('operations', $._with_operations)),

    with_parts: $ => seq('{', repeat($.with_part), '}'),

    with_part: $ => seq(
      field('generator', choice($.generator, $.macro_name, alias($._macro_call, $.call_expression))),
      optional(field('body', $.block)),
      optional(seq(':', field('value', choice($.void, $.expression)))),
      ';',
    ),

    generator: $ => seq(
      '(',
      field('lower', $._partition_bound), $._relation,
      field('index', $._generator_index), $._relation,
      field('upper', choice($.expression, $.dot)),
      optional($.step),
      optional($.width),
      ')',
    ),

    _generator_index: $ => choice(
      $.identifier,
      $.index_list,
      seq($.identifier, '=', $.index_list),
    ),

    _with_operations: $ => choice(
      $.void,
      $.with_operation,
      seq('(', list1($.with_operation), ')'),
    ),

    with_operation: $ => choice(
      seq(field('operation', choice('genarray', 'modarray', 'propagate')), '(', list1($.expression), ')'),
      seq(
        field('operation', choice('fold', 'foldfix')),
        '(', field('function', $.fold_function), repeat1(seq(',', $.expression)), ')',
      ),
    ),

    fold_function: $ => seq(
      choice($._name, alias(operators($, ...INFIX_OPERATORS, ...PREFIX_OPERATORS), $.operator_name), $.operator_name),
      optional($.arguments),
    ),

    // Literals, comments -----------------------------------------------------------------------------------------------

    /** Where a macro may stand; elsewhere such a word is an identifier like others. Of two rules that fit, the one written first wins. */
    macro_name: _ => /[A-Z][A-Z0-9_]*/,

    /** As most names of types in SaC are, and few of variables. */
    _capitalized: _ => /[A-Z][A-Za-z0-9_]*[a-z][A-Za-z0-9_]*/,

    identifier: _ => /[A-Za-z_][A-Za-z0-9_]*/,

    number: _ => token(choice(
      /[0-9][A-Za-z0-9_]*/,
      /[0-9]+[eEpP][+-]?[0-9]+[A-Za-z0-9_]*/,
      /([0-9]+\.[0-9]*|\.[0-9]+)([A-Za-z_][A-Za-z0-9_]*)?/,
      /([0-9]+\.[0-9]*|\.[0-9]+)[eEpP][+-]?[0-9]+[A-Za-z0-9_]*/,
      /0[xX][0-9A-Fa-f]*\.[0-9A-Za-z_]*/,
      /0[xX][0-9A-Fa-f]*\.?[0-9A-Fa-f]*[pP][+-]?[0-9]+[A-Za-z0-9_]*/,
    )),

    boolean: _ => choice('true', 'false'),

    _string: $ => choice($.string_literal, $.concatenated_string),

    concatenated_string: $ => prec.right(seq(
      $.string_literal,
      repeat1(choice($.string_literal, $.macro_name, alias($._macro_call, $.call_expression))),
    )),

    string_literal: $ => seq(
      '"',
      repeat(choice($.string_content, $.escape_sequence)),
      token.immediate('"'),
    ),

    string_content: _ => token.immediate(prec(3, /[^\\"\n]+/)),

    char_literal: $ => seq(
      '\'',
      choice(alias(token.immediate(prec(3, /[^\\'\n]/)), $.character), $.escape_sequence),
      token.immediate('\''),
    ),

    escape_sequence: _ => token.immediate(choice(
      /\\[0-7]{1,3}/,
      /\\x[0-9A-Fa-f]+/,
      /\\\r?\n/,
      /\\[^0-7\r\n]/,
    )),

    comment: _ => token(choice(
      /\/\/([^\\\n]|\\\r?\n|\\[^\r\n])*/,
      /\/\*[^*]*\*+([^*\/][^*]*\*+)*\//,
    )),

    // The preprocessor -------------------------------------------------------------------------------------------------

    preproc_include: $ => seq(
      field('directive', alias(token(prec(2, /#[ \t]*include/)), $.directive)),
      field('path', choice($.string_literal, $.system_path)),
    ),

    system_path: _ => /<[^>\n]*>/,

    preproc_define: $ => seq(
      field('directive', alias(token(prec(2, /#[ \t]*define/)), $.directive)),
      field('name', $.identifier),
      choice(
        $._line_end,
        field('value', $.preproc_text),
        seq(
          field('parameters', $.macro_parameters),
          choice($._line_end, field('value', alias($._preproc_text_at_once, $.preproc_text))),
        ),
      ),
    ),

    macro_parameters: $ => seq(token.immediate('('), list(choice($.identifier, '...')), ')'),

    preproc_directive: $ => choice(
      field('directive', alias(token(prec(2, /#[ \t]*(else|endif)/)), $.directive)),
      seq(
        field('directive', alias(token(prec(1, /#[ \t]*[A-Za-z0-9_]*/)), $.directive)),
        choice($._line_end, field('argument', $.preproc_text)),
      ),
    ),

    /** How far a pragma goes follows from its kind, for those that a macro puts in mid-line; in a file it is its line. */
    pragma: $ => seq(
      field('directive', alias(token(prec(2, /#[ \t]*pragma/)), $.directive)),
      field('kind', alias($.identifier, $.pragma_kind)),
      choice($._line_end, field('argument', alias($._preproc_text_at_once, $.preproc_text))),
    ),

    _line_end: _ => token.immediate(prec(3, /\r?\n/)),

    preproc_text: _ => token.immediate(prec(3, new RegExp('[ \\t]' + PIECE + '*'))),

    _preproc_text_at_once: _ => token.immediate(prec(3, new RegExp(PIECE + '+'))),
  },
});

/**
 * A left-associative operator.
 * @param {number} level
 * @param {RuleOrLiteral} operand
 * @param {RuleOrLiteral} operator
 */
function binary(level, operand, operator) {
  return prec.left(level, seq(field('left', operand), field('operator', operator), field('right', operand)));
}

/**
 * Operators, each also with a module in front of it: `ScalarArith::+`.
 * @param {GrammarSymbols<string>} $
 * @param {string[]} symbols
 */
function operators($, ...symbols) {
  const qualified = symbols.map(symbol => token(seq(/[A-Za-z_][A-Za-z0-9_]*::/, symbol)));
  return choice(...symbols, ...qualified.map(symbol => alias(symbol, $.qualified_operator)));
}
