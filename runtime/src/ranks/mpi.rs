//! The few functions of MPI that ranks need, from whatever library is there.
//!
//! The library is opened when a launcher has started the program, and never linked: executables start where there is none. Three kinds differ in their
//! constants. Handles are pointers in two kinds and `int` in one. Both travel in a machine word: who takes an `int` looks at its lower half. That
//! holds for single handles alone: an array of requests has elements of four bytes with MPICH.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use super::launch::Launcher;

/// An MPI library with the world of ranks that it has joined.
pub(super) struct Mpi {
    functions: Functions,
    constants: Constants,
    /// What it says of itself, in a line.
    pub version: String,
}

/// What differs between the kinds of libraries.
#[derive(Clone, Copy)]
struct Constants {
    world: usize,
    byte: usize,
    /// A send buffer that stands for: what is to be sent lies where it would be received.
    in_place: usize,
    /// Bytes of a request among others in an array.
    request: usize,
    /// The thread that starts MPI is the only one that calls it. Higher levels have higher numbers.
    funneled: c_int,
}

/// MPICH and its descendants.
const MPICH: Constants =
    Constants { world: 0x4400_0000, byte: 0x4c00_010d, in_place: usize::MAX, request: 4, funneled: 1 };

/// What MPI 5 lays down for all.
const STANDARD: Constants = Constants { world: 0x101, byte: 0x247, in_place: 1, request: 8, funneled: 1024 };

/// Names by which MPICH and its descendants are known in what they say of themselves.
const MPICH_FAMILY: [&str; 4] = ["MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation"];

macro_rules! functions {
    ($($field:ident: $name:literal fn($($ty:ty),*);)*) => {
        /// All return an error code; 0 is success.
        struct Functions {
            $($field: unsafe extern "C" fn($($ty),*) -> c_int,)*
        }

        impl Functions {
            fn find(library: Library) -> Result<Functions, String> {
                Ok(Functions {
                    // SAFETY: the functions have these types in every MPI, but for the widths of handles (see the module's header).
                    $($field: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> c_int>(library.function($name)?) },)*
                })
            }
        }
    };
}

type Buffer = *mut c_void;
type Handle = usize;

functions! {
    init_thread: "MPI_Init_thread" fn(*mut c_int, *mut c_void, c_int, *mut c_int);
    finalize: "MPI_Finalize" fn();
    comm_size: "MPI_Comm_size" fn(Handle, *mut c_int);
    comm_rank: "MPI_Comm_rank" fn(Handle, *mut c_int);
    bcast: "MPI_Bcast" fn(Buffer, c_int, Handle, c_int, Handle);
    allgather: "MPI_Allgather" fn(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle);
    allgatherv: "MPI_Allgatherv" fn(Buffer, c_int, Handle, Buffer, *const c_int, *const c_int, Handle, Handle);
    isend: "MPI_Isend" fn(Buffer, c_int, Handle, c_int, c_int, Handle, Buffer);
    irecv: "MPI_Irecv" fn(Buffer, c_int, Handle, c_int, c_int, Handle, Buffer);
    testall: "MPI_Testall" fn(c_int, Buffer, *mut c_int, Buffer);
    waitall: "MPI_Waitall" fn(c_int, Buffer, Buffer);
    abort: "MPI_Abort" fn(Handle, c_int);
    version: "MPI_Get_library_version" fn(*mut c_char, *mut c_int);
}

/// An open shared library.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

impl Library {
    fn open(name: &str) -> Result<Library, String> {
        let text = CString::new(name).map_err(|_| format!("{name:?} has a zero byte"))?;
        // Components of MPI libraries look for the library's own symbols among those that all can see.
        // SAFETY: the name is a C string; initialisers of the library are what a launcher expects to run.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: `dlerror` returns a C string or null.
        let why = unsafe { libc::dlerror() };
        // SAFETY: not null, so a C string.
        let why = (!why.is_null()).then(|| unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned());
        Err(why.unwrap_or_else(|| format!("{name} cannot be opened")))
    }

