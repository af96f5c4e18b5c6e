//! Object files into memory: sections get places, symbols addresses, relocations their values.
//!
//! All sections lie in one stretch of memory, code first, so that they reach each other with 32-bit distances. Calls of the runtime and of the C
//! library go through jumps in that stretch, and addresses from tables through words in it: those lie anywhere.

use crate::relocate::{JUMP, What, bytes_of, what};
use object::read::{Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags, RelocationTarget};
use object::{SectionFlags, SectionIndex, SymbolIndex, elf};
use ravel_types::HashMap;
use std::ffi::c_char;
use std::fmt;

/// The `main` of a C program.
pub(crate) type Main = unsafe extern "C" fn(i32, *const *const c_char) -> i32;

const PAGE: usize = 4096;

/// Why object files cannot be loaded.
#[derive(Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The machine is not one that objects are attached on.
    Machine,
    /// Not an object file, or one of another machine.
    Malformed(String),
    /// A relocation that is not known here, with its number.
    Relocation(u32),
    /// A value does not fit where it belongs.
    TooFar(String),
    /// Nobody defines a symbol.
    Unknown(String),
    /// The system gives no memory.
    Memory(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Machine => f.write_str("programs can be attached on Linux with x86-64 only"),
            LoadError::Malformed(why) => write!(f, "the object file cannot be read: {why}"),
            LoadError::Relocation(number) => write!(f, "the object file has a relocation of an unknown kind, {number}"),
            LoadError::TooFar(name) => write!(f, "`{name}` is too far away"),
            LoadError::Unknown(name) => write!(f, "nothing defines `{name}`"),
            LoadError::Memory(why) => write!(f, "there is no memory for the program: {why}"),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<object::Error> for LoadError {
    fn from(error: object::Error) -> LoadError {
        LoadError::Malformed(error.to_string())
    }
}

/// A section that belongs into memory.
struct Placed {
    /// From the start of the stretch.
    at: usize,
    size: usize,
}

/// Where everything will lie.
#[derive(Default)]
struct Plan {
    sections: HashMap<(usize, SectionIndex), Placed>,
    /// Symbols that others may name.
    exported: HashMap<String, usize>,
    /// Jumps and words by the names they are for, from the start of the stretch.
    jumps: HashMap<String, usize>,
    words: HashMap<String, usize>,
    /// Where code ends, and where everything does.
    code: usize,
    size: usize,
}

type File<'o> = object::File<'o>;

fn parse(objects: &[Vec<u8>]) -> Result<Vec<File<'_>>, LoadError> {
    if !crate::IS_POSSIBLE {
        return Err(LoadError::Machine);
    }
    let files = objects.iter().map(|object| File::parse(object.as_slice()).map_err(LoadError::from));
    let files: Vec<File<'_>> = files.collect::<Result<_, _>>()?;
    match files.iter().all(|file| file.architecture() == object::Architecture::X86_64) {
        true => Ok(files),
        false => Err(LoadError::Malformed("it is for another machine".to_string())),
    }
}

/// Whether they can be loaded, symbols aside.
pub(crate) fn check(objects: &[Vec<u8>]) -> Result<(), LoadError> {
    plan(&parse(objects)?).map(|_| ())
}

fn flags(section: &object::Section<'_, '_>) -> u64 {
    match section.flags() {
        SectionFlags::Elf { sh_flags } => sh_flags,
        _ => 0,
    }
}

fn number(relocation: &Relocation) -> u32 {
    match relocation.flags() {
        RelocationFlags::Elf { r_type } => r_type,
        _ => 0,
    }
}

/// The symbol that a relocation names, with its index.
fn symbol_of(relocation: &Relocation) -> Option<SymbolIndex> {
    match relocation.target() {
        RelocationTarget::Symbol(index) => Some(index),
        _ => None,
    }
}

/// What a jump or word for a symbol is called: those with equal keys share one.
fn key(file: usize, object: &File<'_>, index: SymbolIndex) -> Result<String, LoadError> {
    let symbol = object.symbol_by_index(index)?;
    let name = symbol.name()?;
    // Local symbols of different files may have one name.
    Ok(if symbol.is_undefined() || symbol.is_global() { name.to_string() } else { format!("{file}:{}", index.0) })
}

