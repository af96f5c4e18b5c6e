//! How it is decided where with-loops run, in words.

use ravel_runtime::device;

/// The rule for programs with kernels, and what it means on this machine.
pub fn placement(launch_work: f64) -> String {
    if launch_work <= 1.0 {
        return "placement: on the device wherever there is a kernel, as --launch-work says".to_string();
    }
    let rule = format!(
        "placement: with-loops that have a kernel run on the device where its share of the work, the launch and the arrays that must be sent \
         take less time than the host's work and the arrays that must be fetched; no device is opened for less than {launch_work} cycles of work"
    );
    let here = match device::find() {
        Ok(found) if found.gpu => {
            format!("device here: {}, with memory of its own: large arrays pay when kernels use them again", found.name)
        }
        Ok(found) => format!(
            "device here: {}, a {}: it has the host's processor and memory but neither its vectors nor its tiles, so that a with-loop runs \
             there only to spare the host a fetch",
            found.name,
            found.kind()
        ),
        Err(why) => format!("device here: none ({why})"),
    };
    format!("{rule}\n{here}")
}