    fn symbol(self, name: &str) -> Option<*mut c_void> {
        let text = CString::new(name).ok()?;
        // SAFETY: the library is open and the name is a C string.
        let symbol = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// The version of the standard interface that the library keeps to; 0 if it keeps to one of its own.
    fn abi_version(self) -> c_int {
        let Some(symbol) = self.symbol("MPI_Abi_get_version") else { return 0 };
        // SAFETY: the function has this type wherever it exists, and may be called before MPI runs.
        let ask: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = unsafe { std::mem::transmute(symbol) };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two numbers to fill.
        let code = unsafe { ask(&raw mut major, &raw mut minor) };
        if code == 0 { major } else { 0 }
    }

    /// The name of the file that the functions come from.
    fn file(self) -> Option<String> {
        let symbol = self.symbol("MPI_Init_thread")?;
        // SAFETY: the structure is filled by the call, which says whether it knows the address.
        let path = unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            let found = libc::dladdr(symbol, &raw mut info) != 0 && !info.dli_fname.is_null();
            found.then(|| CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())?
        };
        let path = std::fs::canonicalize(&path).unwrap_or_else(|_| path.into());
        Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned())
    }

    fn function(self, name: &str) -> Result<*mut c_void, String> {
        self.symbol(name).ok_or_else(|| format!("it has no function {name}"))
    }
}

/// The names of libraries that keep to the standard interface: MPICH 5.0.2 has the first, the standard proposes the second.
const STANDARD_NAMES: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so.0"];

/// Names under which libraries are found: first those that fit the launcher.
fn names(launcher: Launcher) -> [&'static str; 7] {
    let standard = STANDARD_NAMES;
    let open_mpi = ["libmpi.so.40", "libmpi.so"];
    let mpich = ["libmpi.so.12", "libmpich.so.12"];
    match launcher {
        Launcher::OpenMpi | Launcher::Pmix => {
            [open_mpi[0], standard[0], standard[1], open_mpi[1], mpich[0], mpich[1], "libmpi.so.20"]
        }
        Launcher::Pmi => [mpich[0], mpich[1], standard[0], standard[1], open_mpi[0], open_mpi[1], "libmpi.so.20"],
    }
}

/// What is to be done where no library is found.
const ADVICE: &str = "install Open MPI or MPICH, or set RAVEL_MPI to the path of a library (RAVEL_RANKS=off runs every process for itself)";

/// Opens the library that `RAVEL_MPI` names, or else one that fits the launcher.
fn open(named: Option<&str>, launcher: Launcher) -> Result<Library, String> {
    match named {
        Some(name) => {
            Library::open(name).map_err(|why| format!("RAVEL_MPI names no library that can be opened: {why}"))
        }
        None => {
            let found = names(launcher).iter().find_map(|name| Library::open(name).ok());
            found.ok_or_else(|| format!("a launcher has started several ranks, but there is no MPI library: {ADVICE}"))
        }
    }
}

/// The constants of a library, by what it has and what it says of itself.
fn constants(library: Library, functions: &Functions) -> Result<Constants, String> {
    if library.abi_version() >= 1 {
        return Ok(STANDARD);
    }
    if let (Some(world), Some(byte)) = (library.symbol("ompi_mpi_comm_world"), library.symbol("ompi_mpi_byte")) {
        return Ok(Constants { world: world as usize, byte: byte as usize, in_place: 1, request: 8, funneled: 1 });
    }
    if library.file().is_some_and(|name| name.starts_with("libmpi_abi.")) {
        return Ok(STANDARD);
    }
    let says = functions.library_version();
    if MPICH_FAMILY.iter().any(|name| says.contains(name)) {
        return Ok(MPICH);
    }
    let says = says.lines().next().unwrap_or_default();
    Err(format!("this MPI library is of an unknown kind; it says '{says}': {ADVICE}"))
}

/// A library that is open, but has not joined anything.
pub(super) struct Found {
    functions: Functions,
    constants: Constants,
}

