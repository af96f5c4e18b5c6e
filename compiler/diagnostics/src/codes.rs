//! The table of codes: each kind of mistake has one, for good.
//!
//! The first two digits name the stage that finds it: `E01` syntax, `E02` names and definitions, `E03` types and shapes, `E05` packages, `W04` what
//! is allowed and probably not meant, of which `W045` is said by the way. Each has a page in `docs/errors`, which `ravel explain` prints.

use std::fmt;

macro_rules! codes {
    ($($text:ident $name:ident $title:literal)*) => {
        /// A kind of mistake, named after what is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", stringify!($text), "`: ", $title, ".")] $name,)*
        }

        impl Code {
            /// All of them, by their numbers.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// `E0312`.
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => stringify!($text),)* }
            }

            /// `ShapesDiffer`.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => stringify!($name),)* }
            }

            /// What reports of this code have in common, as a clause.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }
        }
    };
}

codes! {
    E0100 LimitReached "too many errors, or a file too large"
    E0101 BadToken "text that no token starts with, or one that never ends"
    E0102 BadLiteral "a literal is malformed or does not fit its type"
    E0103 NestedTooDeeply "nested too deeply"
    E0104 BadPreprocessorLine "a preprocessor line is wrong"
    E0105 BadMacroUse "a macro is used wrongly"
    E0106 ErrorLine "an #error or #warning line is reached"
    E0107 IncludeFailed "an included file cannot be read"
    E0110 UnexpectedToken "something else is expected here"
    E0111 UnbalancedBrace "a brace has no partner"
    E0112 ListIsNoValue "a list in parentheses is not a value"
    E0113 MisplacedDots "`.` and `...` outside of a selection"
    E0114 CompoundTargets "an assignment with an operator has several targets"
    E0115 BodyMismatch "a function lacks a body, or must not have one"
    E0116 VariadicDefinition "a function with a body cannot take or return `...`"
    E0117 RepeatedDots "`...` stands twice in one list"
    E0118 ConstraintOfOther "a constraint does not bound its index"
    E0120 BadPragma "a pragma is wrong"
    E0190 InputEndsEarly "the input ends too early"
    E0201 UnknownModule "a module is not found"
    E0202 WrongModuleHeader "a file is not the module that its name says"
    E0203 ModuleCycle "modules need each other"
    E0204 UnreadableModule "the file of a module cannot be read"
    E0205 NotExported "a module does not export this name"
    E0206 OwnModule "a module loads itself"
    E0210 UnknownFunction "an unknown function or operator"
    E0211 WrongCounts "no function of this name takes or gives so many values"
    E0212 UnknownVariable "an unknown variable"
    E0213 MaybeUnassigned "a variable may have no value here"
    E0214 UnknownType "an unknown type"
    E0215 AmbiguousName "a name has several meanings"
    E0216 BadPrimitive "a primitive is unknown or used wrongly"
    E0217 ReferenceArgument "a reference argument is not a variable"
    E0218 DuplicateInstance "a function is defined twice for the same argument types"
    E0220 ReturnCount "a function returns another number of values than it declares"
    E0221 TargetCount "the two sides of an assignment differ in number"
    E0222 DefinedTwice "a name is defined twice"
    E0223 TypeNotPossible "a type is not possible at this place"
    E0224 RecursiveType "a type contains itself"
    E0225 UnknownField "a struct has no field of this name"
    E0226 FieldCount "fields are given twice, or too few or too many of them"
    E0227 NoUpperBound "a comprehension has no upper bound"
    E0228 PartitionMismatch "partitions of a comprehension do not fit together"
    E0229 ValueCount "values and operations of a with-loop differ in number"
    E0230 DotInTarget "dots stand on the left of `=`"
    E0231 DuplicateParameter "two parameters have one name"
    E0232 UndeclaredVariadic "a variable of any type must be declared"
    E0234 ObjectCycle "a global object needs itself to be initialized"
    E0235 BadFamily "a type family cannot be used"
    E0236 NotUtf8 "a string is not valid UTF-8"
    E0237 MainSignature "`main` must be `int main()`"
    E0240 EmptyStruct "a struct has no fields"
    E0241 MainInModule "a module has no `main`"
    E0242 ResultTypesDiffer "instances for the same arguments give different types"
    E0243 ReferenceOnValue "a reference parameter is of no class"
    E0244 IgnoredResult "nothing takes the result of a call"
    E0245 TooManyAxes "a type has too many axes"
    E0246 PragmaMisfit "a pragma does not fit its function"
    E0247 DerivedByOther "what a derivative is taken by is no variable"
    E0248 NotMentioned "an expression does not mention the variable that it is derived by"
    E0249 DerivativeCounts "a derivative has other numbers of variables, seeds or results"
    E0250 NoMain "a program needs a function `int main()`"
    E0251 UnknownEdition "there is no library of this edition"
    E0301 WrongType "a value of another type than declared"
    E0302 BranchesDiffer "the branches of a condition give different types"
    E0303 MixedLiteral "an array literal mixes types"
    E0304 NotAnElement "values that cannot be elements of an array"
    E0305 ConditionNotBool "a condition must be a scalar bool"
    E0306 LoopChangesType "a variable changes its element type in a loop"
    E0307 PrimitiveArgument "a primitive does not take such arguments"
    E0310 NoInstance "no instance of a function takes these arguments"
    E0311 AmbiguousInstance "two instances fit a call equally well"
    E0312 ShapesDiffer "arguments differ in shape"
    E0320 AmbiguousRanks "the ranks in a type pattern are not determined"
    E0321 PatternMismatch "a value does not fit its type pattern"
    E0322 DeclaredShape "a value has another shape than declared"
    E0323 BadCast "a cast is not possible"
    E0324 ConditionFails "a condition of a function does not hold"
    E0325 PatternNameType "a name in a type pattern is a parameter of another type"
    E0330 IndexOutOfRange "an index is out of range"
    E0331 IndexNotInts "an index or shape is not a vector of `int`"
    E0332 IndexLength "an index does not fit the axes of the array"
    E0333 DivisionByZero "division by zero"
    E0334 NegativeExtent "an extent is negative"
    E0335 ReshapeCount "reshape changes the number of elements"
    E0336 SliceTooLong "more elements are taken or dropped than there are"
    E0337 NanMade "an operation makes NaN"
    E0340 EndlessSpecialization "a recursion never meets the same shapes again"
    E0341 ForeignArgument "a value cannot be passed to a foreign function"
    E0345 ForeignSignature "a C function cannot be called by its declaration"
    E0346 LinkFailed "C code cannot be linked"
    E0347 FormatMismatch "format and arguments do not fit"
    E0350 NoSuchField "a struct has no such field"
    E0351 NoFields "a value without fields is asked for one"
    E0352 FieldWithoutType "nothing tells the element type of a field"
    E0361 CellTypesDiffer "cells of a with-loop differ in type"
    E0362 DotBoundOfFold "`.` is a bound of a fold"
    E0363 IndexLengthsDiffer "index, bounds and shape of a with-loop differ in length"
    E0364 BadGenerator "bounds, step or width of a generator are impossible"
    E0365 OutsideResult "a generator reaches outside of the result"
    E0367 UnknownCells "nothing tells what the cells of a with-loop are"
    E0368 FoldTypesDiffer "a fold changes the type of its accumulator"
    E0380 NotReal "a derivative is taken of or by what is not real"
    E0381 NotOneScalar "`grad` is taken of what is not one real scalar"
    E0382 SeedMisfit "a seed or a tangent does not fit"
    E0383 NoDerivative "something has no derivative"
    E0501 BadManifest "a `ravel.toml` is wrong"
    E0502 MissingPackage "a dependency cannot be had"
    E0503 PackageCycle "packages need each other"
    E0504 RevisionConflict "one package is wanted from two places"
    E0505 ModuleInTwoPackages "two packages have a module of one name"
    E0506 LockOutdated "the lock file does not fit the manifest"
    W0401 UnusedVariable "a variable is never used"
    W0402 UnusedImport "nothing that is loaded here is used"
    W0403 DeadAssignment "a value is never used"
    W0404 UnreachedOverload "no call ever reaches a function"
    W0405 ConstantCondition "a condition always gives the same"
    W0406 GuardNeverHolds "the conditions of a function never hold"
    W0407 ShadowedIndex "an index hides a variable"
    W0408 IntegerDivisionToReal "an integer division becomes a real number"
    W0409 UnknownPragma "a pragma that Ravel does not know"
    W0410 UnknownWarning "a name of no warning"
    W0420 UnusedFunction "a function is never called"
    W0421 UnusedParameter "a parameter is never used"
    W0422 FloatEquality "real numbers are compared for equality"
    W0430 LoopInOrder "the iterations of a loop keep their order"
    W0431 FoldInOrder "a fold takes one index after the other"
    W0432 CheckInInnerLoop "a check remains in an inner loop"
    W0433 RankUnknown "only the run knows the rank of an array"
    W0440 HeldConstant "a derivative holds a value constant that was computed from its variable"
    W0441 AlwaysZero "a derivative is always zero"
    W0450 DeprecatedModule "a module is deprecated"
    W0451 HiddenDefinition "a definition hides another"
    W0452 LocalPatternName "names in a local type bind nothing"
    W0453 NothingToSpecialize "there is no instance to specialize"
    W0454 HiddenModule "several files are a module of this name"
    W0455 EditionsDiffer "a module asks for another edition of the library"
    W0456 IntWraps "a product or sum is too large for `int`"
}

