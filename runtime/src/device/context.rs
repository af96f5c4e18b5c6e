//! Finding and opening a device.

use std::sync::{Mutex, PoisonError};

use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device};
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::platform::get_platforms;

use super::{errors, profile, tune};

/// One device of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its platform and driver.
    pub driver: String,
    /// Is it a GPU?
    pub gpu: bool,
    /// The word for what it is if it is no GPU.
    other: &'static str,
    /// Can it compute with 64-bit floats?
    pub doubles: bool,
    /// Bytes of memory.
    pub memory: u64,
    /// Compute units.
    pub units: u32,
    /// Bytes of the largest array.
    pub largest: u64,
    /// The platform's version, which says how it compiles.
    pub(super) platform: String,
    id: usize,
}

impl Listed {
    /// What kind of device it is, in a word.
    pub fn kind(&self) -> &'static str {
        if self.gpu { "GPU" } else { self.other }
    }
}

/// An open device with its queue.
pub(super) struct Context {
    pub device: Listed,
    pub context: opencl3::context::Context,
    pub queue: CommandQueue,
}

// SAFETY: OpenCL objects may be used from any thread; the state around them is behind a lock.
unsafe impl Send for Context {}

/// How PoCL runs the work-items of a group.
const POCL_METHOD: &str = "POCL_WORK_GROUP_METHOD";

/// PoCL runs the work-items of a group in a loop that it asks LLVM to vectorise, and then keeps sums of one group for the next where two loops
/// with barriers stand in a branch (seen in 3.1). Its plain loops do not, and compile faster. What the user has chosen stays.
fn run_groups_in_plain_loops() {
    if std::env::var_os(POCL_METHOD).is_none() {
        // SAFETY: the program's other threads read the environment through Rust's lock; drivers that read it are opened behind this.
        unsafe { std::env::set_var(POCL_METHOD, "loops") };
    }
}

/// All devices, in the order in which `--device` numbers them.
///
/// # Errors
/// OpenCL is not installed, or has no drivers, or those have no device.
pub fn list() -> Result<Vec<Listed>, String> {
    // Some drivers start up at the first question, and crash if two threads ask it.
    static ASKING: Mutex<()> = Mutex::new(());
    let _alone = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    run_groups_in_plain_loops();
    let platforms = get_platforms().map_err(errors::no_platforms)?;
    if platforms.is_empty() {
        return Err(errors::NO_DRIVER.to_string());
    }
    let mut devices = Vec::new();
    for platform in platforms {
        let platform_name = platform.name().unwrap_or_default();
        // A platform without devices is an error to OpenCL, and none to us.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(id);
            let kind = device.dev_type().unwrap_or(0);
            devices.push(Listed {
                name: device.name().unwrap_or_default().trim().to_string(),
                driver: format!("{}, {}", platform_name.trim(), device.driver_version().unwrap_or_default()),
                gpu: kind & CL_DEVICE_TYPE_GPU != 0,
                other: match kind {
                    k if k & CL_DEVICE_TYPE_CPU != 0 => "CPU",
                    k if k & CL_DEVICE_TYPE_ACCELERATOR != 0 => "accelerator",
                    _ => "other",
                },
                doubles: device.double_fp_config().unwrap_or(0) != 0,
                memory: device.global_mem_size().unwrap_or(0),
                units: device.max_compute_units().unwrap_or(0),
                largest: device.max_mem_alloc_size().unwrap_or(0),
                platform: format!(
                    "{} {}",
                    platform.version().unwrap_or_default(),
                    std::env::var(POCL_METHOD).unwrap_or_default()
                ),
                id: id as usize,
            });
        }
    }
    if devices.is_empty() {
        Err("OpenCL is installed, but its drivers find no device".to_string())
    } else {
        Ok(devices)
    }
}

/// The device of a list that a wish names.
pub(super) fn choose(devices: &[Listed], wish: &str) -> Result<Listed, String> {
    let known = || devices.iter().enumerate().map(|(n, d)| format!("\n  {n}: {}", d.name)).collect::<String>();
    if wish.is_empty() {
        return Ok(devices.iter().find(|d| d.gpu).unwrap_or(&devices[0]).clone());
    }
    if let Ok(number) = wish.parse::<usize>() {
        return devices
            .get(number)
            .cloned()
            .ok_or_else(|| format!("there is no OpenCL device number {number}; there are:{}", known()));
    }
    let named = |d: &&Listed| d.name.to_lowercase().contains(&wish.to_lowercase());
    devices
        .iter()
        .find(named)
        .cloned()
        .ok_or_else(|| format!("no OpenCL device is called `{wish}`; there are:{}", known()))
}

impl Context {
    /// The device as OpenCL knows it.
    pub fn id(&self) -> opencl3::types::cl_device_id {
        self.device.id as opencl3::types::cl_device_id
    }

    /// Opens the device that a wish names.
    pub fn open(wish: &str) -> Result<Context, String> {
        let device = choose(&list()?, wish)?;
        let refused = |e| format!("the OpenCL device {} cannot be used: {e}", device.name);
        let handle = Device::from(device.id as opencl3::types::cl_device_id);
        let context = opencl3::context::Context::from_device(&handle).map_err(refused)?;
        let queue = CommandQueue::create_default(
            &context,
            if tune::measures() || profile::wanted() { CL_QUEUE_PROFILING_ENABLE } else { 0 },
        )
        .map_err(refused)?;
        Ok(Context { device, context, queue })
    }

    /// Queues a kernel whose arguments are set, in `global` work-items in groups of `local`, innermost axis first. The event is there only if it
    /// is `observed`: drivers spend about as long on events as on launches.
    ///
    /// # Safety
    /// All arguments are set, and their buffers live until the kernel is through.
    pub unsafe fn start(
        &self,
        kernel: &Kernel,
        rank: usize,
        global: &[usize; 3],
        local: &[usize; 3],
        observed: bool,
    ) -> Result<Option<Event>, ClError> {
        let mut event = std::ptr::null_mut();
        let place = if observed { &raw mut event } else { std::ptr::null_mut() };
        let library = cl3::load_library().as_ref().map_err(|_| ClError(errors::LIBRARY_NOT_LOADED))?;
        let none = std::ptr::null();
        let code = library.clEnqueueNDRangeKernel(
            self.queue.get(),
            kernel.get(),
            rank as u32,
            none,
            global.as_ptr(),
            local.as_ptr(),
            0,
            std::ptr::null(),
            place,
        );
        match code.unwrap_or(errors::FUNCTION_NOT_LOADED) {
            0 => Ok(observed.then(|| Event::new(event))),
            code => Err(ClError(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, gpu: bool) -> Listed {
        Listed {
            name: name.into(),
            driver: String::new(),
            gpu,
            other: "CPU",
            doubles: true,
            memory: 0,
            units: 1,
            largest: 0,
            platform: String::new(),
            id: 0,
        }
    }

    #[test]
    fn a_gpu_is_taken_unless_another_device_is_wished_for() {
        let devices = [listed("cpu-skylake", false), listed("H200", true)];
        let name = |wish: &str| choose(&devices, wish).map(|d| d.name);
        assert_eq!(name(""), Ok("H200".into()));
        assert_eq!(name("0"), Ok("cpu-skylake".into()));
        assert_eq!(name("SKYLAKE"), Ok("cpu-skylake".into()));
        assert!(name("7").is_err_and(|e| e.contains("1: H200")));
        assert!(name("radeon").is_err_and(|e| e.contains("called `radeon`")));
    }
}