impl Found {
    /// Opens the library. `named` is what `RAVEL_MPI` says.
    pub(super) fn open(named: Option<&str>, launcher: Launcher) -> Result<Found, String> {
        let library = open(named, launcher)?;
        let functions = Functions::find(library).map_err(|why| match named {
            Some(name) => format!("RAVEL_MPI names {name}, which is no MPI library: {why}"),
            None => format!("{} is no MPI library: {why}", library.file().unwrap_or_default()),
        })?;
        let constants = constants(library, &functions)?;
        Ok(Found { functions, constants })
    }

    /// What the library says of itself, in a line.
    pub(super) fn version(&self) -> String {
        let text = self.functions.library_version();
        text.split(['\n', ',', '\0']).next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Joins the ranks that a launcher has started.
    pub(super) fn join(self) -> Result<Mpi, String> {
        let wanted = self.constants.funneled;
        let mut provided = 0;
        // SAFETY: MPI is started once, without arguments.
        let code = unsafe {
            (self.functions.init_thread)(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &raw mut provided)
        };
        check("MPI_Init_thread", code)?;
        if provided < wanted {
            return Err(format!("{} works for programs of one thread alone", self.version()));
        }
        Ok(Mpi { version: self.version(), functions: self.functions, constants: self.constants })
    }
}

impl Functions {
    /// All that the library says of itself.
    fn library_version(&self) -> String {
        let mut text = vec![0u8; 8192];
        let mut length = 0;
        // SAFETY: no library writes more than 8192 bytes, and it may be asked before MPI runs.
        unsafe { (self.version)(text.as_mut_ptr().cast(), &raw mut length) };
        let length = usize::try_from(length).unwrap_or(0).min(text.len());
        String::from_utf8_lossy(&text[..length]).into_owned()
    }
}

impl Mpi {
    /// How many ranks there are.
    pub(super) fn size(&self) -> usize {
        let mut size = 1;
        // SAFETY: MPI runs.
        unsafe { (self.functions.comm_size)(self.constants.world, &raw mut size) };
        usize::try_from(size).unwrap_or(1)
    }

    /// The number of this one.
    pub(super) fn rank(&self) -> usize {
        let mut rank = 0;
        // SAFETY: MPI runs.
        unsafe { (self.functions.comm_rank)(self.constants.world, &raw mut rank) };
        usize::try_from(rank).unwrap_or(0)
    }

    /// Makes these bytes, at most [`MOST_BYTES`], those of rank `root` everywhere.
    pub(super) fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<(), String> {
        let Constants { world, byte, .. } = self.constants;
        // SAFETY: the buffer is as long as said.
        let code = unsafe {
            (self.functions.bcast)(bytes.as_mut_ptr().cast(), count_of(bytes.len()), byte, count_of(root), world)
        };
        check("MPI_Bcast", code)
    }

    /// Fills `all` with the `own` bytes of each rank, which are as many everywhere, in the order of ranks.
    pub(super) fn all_gather(&self, own: &[u8], all: &mut [u8]) -> Result<(), String> {
        let Constants { world, byte, .. } = self.constants;
        let length = count_of(own.len());
        // SAFETY: `all` has room for `own` of all ranks, and the library only reads `own`.
        let code = unsafe {
            let own = own.as_ptr().cast_mut().cast();
            (self.functions.allgather)(own, length, byte, all.as_mut_ptr().cast(), length, byte, world)
        };
        check("MPI_Allgather", code)
    }

    /// Every rank has the stretch of `all` that is its own; afterwards each has all of them. Stretches begin at `starts` and have `lengths` bytes.
    ///
    /// # Safety
    /// The stretches lie in live memory behind `all` that nothing else uses meanwhile.
    pub(super) unsafe fn all_gather_in_place(
        &self,
        all: *mut u8,
        lengths: &[c_int],
        starts: &[c_int],
    ) -> Result<(), String> {
        let Constants { world, byte, in_place, .. } = self.constants;
        // SAFETY: by contract; `in_place` is no address but a word that the library knows.
        let code = unsafe {
            (self.functions.allgatherv)(
                std::ptr::without_provenance_mut(in_place),
                0,
                byte,
                all.cast(),
                lengths.as_ptr(),
                starts.as_ptr(),
                byte,
                world,
            )
        };
        check("MPI_Allgatherv", code)
    }

