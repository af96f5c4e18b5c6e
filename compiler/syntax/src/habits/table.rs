//! Words of NumPy, Python and C, and what stands for them here.

/// What is written here for a function, method or attribute of another language.
pub struct Elsewhere {
    pub word: &'static str,
    /// The way here, in a sentence.
    pub way: &'static str,
    /// The expression itself: `{0}` is the array or first argument, `{1}` the next one, `{v}` the first as a vector of extents.
    /// Empty where the arguments do not tell it.
    form: &'static str,
    /// How many arguments the form takes.
    args: usize,
    /// Whether a function here has the name too, so that the word says more behind a dot than in front of arguments.
    pub is_here: bool,
    /// What else the word means, in languages that call it so in front of its argument.
    pub or: Option<&'static str>,
}

const fn word(word: &'static str, args: usize, form: &'static str, way: &'static str) -> Elsewhere {
    Elsewhere { word, way, form, args, is_here: false, or: None }
}

const fn own(word: &'static str, args: usize, form: &'static str, way: &'static str) -> Elsewhere {
    Elsewhere { word, way, form, args, is_here: true, or: None }
}

const fn either(word: &'static str, args: usize, form: &'static str, way: &'static str, or: &'static str) -> Elsewhere {
    Elsewhere { word, way, form, args, is_here: false, or: Some(or) }
}