fn plan(files: &[File<'_>]) -> Result<Plan, LoadError> {
    let mut plan = Plan::default();
    for is_code in [true, false] {
        for (n, file) in files.iter().enumerate() {
            for section in file.sections() {
                let flags = flags(&section);
                let belongs = flags & u64::from(elf::SHF_ALLOC) != 0;
                if !belongs || (flags & u64::from(elf::SHF_EXECINSTR) != 0) != is_code {
                    continue;
                }
                if flags & u64::from(elf::SHF_TLS) != 0 {
                    return Err(LoadError::Malformed("it has variables of threads".to_string()));
                }
                let too_large = || LoadError::Malformed("a section is too large".to_string());
                let align = usize::try_from(section.align()).map_err(|_| too_large())?.max(1);
                let size = usize::try_from(section.size()).map_err(|_| too_large())?;
                if !align.is_power_of_two() || align > PAGE {
                    return Err(LoadError::Malformed("a section asks for a strange alignment".to_string()));
                }
                let at = plan.size.next_multiple_of(align);
                plan.sections.insert((n, section.index()), Placed { at, size });
                plan.size = at.checked_add(size).filter(|size| *size < i32::MAX as usize).ok_or_else(too_large)?;
            }
        }
        if is_code {
            add_jumps(files, &mut plan)?;
            plan.size = plan.size.next_multiple_of(PAGE);
            plan.code = plan.size;
        }
    }
    add_words(files, &mut plan)?;
    for (n, file) in files.iter().enumerate() {
        for symbol in file.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined()) {
            if let Some(at) = place(&plan, n, &symbol) {
                plan.exported.insert(symbol.name()?.to_string(), at);
            }
        }
    }
    Ok(plan)
}

/// Where a symbol that the file defines lies, from the start of the stretch.
fn place(plan: &Plan, file: usize, symbol: &object::Symbol<'_, '_>) -> Option<usize> {
    let section = plan.sections.get(&(file, symbol.section_index()?))?;
    let offset = usize::try_from(symbol.address()).ok()?;
    (offset <= section.size).then(|| section.at + offset)
}

/// A relocation: the number of its file, the file, its section, the place there, what the file says of it, and what it writes.
struct Place<'p, 'o> {
    n: usize,
    file: &'p File<'o>,
    section: SectionIndex,
    offset: u64,
    relocation: &'p Relocation,
    what: What,
}