    /// Begins to send and to receive messages, which end together ([`Self::finish`]). Between two ranks they have one order on both.
    ///
    /// # Safety
    /// The memory is live and as long as said, until they have ended. Nothing else uses what is received, nothing changes what is sent.
    pub(super) unsafe fn begin(&self, sent: &[Message], received: &[Message]) -> Result<Pending, String> {
        let Constants { world, byte, request, .. } = self.constants;
        let receive = (self.functions.irecv, "MPI_Irecv", received);
        let send = (self.functions.isend, "MPI_Isend", sent);
        let of =
            |messages: &[Message]| messages.iter().map(|message| message.length.div_ceil(MOST_BYTES)).sum::<usize>();
        let count = of(received) + of(sent);
        let mut pending = Pending { requests: vec![0; count], statuses: vec![[0; 8]; count], count };
        let mut place = pending.requests.as_mut_ptr().cast::<u8>();
        for (function, name, messages) in [receive, send] {
            for message in messages {
                for start in (0..message.length).step_by(MOST_BYTES) {
                    let length = count_of(MOST_BYTES.min(message.length - start));
                    let rank = count_of(message.rank);
                    // SAFETY: by contract; there is room for every request.
                    let code = unsafe {
                        function(message.memory.add(start).cast(), length, byte, rank, TAG, world, place.cast())
                    };
                    check(name, code)?;
                    place = place.wrapping_add(request);
                }
            }
        }
        Ok(pending)
    }

    /// Lets messages move on while the program computes; libraries move little unless they are asked.
    pub(super) fn poke(&self, pending: &mut Pending) {
        let mut done = 0;
        let Pending { requests, statuses, count } = pending;
        // SAFETY: the requests are those of `begin`, and a status of every library fits. Ended requests are marked so.
        let code = unsafe {
            (self.functions.testall)(
                count_of(*count),
                requests.as_mut_ptr().cast(),
                &raw mut done,
                statuses.as_mut_ptr().cast(),
            )
        };
        if code == 0 && done != 0 {
            *count = 0;
        }
    }

    /// Waits for all messages.
    pub(super) fn finish(&self, mut pending: Pending) -> Result<(), String> {
        if pending.count == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        let code = unsafe {
            (self.functions.waitall)(
                count_of(pending.count),
                pending.requests.as_mut_ptr().cast(),
                pending.statuses.as_mut_ptr().cast(),
            )
        };
        check("MPI_Waitall", code)
    }

    /// Ends all ranks.
    pub(super) fn abort(&self, status: i32) {
        // SAFETY: any thread may end the program.
        unsafe { (self.functions.abort)(self.constants.world, status) };
    }

    /// Leaves the world in order.
    pub(super) fn finalize(&self) {
        #[cfg(target_os = "linux")]
        super::components::keep();
        // SAFETY: MPI runs, and this is the thread that started it.
        unsafe { (self.functions.finalize)() };
    }
}

/// Memory that goes to a rank, or comes from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub rank: usize,
    pub memory: *mut u8,
    pub length: usize,
}

/// Messages under way.
pub(super) struct Pending {
    /// Requests, in words that hold one or two of them.
    requests: Vec<usize>,
    /// Room for what libraries say of each message: 20 to 32 bytes.
    statuses: Vec<[u64; 8]>,
    count: usize,
}

/// All messages have the same tag.
const TAG: c_int = 1;

/// Bytes that one call may move: counts are `int`.
pub(super) const MOST_BYTES: usize = 1 << 30;

fn count_of(n: usize) -> c_int {
    c_int::try_from(n).unwrap_or(c_int::MAX)
}

fn check(function: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{function} failed with code {code}")) }
}
