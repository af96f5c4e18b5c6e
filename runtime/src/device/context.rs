//! Finding and opening a device.

use opencl3::command_queue::CommandQueue;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU, Device};
use opencl3::platform::get_platforms;

/// One device of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its platform and driver.
    pub driver: String,
    /// Is it a GPU?
    pub gpu: bool,
    /// Can it compute with 64-bit floats?
    pub doubles: bool,
    /// Bytes of memory.
    pub memory: u64,
    /// Compute units.
    pub units: u32,
    id: usize,
}

/// An open device with its queue.
pub(super) struct Context {
    pub device: Listed,
    pub context: opencl3::context::Context,
    pub queue: CommandQueue,
    /// Does the compiler promise correctly rounded divisions and roots of `float`?
    pub rounds_correctly: bool,
}

// SAFETY: OpenCL objects may be used from any thread; the state around them is behind a lock.
unsafe impl Send for Context {}

/// All devices, in the order in which `--device` numbers them.
///
/// # Errors
/// OpenCL is not installed, or has no drivers.
pub fn list() -> Result<Vec<Listed>, String> {
    let platforms = get_platforms().map_err(|e| match e.0 {
        -2000 => "OpenCL is not installed on this machine: libOpenCL.so was not found".to_string(),
        -1001 => "OpenCL is installed, but no driver of a device is".to_string(),
        _ => format!("OpenCL cannot be used: {e}"),
    })?;
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
                doubles: device.double_fp_config().unwrap_or(0) != 0,
                memory: device.global_mem_size().unwrap_or(0),
                units: device.max_compute_units().unwrap_or(0),
                id: id as usize,
            });
        }
    }
    Ok(devices)
}

/// The device of a list that a wish names.
fn choose(devices: &[Listed], wish: &str) -> Result<Listed, String> {
    let known = || devices.iter().enumerate().map(|(n, d)| format!("\n  {n}: {}", d.name)).collect::<String>();
    if devices.is_empty() {
        return Err("OpenCL has no device on this machine".to_string());
    }
    if wish.is_empty() {
        return Ok(devices.iter().find(|d| d.gpu).unwrap_or(&devices[0]).clone());
    }
    if let Ok(number) = wish.parse::<usize>() {
        return devices.get(number).cloned().ok_or_else(|| format!("there is no OpenCL device number {number}; there are:{}", known()));
    }
    let named = |d: &&Listed| d.name.to_lowercase().contains(&wish.to_lowercase());
    devices.iter().find(named).cloned().ok_or_else(|| format!("no OpenCL device is called `{wish}`; there are:{}", known()))
}

impl Context {
    /// Opens the device that a wish names.
    pub fn open(wish: &str) -> Result<Context, String> {
        let device = choose(&list()?, wish)?;
        let refused = |e| format!("the OpenCL device {} cannot be used: {e}", device.name);
        let handle = Device::from(device.id as opencl3::types::cl_device_id);
        let context = opencl3::context::Context::from_device(&handle).map_err(refused)?;
        let queue = CommandQueue::create_default(&context, 0).map_err(refused)?;
        let config = handle.single_fp_config().unwrap_or(0);
        let rounds_correctly = config & opencl3::device::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0;
        Ok(Context { device, context, queue, rounds_correctly })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, gpu: bool) -> Listed {
        Listed { name: name.into(), driver: String::new(), gpu, doubles: true, memory: 0, units: 1, id: 0 }
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
        assert!(choose(&[], "").is_err());
    }
}