/// Goes through the relocations of sections that belong into memory.
fn each_relocation(
    files: &[File<'_>],
    placed: &dyn Fn(usize, SectionIndex) -> bool,
    visit: &mut dyn FnMut(Place<'_, '_>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    for (n, file) in files.iter().enumerate() {
        for section in file.sections().filter(|section| flags(section) & u64::from(elf::SHF_ALLOC) != 0) {
            if !placed(n, section.index()) {
                continue;
            }
            for (offset, relocation) in section.relocations() {
                let number = number(&relocation);
                if number == elf::R_X86_64_NONE {
                    continue;
                }
                let what = what(number).ok_or(LoadError::Relocation(number))?;
                visit(Place { n, file, section: section.index(), offset, relocation: &relocation, what })?;
            }
        }
    }
    Ok(())
}

/// Makes room behind the code for jumps to what the files call but do not define.
fn add_jumps(files: &[File<'_>], plan: &mut Plan) -> Result<(), LoadError> {
    let mut names = Vec::new();
    each_relocation(files, &|_, _| true, &mut |Place { file, relocation, what, .. }| {
        if what == What::Call
            && let Some(index) = symbol_of(relocation)
        {
            let symbol = file.symbol_by_index(index)?;
            if symbol.is_undefined() {
                names.push(symbol.name()?.to_string());
            }
        }
        Ok(())
    })?;
    names.sort_unstable();
    names.dedup();
    plan.size = plan.size.next_multiple_of(16);
    for name in names {
        plan.jumps.insert(name, plan.size);
        plan.size += 16;
    }
    Ok(())
}

/// Makes room behind the data for words that hold addresses.
fn add_words(files: &[File<'_>], plan: &mut Plan) -> Result<(), LoadError> {
    let mut keys = Vec::new();
    each_relocation(files, &|_, _| true, &mut |Place { n, file, relocation, what, .. }| {
        if what == What::Word
            && let Some(index) = symbol_of(relocation)
        {
            keys.push(key(n, file, index)?);
        }
        Ok(())
    })?;
    keys.sort_unstable();
    keys.dedup();
    plan.size = plan.size.next_multiple_of(8);
    for key in keys {
        plan.words.insert(key, plan.size);
        plan.size += 8;
    }
    Ok(())
}

/// What is to be written where, from the start of the stretch.
type Patch = (usize, Vec<u8>);

/// The address of a symbol of the runtime or the C library.
fn outside(name: &str) -> Result<usize, LoadError> {
    if name == ravel_runtime::abi::symbols::MAIN_START {
        return Ok(ravel_runtime::start::ravel_main_start as *const () as usize);
    }
    let found = ravel_codegen::find_symbol(&ravel_runtime::symbols::lookup, name);
    found.map(|address| address as usize).ok_or_else(|| LoadError::Unknown(name.to_string()))
}

/// All bytes of a stretch that begins at `base`.
fn patches(files: &[File<'_>], plan: &Plan, base: usize) -> Result<Vec<Patch>, LoadError> {
    let mut patches = Vec::new();
    for (n, file) in files.iter().enumerate() {
        for section in file.sections() {
            if let Some(placed) = plan.sections.get(&(n, section.index())) {
                // What is zero at start has no content.
                patches.push((placed.at, section.uncompressed_data()?.into_owned()));
            }
        }
    }
    for (name, &at) in &plan.jumps {
        let target = plan.exported.get(name).map(|at| base + at);
        let target = target.map_or_else(|| outside(name), Ok)?;
        patches.push((at, [&JUMP[..], &target.to_le_bytes()].concat()));
    }
    let resolve = |n: usize, file: &File<'_>, index: SymbolIndex| -> Result<usize, LoadError> {
        let symbol = file.symbol_by_index(index)?;
        match place(plan, n, &symbol) {
            Some(at) => Ok(base + at),
            None => {
                let name = symbol.name()?;
                plan.exported.get(name).map(|at| base + at).map_or_else(|| outside(name), Ok)
            }
        }
    };
    let placed = |n: usize, index: SectionIndex| plan.sections.contains_key(&(n, index));
    each_relocation(files, &placed, &mut |Place { n, file, section, offset, relocation, what }| {
        let section = &plan.sections[&(n, section)];
        let offset = usize::try_from(offset).ok().filter(|offset| *offset < section.size);
        let at = section.at + offset.ok_or_else(|| LoadError::Malformed("a relocation is outside".to_string()))?;
        let here = (base + at) as i128;
        let addend = i128::from(relocation.addend());
        let index =
            symbol_of(relocation).ok_or_else(|| LoadError::Malformed("a relocation names no symbol".to_string()))?;
        let symbol = file.symbol_by_index(index)?;
        let (value, bytes, is_signed) = match what {
            What::Absolute { bytes, is_signed } => (resolve(n, file, index)? as i128 + addend, bytes, is_signed),
            What::Distance { bytes } => (resolve(n, file, index)? as i128 + addend - here, bytes, true),
            What::Call if symbol.is_undefined() => {
                let jump = plan.jumps.get(symbol.name()?).copied().unwrap_or_default();
                ((base + jump) as i128 + addend - here, 4, true)
            }
            What::Call => (resolve(n, file, index)? as i128 + addend - here, 4, true),
            What::Word => {
                let word = plan.words.get(&key(n, file, index)?).copied().unwrap_or_default();
                patches.push((word, resolve(n, file, index)?.to_le_bytes().to_vec()));
                ((base + word) as i128 + addend - here, 4, true)
            }
        };
        let name = || symbol.name().unwrap_or_default().to_string();
        patches.push((at, bytes_of(value, bytes, is_signed).ok_or_else(|| LoadError::TooFar(name()))?));
        Ok(())
    })?;
    Ok(patches)
}

/// Loads object files for as long as the process lives; the address of their `main`.
pub(crate) fn load(objects: &[Vec<u8>]) -> Result<Main, LoadError> {
    let files = parse(objects)?;
    let plan = plan(&files)?;
    let main = *plan.exported.get("main").ok_or_else(|| LoadError::Unknown("main".to_string()))?;
    let size = plan.size.max(1).next_multiple_of(PAGE);
    let memory = |what: &str| LoadError::Memory(format!("{what}: {}", std::io::Error::last_os_error()));
    #[expect(unsafe_code, reason = "code is written into memory of its own")]
    // SAFETY: the stretch is ours and large enough for all patches, which lie within it by the plan and are bounded here. Code is made
    // executable when it is complete; `main` is the start of a function with this signature, which `ravel-codegen`'s backends write.
    unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let stretch = libc::mmap(std::ptr::null_mut(), size, rights, kind, -1, 0);
        if stretch == libc::MAP_FAILED {
            return Err(memory("mmap"));
        }
        let base = stretch as usize;
        for (at, bytes) in patches(&files, &plan, base)? {
            let end = at.checked_add(bytes.len()).filter(|end| *end <= size);
            end.ok_or_else(|| LoadError::Malformed("something lies outside of its section".to_string()))?;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (base + at) as *mut u8, bytes.len());
        }
        if plan.code > 0 && libc::mprotect(stretch, plan.code, libc::PROT_READ | libc::PROT_EXEC) != 0 {
            return Err(memory("mprotect"));
        }
        Ok(std::mem::transmute::<usize, Main>(base + main))
    }
}