const ELSEWHERE: &[Elsewhere] = &[
    word("zeros", 1, "genarray({v}, 0d)", "`genarray(shape, 0d)` is an array of zeros"),
    word("ones", 1, "genarray({v}, 1d)", "`genarray(shape, 1d)` is an array of ones"),
    word("full", 2, "genarray({v}, {1})", "`genarray(shape, value)` is an array of one value"),
    word("empty", 1, "genarray({v}, 0d)", "there are no arrays without values: `genarray(shape, 0d)` is one of zeros"),
    word("zeros_like", 1, "genarray(shape({0}), 0d)", "`genarray(shape(a), 0d)` is an array of zeros"),
    word("ones_like", 1, "genarray(shape({0}), 1d)", "`genarray(shape(a), 1d)` is an array of ones"),
    word("full_like", 2, "genarray(shape({0}), {1})", "`genarray(shape(a), value)` is an array of one value"),
    word("array", 1, "{0}", "`[1, 2, 3]` is an array"),
    word("asarray", 1, "{0}", "`[1, 2, 3]` is an array"),
    own("copy", 1, "{0}", "an assignment copies: what is changed later is the new value only"),
    own("shape", 1, "shape({0})", "`shape(a)` is the vector of extents"),
    word("len", 1, "shape({0})[0]", "`shape(a)[0]` is the length of the first axis"),
    either(
        "length",
        1,
        "shape({0})[0]",
        "`shape(a)[0]` is the length of the first axis",
        "`strlen(s)` of module String is the length of a string",
    ),
    either(
        "size",
        1,
        "prod(shape({0}))",
        "`prod(shape(a))` is the number of elements",
        "`shape(a)` is the vector of extents, as `size` of MATLAB and Julia",
    ),
    word("ndim", 1, "dim({0})", "`dim(a)` is the rank"),
    word("T", 1, "transpose({0})", "`transpose(a)` turns the axes around"),
    word("dtype", 0, "", "every expression has its element type; nothing asks for it when the program runs"),
    own("sum", 1, "sum({0})", "`sum(a)` adds all elements"),
    own("prod", 1, "prod({0})", "`prod(a)` multiplies all elements"),
    own("max", 1, "maxval({0})", "`maxval(a)` is the largest element"),
    own("min", 1, "minval({0})", "`minval(a)` is the smallest element"),
    own("mean", 1, "ArraySearch::mean({0})", "`mean(a)` of ArraySearch is the mean of reals"),
    own("std", 1, "ArraySearch::std({0})", "`std(a)` of ArraySearch is the standard deviation of reals"),
    own("var", 1, "ArraySearch::var({0})", "`var(a)` of ArraySearch is the variance of reals"),
    own("argmax", 1, "ArraySearch::argmax({0})", "`argmax(a)` of ArraySearch is the place of the largest element"),
    own("argmin", 1, "ArraySearch::argmin({0})", "`argmin(a)` of ArraySearch is the place of the smallest element"),
    own("cumsum", 1, "ArrayScan::cumsum({0})", "`cumsum(a)` of ArrayScan has the sums up to each element"),
    own("sort", 1, "ArraySort::sort({0})", "`sort(a)` of ArraySort is a sorted copy"),
    own("unique", 1, "ArraySets::unique({0})", "`unique(a)` of ArraySets has each element once"),
    own("flatten", 1, "ArrayAxes::flatten({0})", "`flatten(a)` of ArrayAxes is the vector of all elements"),
    word("ravel", 1, "ArrayAxes::flatten({0})", "`flatten(a)` of ArrayAxes is the vector of all elements"),
    own("transpose", 1, "transpose({0})", "`transpose(a)` turns the axes around"),
    own("any", 1, "any({0})", "`any(a)` is true if some element is"),
    own("all", 1, "all({0})", "`all(a)` is true if every element is"),
    own("tolist", 1, "{0}", "arrays are the only lists"),
    own("item", 1, "{0}", "a scalar is a number as it is"),
    word("astype", 0, "", "`tod(a)`, `tof(a)` and `toi(a)` convert numbers"),
    word("range", 1, "iota({0})", "`iota(n)` is the vector of 0 to n - 1, `a + iota(b - a)` that of a to b - 1"),
    word("arange", 1, "iota({0})", "`iota(n)` is the vector of 0 to n - 1, `a + iota(b - a)` that of a to b - 1"),
    word("append", 2, "{0} ++ [{1}]", "`a ++ b` joins arrays along the first axis"),
    word("concat", 2, "{0} ++ {1}", "`a ++ b` joins arrays along the first axis, `concatenate` of ArrayAxes along any"),
    word("vstack", 0, "", "`a ++ b` joins arrays along the first axis"),
    word("hstack", 0, "", "`concatenate(1, a, b)` of ArrayAxes joins arrays along axis 1"),
    own("reshape", 2, "reshape({w}, {0})", "`reshape(shape, a)` takes the new shape first"),
    own("dot", 2, "", "`sum(a * b)` of vectors, `matmul(a, b)` of LinAlg for matrices"),
    own("pow", 2, "pow({0}, {1})", "`pow(x, y)` of Math is a power of doubles"),
    word("malloc", 0, "", "arrays are made with their values and freed by themselves: `genarray([n], 0)`"),
    word("calloc", 0, "", "arrays are made with their values and freed by themselves: `genarray([n], 0)`"),
    own("free", 0, "", "arrays are freed by themselves: drop the call"),
    word("sizeof", 0, "", "`prod(shape(a))` is the number of elements; how large one is does not matter here"),
    word(
        "map",
        0,
        "",
        "`{ [i] -> f(a[i]) }` has the value of `f` for each element; operators and most functions take arrays as they are",
    ),
    word("not", 0, "", "write `!` for `not`"),
    word("and", 0, "", "write `&&` for `and`"),
    word("or", 0, "", "write `||` for `or`"),
];

/// Reductions that NumPy knows by a name, the name here, and the module that has them along an axis.
const ALONG_AXES: [(&str, &str, &str); 14] = [
    ("sum", "sum", "ArraySearch"),
    ("prod", "prod", "ArraySearch"),
    ("max", "maxval", "ArraySearch"),
    ("min", "minval", "ArraySearch"),
    ("maxval", "maxval", "ArraySearch"),
    ("minval", "minval", "ArraySearch"),
    ("any", "any", "ArraySearch"),
    ("all", "all", "ArraySearch"),
    ("mean", "mean", "ArraySearch"),
    ("var", "var", "ArraySearch"),
    ("std", "std", "ArraySearch"),
    ("argmin", "argmin", "ArraySearch"),
    ("argmax", "argmax", "ArraySearch"),
    ("cumsum", "cumsum", "ArrayScan"),
];

/// The function that does along an axis, which comes first, what another language calls so, and its module.
pub(super) fn along_axis(word: &str) -> Option<(&'static str, &'static str)> {
    ALONG_AXES.iter().find(|(known, _, _)| *known == word).map(|(_, name, module)| (*name, *module))
}

/// The entry of a word.
pub fn elsewhere(word: &str) -> Option<&'static Elsewhere> {
    ELSEWHERE.iter().find(|entry| entry.word == word)
}

