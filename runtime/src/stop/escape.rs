//! A call that can be left from anywhere below it, also from a signal handler, without running what is in between.
//!
//! What C does with `setjmp` and `longjmp`: the registers that a function must keep are saved on the stack, and its place is noted.

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::naked_asm;

    /// Leaves the frame of [`call`], whose lowest word holds the control words.
    macro_rules! restore {
        () => {
            "add rsp, 8
            pop r15
            pop r14
            pop r13
            pop r12
            pop rbx
            pop rbp
            ret"
        };
    }

    /// Calls `work(data)` and notes in `base` where it can be left for.
    ///
    /// # Safety
    /// That of `work`; `base` may be written.
    #[unsafe(naked)]
    pub unsafe extern "C" fn call(work: extern "C" fn(*mut libc::c_void), data: *mut libc::c_void, base: *mut usize) {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "mov [rdx], rsp",
            "mov rax, rdi",
            "mov rdi, rsi",
            "call rax",
            restore!(),
        )
    }

    /// Returns from [`call`].
    ///
    /// # Safety
    /// This thread is inside the call that noted `base`, and what is in between need not be dropped.
    #[unsafe(naked)]
    pub unsafe extern "C" fn out(base: usize) -> ! {
        naked_asm!("mov rsp, rdi", "ldmxcsr [rsp]", "fldcw [rsp + 4]", "cld", restore!(),)
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use std::arch::naked_asm;

    /// Calls `work(data)` and notes in `base` where it can be left for.
    ///
    /// # Safety
    /// That of `work`; `base` may be written.
    #[unsafe(naked)]
    pub unsafe extern "C" fn call(work: extern "C" fn(*mut libc::c_void), data: *mut libc::c_void, base: *mut usize) {
        naked_asm!(
            "stp x29, x30, [sp, #-160]!",
            "stp x19, x20, [sp, #16]",
            "stp x21, x22, [sp, #32]",
            "stp x23, x24, [sp, #48]",
            "stp x25, x26, [sp, #64]",
            "stp x27, x28, [sp, #80]",
            "stp d8, d9, [sp, #96]",
            "stp d10, d11, [sp, #112]",
            "stp d12, d13, [sp, #128]",
            "stp d14, d15, [sp, #144]",
            "mov x9, sp",
            "str x9, [x2]",
            "mov x9, x0",
            "mov x0, x1",
            "blr x9",
            "ldp x29, x30, [sp], #160",
            "ret",
        )
    }

    /// Returns from [`call`].
    ///
    /// # Safety
    /// This thread is inside the call that noted `base`, and what is in between need not be dropped.
    #[unsafe(naked)]
    pub unsafe extern "C" fn out(base: usize) -> ! {
        naked_asm!(
            "mov sp, x0",
            "ldp x19, x20, [sp, #16]",
            "ldp x21, x22, [sp, #32]",
            "ldp x23, x24, [sp, #48]",
            "ldp x25, x26, [sp, #64]",
            "ldp x27, x28, [sp, #80]",
            "ldp d8, d9, [sp, #96]",
            "ldp d10, d11, [sp, #112]",
            "ldp d12, d13, [sp, #128]",
            "ldp d14, d15, [sp, #144]",
            "ldp x29, x30, [sp], #160",
            "ret",
        )
    }
}

/// Machines that are not known here: a thread that would leave sleeps.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    /// Calls `work(data)`.
    ///
    /// # Safety
    /// That of `work`.
    pub unsafe fn call(work: extern "C" fn(*mut libc::c_void), data: *mut libc::c_void, _base: *mut usize) {
        work(data);
    }

    /// Sleeps.
    ///
    /// # Safety
    /// None.
    pub unsafe fn out(_base: usize) -> ! {
        loop {
            std::thread::park();
        }
    }
}

pub(super) use machine::{call, out};

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn a_call_can_be_left_from_far_below() {
        struct Data {
            base: usize,
            deep: u32,
            after: bool,
        }
        fn down(data: &mut Data, left: u32) -> u32 {
            data.deep += 1;
            if left == 0 {
                // SAFETY: the test is inside the call.
                unsafe { out(data.base) }
            }
            std::hint::black_box(down(data, left - 1)) + 1
        }
        extern "C" fn work(data: *mut libc::c_void) {
            // SAFETY: the test passes this.
            let data = unsafe { &mut *data.cast::<Data>() };
            down(data, 100);
            data.after = true;
        }
        let mut data = Data { base: 0, deep: 0, after: false };
        for round in 1..=3 {
            let place = std::ptr::from_mut(&mut data);
            // SAFETY: `work` gets what it expects, and the base is a part of it.
            unsafe { call(work, place.cast(), &raw mut (*place).base) };
            assert_eq!((data.deep, data.after), (101 * round, false));
        }
    }
}
