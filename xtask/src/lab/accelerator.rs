//! Whether the VMs can use KVM. A `/dev/kvm` that opens is no proof (a nested hypervisor may lack instructions
//! that a kernel uses), so a kernel is booted to see; the answer is kept until the machine boots again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;

use crate::dirs::Dirs;
use crate::interrupt::wait_until;
use crate::setup::kernel::Kernel;

const LIMIT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);
/// What the initrd says when it is asked to do nothing else.
const PROOF: &str = "LAB-SELF-CHECK";

/// QEMU's options for the accelerator that works here.
pub(crate) fn options(dirs: &Dirs, kernel: &Kernel) -> Result<[&'static str; 2]> {
    Ok(if has_kvm(dirs, kernel)? { ["-accel", "kvm"] } else { ["-accel", "tcg,thread=multi"] })
}

/// The name of the accelerator that works here.
fn has_kvm(dirs: &Dirs, kernel: &Kernel) -> Result<bool> {
    if !Path::new("/dev/kvm").exists() {
        return Ok(false);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let answer = dirs.cache.join(format!("kvm-{}", boot.trim()));
    if let Ok(known) = fs::read_to_string(&answer) {
        return Ok(known == "yes");
    }
    let works = boots(dirs, kernel)?;
    fs::write(answer, if works { "yes" } else { "no" })?;
    Ok(works)
}

fn boots(dirs: &Dirs, kernel: &Kernel) -> Result<bool> {
    let (console, log) = (dirs.logs().join("kvm-console.log"), dirs.logs().join("kvm-qemu.log"));
    fs::create_dir_all(dirs.logs())?;
    let errors = fs::File::create(&log)?;
    fs::write(&console, "")?;
    let mut child = Command::new("qemu-system-x86_64")
        .args(["-accel", "kvm", "-cpu", "max", "-m", "512", "-nodefaults", "-no-reboot", "-display", "none"])
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(&kernel.initrd)
        .args(["-append", "console=ttyS0 quiet panic=-1 lab.selfcheck"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()?;
    let mut proved = false;
    let waited = wait_until(LIMIT, POLL, || {
        proved = String::from_utf8_lossy(&fs::read(&console)?).contains(PROOF);
        // An emulator that met an instruction it does not know stops without ending.
        let stuck = fs::read_to_string(&log)?.contains("internal error");
        Ok(proved || stuck || child.try_wait()?.is_some())
    });
    let _ = child.kill(); // it may have ended by itself
    child.wait()?;
    waited?;
    Ok(proved)
}