impl Elsewhere {
    /// The expression with these arguments, if they tell it.
    pub fn filled(&self, args: &[String]) -> Option<String> {
        if self.form.is_empty() {
            return None;
        }
        // A shape may come as several arguments: `a.reshape(2, 3)`.
        let (first, rest) = args.split_first()?;
        if self.word == "reshape" && rest == ["-1"] {
            return Some(format!("ArrayAxes::flatten({first})"));
        }
        // An extent that is to be found out.
        if self.form.contains("{w}") && rest.iter().any(|extent| extent.contains("-1")) {
            return None;
        }
        if self.form.contains("{w}") && !rest.is_empty() {
            let extents = if rest.len() == 1 { vector(&rest[0]) } else { format!("[{}]", rest.join(", ")) };
            return Some(self.form.replace("{w}", &extents).replace("{0}", first));
        }
        if let ("range" | "arange", [from, upto]) = (self.word, args) {
            return from_upto(from, upto);
        }
        if args.len() != self.args || self.args == 0 {
            return None;
        }
        let form = self.form.replace("{v}", &vector(first));
        let mut out = form.replace("{0}", first);
        if let Some(second) = args.get(1) {
            out = out.replace("{1}", second);
        }
        Some(out)
    }
}

/// The numbers from one up to another, which is left out.
fn from_upto(from: &str, upto: &str) -> Option<String> {
    let is_atom = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_atom(from) || !is_atom(upto) {
        return None;
    }
    Some(match (from.parse::<i32>(), upto.parse::<i32>()) {
        (Ok(0), _) => format!("iota({upto})"),
        (Ok(first), Ok(end)) if end >= first => format!("{first} + iota({})", end - first),
        _ => format!("{from} + iota({upto} - {from})"),
    })
}

/// A number or a tuple of numbers as a vector.
fn vector(text: &str) -> String {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(inner) => format!("[{}]", inner.trim_end_matches([',', ' '])),
        None if text.starts_with('[') || text.starts_with("shape(") => text.to_string(),
        None => format!("[{text}]"),
    }
}

/// What stands here for a value of other languages: its text, if there is one, and a rule.
pub fn elsewhere_value(word: &str) -> Option<(Option<&'static str>, &'static str)> {
    match word {
        "True" | "TRUE" => Some((Some("true"), "")),
        "False" | "FALSE" => Some((Some("false"), "")),
        "None" | "NULL" | "null" | "nullptr" | "nil" => {
            Some((None, "every value is an array; one without elements is `[:int]`"))
        }
        "pi" | "PI" | "M_PI" => Some((None, "`pi()` of module Math is the number")),
        "nan" | "NaN" | "NAN" => Some((None, "`0d / 0d` is not a number, `isnan(x)` of module Math asks for it")),
        "inf" | "Inf" | "INFINITY" => Some((None, "`1d / 0d` is infinity, `isinf(x)` of module Math asks for it")),
        "end" => Some((None, "the last place on axis 0 of `a` is `shape(a)[0] - 1`")),
        "this" | "self" => Some((None, "functions have no object; what they work on is a parameter")),
        _ => None,
    }
}

/// Modules of Python: the library module that does their work.
const MODULES: [(&str, &str); 8] = [
    ("numpy", "Array"),
    ("np", "Array"),
    ("jax", "Array"),
    ("torch", "Array"),
    ("scipy", "Array"),
    ("math", "Math"),
    ("string", "String"),
    ("sys", "StdIO"),
];

pub(super) fn python_module(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(python, _)| *python == name).map(|(_, module)| *module)
}

/// Names by which Python's programs call modules.
pub(super) fn is_module_alias(name: &str) -> bool {
    python_module(name).is_some() || matches!(name, "random" | "plt" | "pd" | "jnp" | "tf" | "os" | "la")
}

/// Headers of C: the library module that does their work.
pub(crate) fn header_module(name: &str) -> Option<&'static str> {
    match name {
        "stdio.h" | "iostream" | "cstdio" => Some("StdIO"),
        "stdlib.h" | "math.h" | "cmath" => Some("Math"),
        "string.h" | "string" | "cstring" => Some("String"),
        _ => None,
    }
}
