//! Links debug programs and tests at a fixed address, where that is known to work: relocating 100 MB takes half of a
//! debug build's start, and the tests start murmur thousands of times. `packaging/build.sh` does the same for releases.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name, value| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
