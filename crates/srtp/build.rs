//! Says how the module is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Threads and fork handlers outlive a dlclose: the module stays mapped, and a later dlopen finds it as it was.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