/// What warnings were called before each had a warning's letter.
const FORMER: [(&str, Code); 7] = [
    ("E0207", Code::DeprecatedModule),
    ("E0219", Code::HiddenDefinition),
    ("E0233", Code::LocalPatternName),
    ("E0238", Code::NothingToSpecialize),
    ("E0239", Code::HiddenModule),
    ("E0252", Code::EditionsDiffer),
    ("E0370", Code::IntWraps),
];

impl Code {
    /// Whether the stages say it by the way: nothing has to be looked for.
    pub fn is_by_the_way(self) -> bool {
        let text = self.text();
        text.starts_with('E') || text.starts_with("W045")
    }

    /// The code that a user writes, in small letters too, or by its number alone; also a former one.
    pub fn from_text(text: &str) -> Option<Code> {
        let text = text.trim();
        let is = |code: &str| code.eq_ignore_ascii_case(text) || code[1..] == *text;
        let known = Code::ALL.iter().copied().find(|code| is(code.text()));
        known.or_else(|| FORMER.iter().find(|(code, _)| is(code)).map(|(_, code)| *code))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_no_number_has_two_meanings() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0].text() < pair[1].text()));
        assert_eq!(Code::from_text("e0312"), Some(Code::ShapesDiffer));
        assert_eq!(Code::from_text("0312"), Some(Code::ShapesDiffer));
        assert_eq!(Code::from_text("E0370"), Some(Code::IntWraps));
        assert_eq!(Code::from_text("E9999"), None);
    }
}
